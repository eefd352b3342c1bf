package child

import "testing"

func TestAddressIn(t *testing.T) {
	for line, want := range map[string]string{
		"viewer  http://127.0.0.1:8080/": "http://127.0.0.1:8080",
		"http://127.0.0.1:8080":          "http://127.0.0.1:8080",
		"viewer  off":                    "",
		"shop    http://127.0.0.1:4321":  "",
	} {
		if got := addressIn(line, "viewer"); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
