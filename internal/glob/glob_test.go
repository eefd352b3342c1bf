package glob

import (
	"strings"
	"testing"
	"time"
)

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true},
		{"", "a", false},
		{"a", "", false},
		{"a", "a", true},
		{"a", "A", false},
		{"a", "ab", false},
		{"*", "", true},
		{"*", "GET /items/{id}", true},
		{"**", "ab", true},
		{"a*", "a", true},
		{"a*", "ba", false},
		{"*a", "ba", true},
		{"*a", "ab", false},
		{"a*c", "abbc", true},
		{"a*c", "abcb", false},
		{"*ab*", "aab", true},
		{"*aab", "aaaab", true},
		{"a*b*c", "a-b-b-c", true},
		{"a*b*c", "a-c-b", false},
		{"?", "", false},
		{"?", "a", true},
		{"?", "ab", false},
		{"a?c", "abc", true},
		{"*?", "", false},
		{"?*?", "ab", true},
		{"GET *", "GET /items/{id}", true},
		{"*/health*", "GET /healthz", true},
		{"GET /items/{id}", "GET /items/{id}", true},
		{"[ab]", "a", false},
		{"[ab]", "[ab]", true},
		{`\*`, "*", true},
		{`\*`, "a", false},
		{`\?`, "?", true},
		{`\?`, "a", false},
		{`\\`, `\`, true},
		{`\a`, "a", true},
		{`*\**`, "a*b", true},
		{`*\**`, "ab", false},
		{`a\`, "a", false},
		{`a\`, `a\`, false},
		{`\`, "", false},
		{"日*", "日本", true},
		{"日", "本", false},
	} {
		if got := Match(tt.pattern, tt.s); got != tt.want {
			t.Errorf("Match(%q, %q) = %t, want %t", tt.pattern, tt.s, got, tt.want)
		}
	}
}

// The longest patterns must not hold up the first span of a name.
func TestMatchIsNotExponential(t *testing.T) {
	began := time.Now()
	if Match(strings.Repeat("*a", 127)+"b", strings.Repeat("a", 256)) {
		t.Error("Match = true, want false")
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("Match took %v, want a moment", took)
	}
}

// slowMatch is glob by the definition, for each pair of a suffix of the pattern and one of s.
func slowMatch(pattern, s string) bool {
	known := map[[2]int]bool{}
	var match func(p, i int) bool
	match = func(p, i int) (ok bool) {
		if v, found := known[[2]int{p, i}]; found {
			return v
		}
		defer func() { known[[2]int{p, i}] = ok }()
		if p == len(pattern) {
			return i == len(s)
		}
		switch pattern[p] {
		case '*':
			for j := i; j <= len(s); j++ {
				if match(p+1, j) {
					return true
				}
			}
			return false
		case '?':
			return i < len(s) && match(p+1, i+1)
		case '\\':
			return p+1 < len(pattern) && i < len(s) && pattern[p+1] == s[i] && match(p+2, i+1)
		}
		return i < len(s) && pattern[p] == s[i] && match(p+1, i+1)
	}
	return match(0, 0)
}

func FuzzMatch(f *testing.F) {
	f.Add("a*b*c", "aXbXc")
	f.Add("*aab", "aaaab")
	f.Add(`*\**?`, "a*bc")
	f.Add(`\`, `\`)
	f.Add("?*?", "日")
	f.Fuzz(func(t *testing.T, pattern, s string) {
		pattern, s = pattern[:min(len(pattern), 64)], s[:min(len(s), 64)]
		if got, want := Match(pattern, s), slowMatch(pattern, s); got != want {
			t.Errorf("Match(%q, %q) = %t, want %t", pattern, s, got, want)
		}
		// What is taken literally matches itself.
		literal := Quote(s)
		if !Match(literal, s) || !Match("*"+literal+"*", s) {
			t.Errorf("Match(%q, %q) = false, want true", literal, s)
		}
	})
}

func TestName(t *testing.T) {
	for pattern, want := range map[string]string{`GET /\*`: "GET /*", "GET /a": "GET /a", "GET *": "GET *", `a\?b\\`: `a?b\`, `\a`: `\a`} {
		if got := Name(pattern); got != want || want != pattern && !Match(pattern, want) {
			t.Errorf("Name(%q) = %q, want %q", pattern, got, want)
		}
	}
}
