package viewer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/otelprof/otelprof/spans"
)

const (
	// fileSessions is how many sessions a page in one file has of the newest, and as many of the
	// slowest, and fileRegions of how many regions the details.
	fileSessions = 50
	fileRegions  = 100
	// maxFileBytes bounds the answers in it.
	maxFileBytes = 24 << 20
)

// serveOneFile answers GET /page.html: the page with its styles, its modules and what it shows now
// in one file, to be kept, sent or attached. It asks nothing of anyone.
func (h *Handler) serveOneFile(w http.ResponseWriter, r *http.Request) {
	if !h.filing.TryLock() { // it takes some tenths of a second, and as much memory as it has bytes
		writeError(w, http.StatusConflict, "page in one file: another one is being made")
		return
	}
	defer h.filing.Unlock()
	text, err := h.oneFile(r.Context())
	if err != nil {
		writeError(w, http.StatusInternalServerError, "%s", err)
		return
	}
	w.Header().Set("Content-Disposition", `attachment; filename="profile.html"`)
	writeBody(w, http.StatusOK, "text/html; charset=utf-8", text)
}

func (h *Handler) oneFile(ctx context.Context) ([]byte, error) {
	answers, err := h.kept(ctx)
	if err != nil {
		return nil, err
	}
	page, err := h.render(func(d *pageData) { d.Saved, d.Fleet, d.Schedule = true, false, h.saved && d.Schedule })
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(answers) // it escapes <, so that nothing in it ends the script
	if err != nil {
		return nil, err
	}
	program, err := bundle("app.mjs")
	if err != nil {
		return nil, err
	}
	page = styleLink.ReplaceAllFunc(page, func(link []byte) []byte {
		css, errCSS := assets.ReadFile("assets/" + string(styleLink.FindSubmatch(link)[1]))
		err = cmp.Or(err, errCSS)
		return fmt.Appendf(nil, "<style>%s</style>", css)
	})
	icon, errIcon := assets.ReadFile("assets/favicon.svg")
	if err := errors.Join(err, errIcon); err != nil {
		return nil, err
	}
	page = bytes.Replace(page, []byte("assets/favicon.svg"), []byte("data:image/svg+xml;base64,"+base64.StdEncoding.EncodeToString(icon)), 1)
	script := fmt.Appendf(nil, "<script type=\"application/json\" id=\"kept\">%s</script>\n<script type=\"module\">\n%s</script>", data, program)
	return bytes.Replace(page, []byte(appScript), script, 1), nil
}

const appScript = `<script type="module" src="assets/app.mjs"></script>`

var styleLink = regexp.MustCompile(`<link rel="stylesheet" href="assets/([^"]+)">`)

// kept has the answers by their keys, see keyOf in api.mjs: a path, and for what is about one
// region its name and scope, with the version where that makes another region.
func (h *Handler) kept(ctx context.Context) (map[string]json.RawMessage, error) {
	answers, bytes := map[string]json.RawMessage{}, 0
	keep := func(key, path string) error {
		status, body, err := h.ask(ctx, http.MethodGet, path, nil)
		switch {
		case err != nil:
			return err
		case status == http.StatusInternalServerError:
			return fmt.Errorf("page in one file: %s: %s", path, strings.TrimSpace(string(body)))
		case status != http.StatusOK: // it is not there: the page knows what to do
			return nil
		}
		if bytes += len(body); bytes > maxFileBytes {
			return fmt.Errorf("page in one file: answers of more than %d bytes: must have fewer", maxFileBytes)
		}
		answers[key] = body
		return ctx.Err()
	}
	paths := []string{"regions", "causal/profile", "causal/plan", "causal/experiments", "causal/outcomes", "stacks", "runs", "goroutines?format=json"}
	for i := range h.runs {
		paths = append(paths, fmt.Sprintf("runs/%d/regions?buckets=1", i), fmt.Sprintf("runs/%d/stacks", i))
	}
	for _, p := range paths {
		key, _, _ := strings.Cut(p, "?")
		if err := keep(key, p); err != nil {
			return nil, err
		}
	}
	regions := slices.Clone(h.regions()) // which others may read at the same time
	slices.SortFunc(regions, func(a, b spans.RegionStats) int { return cmp.Compare(b.Self, a.Self) })
	about := []string{"regions/distribution", "regions/waits", "regions/stacks"}
	if h.saved { // of what runs, each schedule would be another
		about = append(about, "regions/schedule")
	}
	for _, r := range regions[:min(len(regions), fileRegions)] {
		query := url.Values{"name": {r.Name}, "scope": {r.Scope.Name}}
		for _, p := range about {
			full, key := query.Encode(), p+"\n"+r.Name+"\n"+r.Scope.Name
			switch p {
			case "regions/stacks": // which is of all versions
			case "regions/schedule": // as is this
				key += "\n\n"
			default:
				full += "&" + url.Values{"scope_version": {r.Scope.Version}, "scope_schema_url": {r.Scope.SchemaURL}}.Encode()
				key += "\n" + r.Scope.Version + "\n" + r.Scope.SchemaURL
			}
			if err := keep(key, p+"?"+full); err != nil {
				return nil, err
			}
		}
	}
	if err := h.keepSessions(answers, keep); err != nil {
		return nil, err
	}
	return answers, nil
}

