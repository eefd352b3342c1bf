package docs_test

import (
	"regexp"
	"testing"
)

// Each test that the threat model names exists.
func TestSecurityIsHeldByTests(t *testing.T) {
	named := regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w*`).FindAllString(read(t, "docs/security.md"), -1)
	if len(named) < 20 {
		t.Fatalf("docs/security.md names %d tests, want 20 at least", len(named))
	}
	p := wholeProject(t)
	for _, name := range named {
		if !p.has(name) {
			t.Errorf("docs/security.md: there is no %s", name)
		}
	}
}
