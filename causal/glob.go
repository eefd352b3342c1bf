package causal

import (
	"fmt"
	"strings"
)

// Match reports whether the instrumentation scope and the span name match the pattern. One
// with Auto matches none: which regions it selects depends on the others.
func (p RegionPattern) Match(scope, span string) bool {
	return p.Auto == 0 && (p.Scope == "" || glob(p.Scope, scope)) && (p.Span == "" || glob(p.Span, span))
}

// String returns the pattern as "scope:span", or just the span; "auto 4" for one with Auto.
func (p RegionPattern) String() string {
	span := p.Span
	if p.Auto > 0 {
		span = fmt.Sprintf("auto %d", p.Auto)
	}
	if p.Scope == "" {
		return span
	}
	return p.Scope + ":" + span
}

// glob reports whether pattern matches all of s. "*" stands for any characters, "?" for one
// byte, "\" takes the next one literally. Unlike path.Match, "*" crosses slashes and
// brackets mean themselves, since span names are routes: "GET /items/{id}". It takes at most
// len(pattern) * len(s) steps.
func glob(pattern, s string) bool {
	star, from := -1, 0 // the last star, and where in s what it stands for ends
	p, i := 0, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, i
			p++
			continue
		case p < len(pattern) && pattern[p] == '?':
			p, i = p+1, i+1
			continue
		case p+1 < len(pattern) && pattern[p] == '\\' && pattern[p+1] == s[i]:
			p, i = p+2, i+1
			continue
		case p < len(pattern) && pattern[p] != '\\' && pattern[p] == s[i]:
			p, i = p+1, i+1
			continue
		}
		if star < 0 {
			return false
		}
		from++
		p, i = star+1, from
	}
	return strings.Trim(pattern[p:], "*") == ""
}
