package child

import (
	"os/exec"
	"strings"
	"testing"
)

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

// What runs is interrupted, and what says nothing is an error that names it.
func TestStart(t *testing.T) {
	c, err := Start(t.Context(), exec.Command("sh", "-c", "echo viewer http://127.0.0.1:1/; exec sleep 60"), "viewer")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(); c.Address != "http://127.0.0.1:1" || err == nil {
		t.Errorf("at %q, ended by %v; want http://127.0.0.1:1 and a signal", c.Address, err)
	}
	if _, err := Start(t.Context(), exec.Command("sh", "-c", "echo hello"), "viewer"); err == nil || !strings.Contains(err.Error(), "sh: it does not say where it listens") {
		t.Errorf("Start of what says no address = %v, want an error that names sh", err)
	}
}