// keepSessions keeps the newest sessions and the slowest, and a list of these.
func (h *Handler) keepSessions(answers map[string]json.RawMessage, keep func(key, path string) error) error {
	list := sessionsJSON{Sessions: []sessionRowJSON{}, Dropped: h.dropped()}
	seen := map[spans.SessionID]bool{}
	for _, q := range []spans.Query{{Limit: fileSessions}, {Limit: fileSessions, Worst: true}} {
		for _, s := range h.store.Sessions(q) {
			if seen[s.ID] {
				continue
			}
			seen[s.ID] = true
			list.Sessions = append(list.Sessions, h.rowOf(s))
			if err := keep("sessions/"+s.ID.String(), "sessions/"+s.ID.String()); err != nil {
				return err
			}
		}
	}
	text, err := json.Marshal(list)
	answers["sessions"] = text
	return err
}

// The forms of imports and exports in the page's modules; TestAssets holds these.
var (
	importLine = regexp.MustCompile(`(?m)^import (\{.*\}) from "\./([^"]+)";$`)
	exportLine = regexp.MustCompile(`(?m)^export ((?:async function|function|const|class) (\w+))`)
)

// bundle puts a module and all that it imports into one script: each becomes a function that
// returns its exports, behind the modules that it needs.
func bundle(entry string) ([]byte, error) {
	var out bytes.Buffer
	done := map[string]bool{}
	var add func(name string) error
	add = func(name string) error {
		if done[name] {
			return nil
		}
		done[name] = true
		source, err := fs.ReadFile(assets, path.Join("assets", name))
		if err != nil {
			return err
		}
		for _, m := range importLine.FindAllSubmatch(source, -1) {
			if err := add(string(m[2])); err != nil {
				return err
			}
		}
		source = importLine.ReplaceAllFunc(source, func(line []byte) []byte {
			m := importLine.FindSubmatch(line)
			return fmt.Appendf(nil, "const %s = %s;", bytes.ReplaceAll(m[1], []byte(" as "), []byte(": ")), variable(string(m[2])))
		})
		var exports []string
		for _, m := range exportLine.FindAllSubmatch(source, -1) {
			exports = append(exports, string(m[2]))
		}
		fmt.Fprintf(&out, "const %s = (() => {\n%s\nreturn { %s };\n})();\n", variable(name), exportLine.ReplaceAll(source, []byte("$1")), strings.Join(exports, ", "))
		return nil
	}
	err := add(entry)
	return bytes.ReplaceAll(out.Bytes(), []byte("</script"), []byte(`<\/script`)), err
}

// variable is the name of a module's exports: module_dom for dom.mjs.
func variable(name string) string { return "module_" + strings.TrimSuffix(name, path.Ext(name)) }
