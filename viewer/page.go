package viewer

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"strings"
)

// assets are the page's files, about 290 kB. They are served as they are.
//
//go:embed assets
var assets embed.FS

// contentTypes are the types of the files that are served; other files are not.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".mjs": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// pageData is what the template knows. Everything else comes by the API.
type pageData struct {
	Service string
	Causal  bool
	Stacks  bool
	// Goroutines reports whether there is a look at all of them.
	Goroutines bool
	// Fleet reports whether there is a Prometheus of all instances.
	Fleet bool
	// Schedule reports whether there is a recorder.
	Schedule bool
	// Saved reports that nothing changes, Runs that there are several to compare.
	Saved, Runs bool
}

func (h *Handler) renderPage() (err error) {
	h.page, err = h.render(func(*pageData) {})
	return err
}

// render fills the page in, with what change makes of its data.
func (h *Handler) render(change func(*pageData)) ([]byte, error) {
	t, err := template.ParseFS(assets, "assets/index.html")
	if err != nil {
		return nil, fmt.Errorf("viewer: page: %w", err)
	}
	var b bytes.Buffer
	data := pageData{
		Service: h.service, Causal: h.causal != nil, Stacks: h.stacks != nil, Schedule: h.schedule != nil, Fleet: h.config.fleet != nil,
		Saved: h.saved, Goroutines: !h.saved, Runs: len(h.runs) > 1,
	}
	change(&data)
	if err := t.Execute(&b, data); err != nil {
		return nil, fmt.Errorf("viewer: page: %w", err)
	}
	return b.Bytes(), nil
}

func (h *Handler) servePage(w http.ResponseWriter, _ *http.Request) {
	writeBody(w, http.StatusOK, "text/html; charset=utf-8", h.page)
}

// redirectToSlash leads from /prefix to /prefix/, without which the page's relative
// addresses would miss it. The path before http.StripPrefix is in the request line.
func redirectToSlash(w http.ResponseWriter, r *http.Request) {
	target, _, _ := strings.Cut(r.RequestURI, "?")
	w.Header().Set("Location", "./"+path.Base(target)+"/")
	w.WriteHeader(http.StatusMovedPermanently)
}

// serveAsset answers with one file. A browser may keep it and asks whether it is current.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	contentType, known := contentTypes[path.Ext(name)]
	body, err := assets.ReadFile("assets/" + name)
	if !known || err != nil {
		writeError(w, http.StatusNotFound, "asset %q: must be a file of the page", name)
		return
	}
	sum := sha256.Sum256(body)
	etag := `"` + hex.EncodeToString(sum[:8]) + `"`
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", etag)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	writeBody(w, http.StatusOK, contentType, body)
}
