package naming

import (
	"cmp"
	"slices"
	"strings"
)

// Suggest returns ": did you mean a, b or c?" with the names next to what was written, or
// nothing if none is near.
func Suggest(written string, names []string) string {
	const most, longest = 3, 64
	if len(written) > longest {
		return ""
	}
	far := 1 + len(written)/3
	near := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return edits(written, name) > far })
	slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(edits(written, a), edits(written, b)) })
	switch near = near[:min(most, len(near))]; len(near) {
	case 0:
		return ""
	case 1:
		return ": did you mean " + near[0] + "?"
	}
	last := len(near) - 1
	return ": did you mean " + strings.Join(near[:last], ", ") + " or " + near[last] + "?"
}

// edits is how many bytes must be put in, left out or changed to make b of a (Levenshtein).
func edits(a, b string) int {
	row := make([]int, len(b)+1) // row[j] is the distance of a's first i bytes and b's first j
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
