package naming

import (
	"fmt"
	"strings"
)

// Cut bounds a text that others have written, in bytes, and shows that there was more.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}

// Count writes a number with its noun: "1 iteration", "7 iterations".
func Count[N int | int64 | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
