package backends

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/otelprof/otelprof"
	"github.com/otelprof/otelprof/integration/internal/login"
	"github.com/otelprof/otelprof/viewer"
)

// TestBrowserUnderAPrefix opens the page in an application's own server, under a prefix and behind
// a login that sets a cookie, and looks whether every view finds its data there.
func TestBrowserUnderAPrefix(t *testing.T) {
	needs(t)
	a := newApp(t, "prefix", nil, "", otelprof.WithStacks())
	a.work(t, 20)
	h, err := a.Handler(viewer.WithHosts("shop.localhost"))
	if err != nil {
		t.Fatal(err)
	}
	const prefix = login.Prefix
	mux := login.Behind(h)
	elsewhere := make(chan string, 100) // what the page asks for beside the prefix
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		select {
		case elsewhere <- r.URL.Path:
		default:
		}
		http.NotFound(w, r)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)

	if code := status(t, s.URL+prefix+"/"); code != http.StatusUnauthorized {
		t.Errorf("without a login: status %d, want 401", code)
	}
	p := newPage(t, s.URL+"/login")
	p.until(t, "has regions", `document.querySelector("table.overview [data-row]")`)
	if at := eval[string](t, p, "location.pathname"); at != prefix+"/" {
		t.Errorf("the page is at %s, want %s/", at, prefix)
	}
	views := eval[[]string](t, p, `[...document.querySelectorAll("nav [data-view]")].map((a) => a.hash)`)
	for _, hash := range views {
		p.open(t, hash)
		p.inspect(t, "prefix-"+strings.Trim(hash, "#/"))
	}
	p.open(t, "#/stacks")
	p.click(t, "a[href='#/goroutines']")
	p.until(t, "draws all goroutines", `document.querySelector(".reasons tbody tr") && document.querySelectorAll(".flame-box").length > 2`)
	p.inspect(t, "prefix-goroutines")
	if text := eval[string](t, p, `fetch(document.querySelector("a[href='api/v1/goroutines']").href).then((r) => r.text())`); !strings.Contains(text, "[running]") {
		t.Errorf("all goroutines: %.200s; want one that runs", text)
	}
	close(elsewhere)
	for path := range elsewhere {
		t.Errorf("the page asks for %s, which is not below its prefix", path)
	}
	select {
	case text := <-p.errs:
		t.Errorf("the page's console: %s", text)
	default:
	}
	check(t, "browser_prefix", "figure=%d views work under a prefix, behind a login", len(views))
}

func status(t *testing.T, url string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}
