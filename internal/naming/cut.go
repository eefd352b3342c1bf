package naming

import (
	"strings"
	"unicode"
)

// Cut bounds a text that others have written, in bytes, and shows that there was more.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}

// OneLine keeps a text that others have written, a span's name or an SQL text, from breaking lines
// and columns, or from commanding a terminal.
func OneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
