package report

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestReportOfURL(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "profile.json"))
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	done := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/causal/profile", func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		w.Write(text)
	})
	mux.HandleFunc("GET /below/api/v1/causal/profile", func(w http.ResponseWriter, _ *http.Request) { w.Write(text) })
	mux.HandleFunc("GET /page/api/v1/causal/profile", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) })
	mux.HandleFunc("GET /slow/api/v1/causal/profile", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-done:
		case <-r.Context().Done():
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	defer close(done)
	defer http.DefaultClient.CloseIdleConnections()

	for _, tt := range []struct {
		path    string
		timeout string
		status  int
		out     string
		errout  string
	}{
		{"", "1m", 0, "speeding this up helps", ""},
		{"/", "1m", 0, "speeding this up helps", ""},
		{"/api/v1/causal/profile", "1m", 0, "speeding this up helps", ""},
		{"/below", "1m", 0, "speeding this up helps", ""},
		{"/nowhere", "1m", 1, "", "answer 404 Not Found: must be 200"},
		{"/page", "1m", 1, "", "causal: profile: must be JSON: byte 1: invalid character '<'"},
		{"/slow", "200ms", 1, "", "no answer within 200ms"}, // it never answers
	} {
		var out, errout bytes.Buffer
		status := run([]string{"report", "-timeout", tt.timeout, server.URL + tt.path}, strings.NewReader(""), &out, &errout)
		if status != tt.status || !strings.Contains(out.String(), tt.out) || !strings.Contains(errout.String(), tt.errout) {
			t.Errorf("report %s: status %d, output %q, errors %q; want %d, %q, %q", tt.path, status, &out, &errout, tt.status, tt.out, tt.errout)
		}
	}
	if want := []string{"samples=1", "samples=1", "samples=1"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q: samples to merge", asked, want)
	}
	var errout bytes.Buffer
	server.Close()
	if status := run([]string{"report", server.URL}, nil, &bytes.Buffer{}, &errout); status != 1 || !strings.Contains(errout.String(), "refused") {
		t.Errorf("report of a server that is gone: %d, %q", status, &errout)
	}
}

// TestReportOfPrometheus asks a server that has nothing, as of a time, with matchers.
func TestReportOfPrometheus(t *testing.T) {
	var queries, times []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		queries, times = append(queries, r.FormValue("query")), append(times, r.FormValue("time"))
		w.Write([]byte(`{"status":"success","data":{"resultType":"vector","result":[]}}`))
	}))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	const at = "2026-01-02T03:04:05Z"
	for _, tt := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"-match", `job="shop"`, "-at", at}, 1, "no series"},
		{[]string{"x.json"}, 2, `argument "x.json": must not be beside -prometheus`},
	} {
		var errout bytes.Buffer
		status := run(append([]string{"report", "-prometheus", server.URL}, tt.args...), strings.NewReader(""), &bytes.Buffer{}, &errout)
		if status != tt.status || !strings.Contains(errout.String(), tt.want) {
			t.Errorf("report -prometheus %q: %d, %q; want %d, %q", tt.args, status, &errout, tt.status, tt.want)
		}
	}
	if len(queries) != 1 || !strings.Contains(queries[0], `,job="shop"}`) || times[0] != at {
		t.Errorf("asked %q as of %q", queries, times)
	}
}
