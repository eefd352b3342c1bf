// Package glob matches the names of spans and scopes.
package glob

import "strings"

// Match reports whether pattern matches all of s. "*" stands for any characters, "?" for one
// byte, "\" takes the next one literally. Unlike path.Match, "*" crosses slashes and
// brackets mean themselves, since span names are routes: "GET /items/{id}". It takes at most
// len(pattern) * len(s) steps.
func Match(pattern, s string) bool {
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

var literally = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`)

// Name returns what a pattern matches alone, or the pattern if that is more.
func Name(pattern string) string {
	if s := unquoted.Replace(pattern); Quote(s) == pattern {
		return s
	}
	return pattern
}

var unquoted = strings.NewReplacer(`\\`, `\`, `\*`, "*", `\?`, "?")

// Quote returns a pattern that matches s alone.
func Quote(s string) string { return literally.Replace(s) }
