package otlp

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	colprofilepb "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
)

type wrapped struct{ http.RoundTripper }

// A program may have wrapped the default transport, as otelhttp's users do.
func TestProfilesWithAnotherDefaultTransport(t *testing.T) {
	before := http.DefaultTransport
	http.DefaultTransport = wrapped{before}
	defer func() { http.DefaultTransport = before }()
	h, err := newProfileHTTP("http://127.0.0.1:1/v1development/profiles", transport{})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.close(); err != nil {
		t.Error(err)
	}
}

// The headers may have a key, which is for the endpoint alone.
func TestProfilesFollowNoRedirect(t *testing.T) {
	var reached atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	defer other.Close()
	for _, status := range []int{301, 302, 307, 308} {
		server := httptest.NewServer(http.RedirectHandler(other.URL, status))
		h, err := newProfileHTTP(server.URL, transport{headers: map[string]string{"api-key": "secret"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.send(t.Context(), &colprofilepb.ExportProfilesServiceRequest{}); err == nil || reached.Load() {
			t.Errorf("%d: send = %v, followed %v, want an error and not followed", status, err, reached.Load())
		}
		_ = h.close()
		server.Close()
	}
}

// A page in place of an answer is not a delivery.
func TestProfilesWantAnAnswerOfOTLP(t *testing.T) {
	for name, tt := range map[string]struct {
		kind, body string
		ok         bool
	}{
		"page":     {"text/html", "<html>please log in</html>", false},
		"JSON":     {"application/json", "{}", false},
		"empty":    {"", "", true},
		"protobuf": {protobufType, "", true},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", tt.kind)
			_, _ = w.Write([]byte(tt.body))
		}))
		h, err := newProfileHTTP(server.URL, transport{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = h.send(t.Context(), &colprofilepb.ExportProfilesServiceRequest{})
		if (err == nil) != tt.ok || err != nil && !strings.Contains(err.Error(), "200 OK") {
			t.Errorf("%s: send = %v, want success %v", name, err, tt.ok)
		}
		_ = h.close()
		server.Close()
	}
}
