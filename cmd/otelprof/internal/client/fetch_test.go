package client

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
