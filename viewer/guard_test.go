package viewer

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/otelprof/otelprof/spans"
)

func host(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }

func arrivedOn(addr string) func(*http.Request) {
	return func(r *http.Request) {
		a, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			panic(err)
		}
		*r = *r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, a))
	}
}

func TestHost(t *testing.T) {
	h := testHandler(t, nil, WithHosts("app.internal:8080"))
	for _, c := range []struct {
		host, on string
		code     int
	}{
		{"viewer.test", "127.0.0.1:7070", 200},
		{"VIEWER.test", "10.0.0.8:80", 200},
		{"viewer.test:80", "127.0.0.1:7070", 403},
		{"app.internal:8080", "10.0.0.8:8080", 200},
		{"app.internal", "10.0.0.8:8080", 403},
		{"127.0.0.1:7070", "127.0.0.1:7070", 200},
		{"localhost:7070", "127.0.0.1:7070", 200},
		{"127.0.0.1:7071", "127.0.0.1:7070", 403},
		{"127.0.0.2:7070", "127.0.0.1:7070", 403},
		{"127.0.0.1", "127.0.0.1:7070", 403},
		{"127.0.0.1", "127.0.0.1:80", 200},
		{"localhost", "127.0.0.1:80", 200},
		{"[::1]:7070", "[::1]:7070", 200},
		{"[::1]", "[::1]:80", 200},
		{"localhost:7070", "[::1]:7070", 200},
		{"evil.example:7070", "127.0.0.1:7070", 403},
		{"evil.example", "127.0.0.1:80", 403},
		{"localhost.evil.example:7070", "127.0.0.1:7070", 403},
		{"10.0.0.8:7070", "10.0.0.8:7070", 403},
		{"localhost:7070", "10.0.0.8:7070", 403},
		{"", "127.0.0.1:7070", 403},
	} {
		for _, path := range []string{"/", "/api/v1/sessions", "/assets/app.mjs", "/healthz"} {
			if got := ask(t, h, "GET", path, "", host(c.host), arrivedOn(c.on)); got.code != c.code {
				t.Errorf("GET %s with Host %q on %s = %d, want %d", path, c.host, c.on, got.code, c.code)
			}
		}
	}
	if got := errorOf(t, ask(t, h, "GET", "/", "", host("evil.example")), 403); !strings.Contains(got, `"evil.example"`) {
		t.Errorf("error %q does not name the host", got)
	}
}

func TestCrossOriginWrite(t *testing.T) {
	e := &fakeExperiments{}
	h := testHandler(t, e, WithToken(testToken))
	token := bearer(testToken)
	for name, from := range map[string]func(*http.Request){
		"other site":   header("Sec-Fetch-Site", "cross-site"),
		"other origin": header("Sec-Fetch-Site", "same-site"),
		"old browser":  header("Origin", "http://evil.example"),
	} {
		for _, method := range []string{"PUT", "DELETE", "POST"} {
			if got := ask(t, h, method, "/api/v1/causal/plan", testPlan("x"), token, from); got.code != 403 {
				t.Errorf("%s from %s = %d, want 403", method, name, got.code)
			}
		}
	}
	checkEqual(t, "applied and stopped", len(e.applied)+len(e.stopped), 0)
	if got := ask(t, h, "DELETE", "/api/v1/causal/plan", "", token, header("Sec-Fetch-Site", "same-origin")); got.code != 200 {
		t.Errorf("DELETE from the page itself = %d: %s", got.code, got.body)
	}
}

func TestHeaders(t *testing.T) {
	h := testHandler(t, nil)
	want := map[string]string{
		"Content-Security-Policy":      contentPolicy,
		"X-Content-Type-Options":       "nosniff",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Cross-Origin-Opener-Policy":   "same-origin",
	}
	for _, path := range []string{"/", "/assets/style.css", "/api/v1/regions", "/api/v1/none"} {
		a := ask(t, h, "GET", path, "")
		for name, value := range want {
			if got := a.header.Get(name); got != value {
				t.Errorf("%s: %s = %q, want %q", path, name, got, value)
			}
		}
		if a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s may be read by other origins", path)
		}
	}
	for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(contentPolicy, part) {
			t.Errorf("the policy lacks %s", part)
		}
	}
	if strings.Contains(contentPolicy, "unsafe") {
		t.Error("the policy allows inline code")
	}
}

