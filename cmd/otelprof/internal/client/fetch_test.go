package client

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A viewer that refuses is quoted, and one that is not there must be started.
func TestFetchProfileErrors(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		if r.URL.Path == "/"+ProfilePath {
			fmt.Fprint(w, `{"error":"host \"a:1\": must be another"}`)
			return
		}
		fmt.Fprintln(w, "no such page")
	}))
	defer server.Close()
	for path, want := range map[string]string{
		"":        `answer 403 Forbidden: must be 200: host "a:1": must be another`,
		"/x.json": "answer 403 Forbidden: must be 200: no such page",
	} {
		if _, err := FetchProfile(server.Client(), server.URL+path, time.Minute); err == nil || err.Error() != want {
			t.Errorf("FetchProfile(%q) = %v, want %s", path, err, want)
		}
	}
	server.Close()
	const want = ": the program must run, and serve the page there by OTELPROF_VIEWER"
	if _, err := FetchProfile(server.Client(), server.URL, time.Minute); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("FetchProfile of a viewer that is gone = %v, want %s at its end", err, want)
	}
}

func TestURL(t *testing.T) {
	for name, want := range map[string]string{
		"127.0.0.1:8080":                  "http://127.0.0.1:8080",
		"shop.example.com:80/debug/pprof": "http://shop.example.com:80/debug/pprof",
		"[::1]:8080":                      "http://[::1]:8080",
		":8080":                           "http://localhost:8080",
		"http://127.0.0.1:8080/x":         "http://127.0.0.1:8080/x",
		"https://shop.example.com/":       "https://shop.example.com/",
		"plan.yaml":                       "",
		"./odd:80":                        "",
		"dir/odd:80":                      "",
		"odd:name":                        "",
		"localhost:99999":                 "",
		"wss://127.0.0.1:80":              "",
		"-":                               "",
		"localhost":                       "",
	} {
		if got := IsURL(name); got != (want != "") {
			t.Errorf("IsURL(%q) = %t", name, got)
		}
		if want == "" {
			want = name
		}
		if got := URL(name); got != want {
			t.Errorf("URL(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	t.Setenv(EnvURL, "")
	if got := Names(nil); got != nil || URL("") != "" {
		t.Errorf("Names(nil) = %q, want none", got)
	}
	t.Setenv(EnvURL, "127.0.0.1:1")
	for _, tt := range []struct{ args, want []string }{
		{nil, []string{"http://127.0.0.1:1"}},
		{[]string{"a.json", "127.0.0.1:2"}, []string{"a.json", "http://127.0.0.1:2"}},
	} {
		if diff := cmp.Diff(tt.want, Names(tt.args)); diff != "" {
			t.Errorf("Names(%q) (-want +got):\n%s", tt.args, diff)
		}
	}
}

func TestWarnOfRepeats(t *testing.T) {
	var b strings.Builder
	WarnOfRepeats(&b, []string{"a", "b", "./a", "a", "c"})
	if got, want := b.String(), "otelprof: ./a is given twice: intervals are too narrow\n"; got != want {
		t.Errorf("WarnOfRepeats says %q, want %q", got, want)
	}
}
