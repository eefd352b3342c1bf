package naming

import "strings"

// Cut bounds a text that others have written, in bytes, and shows that there was more.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}