func TestConfig(t *testing.T) {
	ok := Sources{Regions: func() []spans.RegionStats { return nil }, Store: fakeStore{}}
	for name, opts := range map[string][]Option{
		"short token": {WithToken("secret")},
		"empty host":  {WithHosts("")},
		"URL":         {WithHosts("http://a")},
		"wildcard":    {WithHosts("*.example")},
		"path":        {WithHosts("a/b")},
		"two":         {WithHosts("a b"), WithToken("")},
	} {
		if _, err := NewHandler(ok, opts...); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: error %v, want ErrConfig", name, err)
		}
	}
	_, err := NewHandler(Sources{})
	if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "Sources.Regions nil: must be set") || !strings.Contains(err.Error(), "Sources.Store nil") {
		t.Errorf("no sources: %v", err)
	}
	h, err := NewHandler(ok, nil, WithHosts("viewer.test")) // a nil option is left out
	if err != nil {
		t.Fatal(err)
	}
	if a := ask(t, h, "GET", "/api/v1/regions", ""); a.code != 200 || !strings.Contains(a.body, `"regions":[]`) {
		t.Errorf("no regions: %d %s", a.code, a.body)
	}
}

func TestPanickingSource(t *testing.T) {
	reports := 0
	old := otel.GetErrorHandler()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) { reports++ }))
	defer otel.SetErrorHandler(old)
	h, err := NewHandler(Sources{Regions: func() []spans.RegionStats { panic("broken") }, Store: fakeStore{}}, WithHosts("viewer.test"))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := errorOf(t, ask(t, h, "GET", "/api/v1/regions", ""), 500); strings.Contains(got, "broken") {
			t.Errorf("the answer has the panic: %q", got)
		}
	}
	checkEqual(t, "reports", reports, 1)
}

func TestServer(t *testing.T) {
	h := testHandler(t, nil)
	s, err := NewServer("127.0.0.1:0", h)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	get := func(host string) int {
		r, err := http.NewRequest(http.MethodGet, s.URL()+"api/v1/sessions?limit=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			r.Host = host
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode
	}
	checkEqual(t, "own host", get(""), 200)
	checkEqual(t, "other host", get("evil.example"), 403)

	addr := strings.TrimSuffix(strings.TrimPrefix(s.URL(), "http://"), "/")
	if _, err := NewServer(addr, h); !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), addr) {
		t.Errorf("busy port: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if err := s.Shutdown(ctx); err != nil {
		t.Errorf("second Shutdown: %v", err)
	}
}

func TestServerBadAddress(t *testing.T) {
	h := testHandler(t, nil)
	for _, addr := range []string{
		"", ":8080", "0.0.0.0:0", "[::]:0", "192.168.1.2:0", "example.com:0", "127.0.0.1", "127.0.0.1:http", "127.0.0.1:70000", "localhost.:0", "[::1%lo]:0",
	} {
		s, err := NewServer(addr, h)
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), `"`+addr+`"`) {
			t.Errorf("NewServer(%q): %v, want ErrConfig with the address", addr, err)
		}
		if err == nil {
			_ = s.Shutdown(t.Context())
		}
	}
	if _, err := NewServer("127.0.0.1:0", nil); !errors.Is(err, ErrConfig) {
		t.Errorf("nil handler: %v", err)
	}
}

func TestShutdownEndsSlowRequests(t *testing.T) {
	begun, leave := make(chan struct{}), make(chan struct{})
	s, err := NewServer("localhost:0", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(begun)
		<-leave
	}))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if resp, err := http.Get(s.URL()); err == nil {
			resp.Body.Close()
		}
	}()
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown = %v, want the context's error", err)
	}
	close(leave)
	<-done
}

// A page of another site cannot make the viewer compute (CSRF): neither by an image nor by a link
// that is fetched.
func TestCrossSiteReadOfTheAPI(t *testing.T) {
	h := testHandler(t, &fakeExperiments{})
	for site, want := range map[string]int{"cross-site": 403, "same-site": 403, "same-origin": 200, "none": 200} {
		if got := ask(t, h, "GET", "/api/v1/regions", "", header("Sec-Fetch-Site", site)); got.code != want {
			t.Errorf("GET of the API by a page of %s = %d, want %d", site, got.code, want)
		}
		if got := ask(t, h, "GET", "/", "", header("Sec-Fetch-Site", site)); got.code != 200 {
			t.Errorf("GET of the page from a link of %s = %d, want 200", site, got.code)
		}
	}
	errorOf(t, ask(t, h, "GET", "/api/v1/causal/record?duration=1s", ""), 405)
}
