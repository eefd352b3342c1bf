package main

import (
	"strings"
	"testing"
)

func TestFirstSnippet(t *testing.T) {
	got, err := firstSnippet("a\n```sh\nx\n```\n```go\ntp := 1\n```\n```go\nother\n```\n")
	if err != nil || got != "tp := 1\n" {
		t.Errorf("firstSnippet = %q, %v", got, err)
	}
	for _, readme := range []string{"", "```go\nopen"} {
		if _, err := firstSnippet(readme); err == nil {
			t.Errorf("%q: no error", readme)
		}
	}
}

// The service has one place for README's snippet, and a page that the stages look for.
func TestService(t *testing.T) {
	if n := strings.Count(service, "\t// README\n"); n != 1 {
		t.Errorf("%d places for the snippet, want 1", n)
	}
	if !strings.Contains(service, `"reserve"`) || !strings.Contains(stages[1].is, "reserve") {
		t.Error("the region that is looked for is not one of the service")
	}
}
