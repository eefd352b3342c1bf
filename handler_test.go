package otelprof

import (
	"crypto/ed25519"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/viewer"
)

// ownServer serves the handler under a prefix and behind basic authentication, as an application
// would.
func ownServer(t *testing.T, p *Profiler, opts ...viewer.Option) *httptest.Server {
	t.Helper()
	h, err := p.Handler(opts...)
	if err != nil {
		t.Fatal(err)
	}
	page := http.StripPrefix("/debug/otelprof", h)
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/otelprof/", func(w http.ResponseWriter, r *http.Request) {
		if name, password, ok := r.BasicAuth(); !ok || name != "ann" || password != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		page.ServeHTTP(w, r)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the application") })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// get asks for a path and returns the status and the body.
func get(t *testing.T, method, url string, change func(*http.Request)) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth("ann", "secret")
	if change != nil {
		change(r)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

func TestHandlerInOwnServer(t *testing.T) {
	p, _ := setup(t, WithServiceName("shop"))
	spanOf(p, "reserve stock")
	s := ownServer(t, p, viewer.WithHosts("shop.example.com"))
	base := s.URL + "/debug/otelprof"
	named := func(host string) func(*http.Request) { return func(r *http.Request) { r.Host = host } }
	for _, tt := range []struct {
		name, path string
		change     func(*http.Request)
		code       int
		want       string
	}{
		{"the page", "/", nil, 200, "shop"},
		{"its code", "/assets/app.mjs", nil, 200, "import"},
		{"the regions", "/api/v1/regions", nil, 200, `"reserve stock"`},
		{"the causal plan", "/api/v1/causal/plan", nil, 200, "{"},
		{"the prefix alone", "", nil, 200, "shop"}, // redirected
		{"a host that is allowed", "/api/v1/regions", named("shop.example.com"), 200, `"reserve stock"`},
		{"another host", "/api/v1/regions", named("evil.example.com"), 403, "WithHosts"},
		{"without a password", "/api/v1/regions", func(r *http.Request) { r.Header.Del("Authorization") }, 401, ""},
		{"another site's page", "/api/v1/regions", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403, "another site"},
		{"what is not there", "/nothing", nil, 404, "path"},
	} {
		code, body := get(t, http.MethodGet, base+tt.path, tt.change)
		if code != tt.code || !strings.Contains(body, tt.want) {
			t.Errorf("%s: %d %.200s; want %d with %q", tt.name, code, body, tt.code, tt.want)
		}
	}
	if code, _ := get(t, http.MethodPut, base+"/api/v1/causal/plan", nil); code != http.StatusForbidden && code != http.StatusUnauthorized {
		t.Errorf("a plan without a token: %d, want it refused", code)
	}
	if _, body := get(t, http.MethodGet, s.URL, nil); body != "the application" {
		t.Errorf("beside the prefix: %q", body)
	}
}

// TestHandlerAfterShutdown checks that what was measured stays readable.
func TestHandlerAfterShutdown(t *testing.T) {
	p, _ := setup(t)
	spanOf(p, "reserve stock")
	s := ownServer(t, p)
	if err := p.Shutdown(within(t, 5*time.Second)); err != nil {
		t.Fatal(err)
	}
	if code, body := get(t, http.MethodGet, s.URL+"/debug/otelprof/api/v1/regions", nil); code != 200 || !strings.Contains(body, "reserve stock") {
		t.Errorf("%d %s", code, body)
	}
}

// TestHandlerOfDisabled checks that a program that has switched otelprof off still starts.
func TestHandlerOfDisabled(t *testing.T) {
	t.Setenv("OTEL_SDK_DISABLED", "true")
	p, _ := setup(t)
	s := ownServer(t, p)
	if code, body := get(t, http.MethodGet, s.URL+"/debug/otelprof/api/v1/regions", nil); code != 200 {
		t.Errorf("%d %s", code, body)
	}
}

// TestHandlerKeepsKeys checks that a handler of one's own is no way around signatures.
func TestHandlerKeepsKeys(t *testing.T) {
	key, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := setup(t, WithPlanKeys(key))
	const token = "a token of sixteen bytes"
	s := ownServer(t, p)
	h, err := p.Handler(viewer.WithToken(token))
	if err != nil {
		t.Fatal(err)
	}
	s.Config.Handler = h
	code, body := get(t, http.MethodPut, s.URL+"/api/v1/causal/plan", func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+token)
		r.Body = io.NopCloser(strings.NewReader("id: unsigned\n"))
	})
	if code == http.StatusOK || !strings.Contains(body, "sign") {
		t.Errorf("an unsigned plan: %d %s; want it refused for its signature", code, body)
	}
}

func TestHandlerRejects(t *testing.T) {
	p, _ := setup(t)
	if h, err := p.Handler(viewer.WithToken("short")); !errors.Is(err, viewer.ErrConfig) || h != nil {
		t.Errorf("%v, %v; want viewer.ErrConfig", h, err)
	}
}

// The token that the environment names is the viewer's, and one that is none is left out.
func TestViewerTokenFromEnv(t *testing.T) {
	for text, want := range map[string]int{"a token of sixteen bytes\n": http.StatusUnauthorized, "short": http.StatusForbidden} {
		file := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv(envViewerToken, file)
		p, said := setup(t, WithViewer("127.0.0.1:0"))
		if status, _ := get(t, http.MethodPut, p.ViewerURL()+"api/v1/causal/plan", nil); status != want {
			t.Errorf("token %q: a plan without it: status %d, want %d", text, status, want)
		}
		status, _ := get(t, http.MethodPut, p.ViewerURL()+"api/v1/causal/plan", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(text)) })
		if want == http.StatusUnauthorized && status != http.StatusBadRequest {
			t.Errorf("token %q: no plan with it: status %d, want %d", text, status, http.StatusBadRequest)
		}
		if warned := strings.Contains(strings.Join(said.warnings(), ""), envViewerToken); warned != (want == http.StatusForbidden) {
			t.Errorf("token %q: logged: %s", text, said.warnings())
		}
	}
}

// The Prometheus that the environment names is the page's, and one that is none is left out.
func TestViewerPrometheusFromEnv(t *testing.T) {
	for address, want := range map[string]int{"http://127.0.0.1:1": http.StatusBadGateway, "no address": http.StatusBadRequest} {
		t.Setenv(envPrometheus, address)
		p, said := setup(t, WithViewer("127.0.0.1:0"))
		if status, _ := get(t, http.MethodGet, p.ViewerURL()+"api/v1/causal/profile?of=fleet", nil); status != want {
			t.Errorf("%s: status %d, want %d", address, status, want)
		}
		if warned := strings.Contains(strings.Join(said.warnings(), ""), envPrometheus); warned != (want == http.StatusBadRequest) {
			t.Errorf("%s: logged: %s", address, said.warnings())
		}
	}
}
