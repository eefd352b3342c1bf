package trace

// Intern returns the number of a key in a list that has each once, a new one where it is met for
// the first time. Numbers has what the list has.
func Intern[K comparable](numbers map[K]int32, all *[]K, key K) int32 {
	n, ok := numbers[key]
	if !ok {
		n = int32(len(*all))
		*all = append(*all, key)
		numbers[key] = n
	}
	return n
}

// Entry returns what a map has for a key, a new zero value where that is nothing yet.
func Entry[K comparable, V any](of map[K]*V, key K) *V {
	v := of[key]
	if v == nil {
		v = new(V)
		of[key] = v
	}
	return v
}
