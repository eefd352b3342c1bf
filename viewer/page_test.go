package viewer

import (
	"fmt"
	"net/http"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/spans"
)

// maxPageBytes is what the page may weigh, uncompressed.
const maxPageBytes = 290_000

func TestPage(t *testing.T) {
	h, err := NewHandler(Sources{
		Regions: func() []spans.RegionStats { return nil }, Store: fakeStore{}, Service: `<script>"shop"`,
	}, WithHosts("viewer.test"))
	if err != nil {
		t.Fatal(err)
	}
	a := ask(t, h, "GET", "/", "")
	if a.code != 200 || a.header.Get("Content-Type") != "text/html; charset=utf-8" || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("page: %d %v", a.code, a.header)
	}
	if strings.Contains(a.body, `<script>"`) || !strings.Contains(a.body, "&lt;script&gt;") {
		t.Error("the service's name is not escaped")
	}
	if !strings.Contains(a.body, `data-causal="false"`) {
		t.Error("the page does not know that there is no controller")
	}
	if regexp.MustCompile(`(?i)<style|\son\w+=|style=|<script>|src="/|href="/`).MatchString(a.body) {
		t.Error("the page has inline code, inline style or an absolute address")
	}
	if b := ask(t, testHandler(t, &fakeExperiments{}), "GET", "/", ""); !strings.Contains(b.body, `data-causal="true"`) {
		t.Error("the page does not know of the controller")
	}
}

// All that the page or a module refers to is served, with a type that nosniff accepts.
func TestAssets(t *testing.T) {
	h := testHandler(t, nil)
	queue := []string{}
	for _, m := range regexp.MustCompile(`(?:src|href)="(assets/[^"]+)"`).FindAllStringSubmatch(ask(t, h, "GET", "/", "").body, -1) {
		queue = append(queue, m[1])
	}
	weight := len(h.page)
	seen := map[string]bool{}
	imports := regexp.MustCompile(`(?m)^import .* from "(\./[^"]+)";$`)
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		a := ask(t, h, "GET", "/"+name, "")
		if a.code != 200 || a.header.Get("Content-Type") != contentTypes[path.Ext(name)] {
			t.Errorf("%s: %d %q", name, a.code, a.header.Get("Content-Type"))
		}
		weight += len(a.body)
		etag := a.header.Get("ETag")
		if again := ask(t, h, "GET", "/"+name, "", header("If-None-Match", etag)); again.code != 304 || etag == "" {
			t.Errorf("%s: asked again with ETag %q: %d", name, etag, again.code)
		}
		for _, m := range imports.FindAllStringSubmatch(a.body, -1) {
			queue = append(queue, path.Join("assets", m[1]))
		}
	}
	files, err := assets.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name() != "index.html" && !seen["assets/"+f.Name()] {
			t.Errorf("%s is never asked for", f.Name())
		}
	}
	if weight > maxPageBytes {
		t.Errorf("the page weighs %d bytes, want at most %d", weight, maxPageBytes)
	}
	t.Logf("%d files, %d bytes", len(seen)+1, weight)
}

// The modules never make markup from data, and fetch from no other host.
func TestModulesAreSafe(t *testing.T) {
	files, err := assets.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\("style"|https?://`)
	for _, f := range files {
		body, err := assets.ReadFile("assets/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(body), "http://www.w3.org/2000/svg", "")
		if m := forbidden.FindString(text); m != "" {
			t.Errorf("%s has %q", f.Name(), m)
		}
	}
}

func TestMountedBelowAPrefix(t *testing.T) {
	h := testHandler(t, nil)
	mux := http.NewServeMux()
	mux.Handle("/debug/otelprof/", http.StripPrefix("/debug/otelprof", h))
	for _, p := range []string{"", "assets/app.mjs", "api/v1/regions", "api/v1/regions/distribution?name=GET%20%2Fitems%2F%7Bid%7D", "healthz"} {
		if a := ask(t, mux, "GET", "/debug/otelprof/"+p, ""); a.code != 200 {
			t.Errorf("%q below the prefix: %d %s", p, a.code, a.body)
		}
	}
	// A router other than the mux may hand over the bare prefix.
	a := ask(t, http.StripPrefix("/debug/otelprof", h), "GET", "/debug/otelprof?x=1", "")
	if a.code != 301 || a.header.Get("Location") != "./otelprof/" {
		t.Errorf("bare prefix: %d, Location %q", a.code, a.header.Get("Location"))
	}
}

// The logic of the page that needs no browser has tests of its own, in JavaScript.
func TestModulesInNode(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		testutil.Lacks(t, "NODE", "node is not installed; the page's own tests need it, the page does not")
	}
	version, err := exec.CommandContext(t.Context(), node, "--version").Output()
	var major int
	if _, scanErr := fmt.Sscanf(string(version), "v%d.", &major); err != nil || scanErr != nil || major < 20 {
		testutil.Lacks(t, "NODE", fmt.Sprintf("node is %q; the page's own tests need v20 or newer", version))
	}
	files, err := filepath.Glob("jstest/*.test.mjs")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in jstest: %v", err)
	}
	out, err := exec.CommandContext(t.Context(), node, append([]string{"--test"}, files...)...).CombinedOutput()
	if err != nil {
		t.Errorf("node --test: %v\n%s", err, out)
	}
}
