package naming

import "fmt"

// Count writes a number with its noun: "1 iteration", "7 iterations".
func Count[N int | int64 | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
