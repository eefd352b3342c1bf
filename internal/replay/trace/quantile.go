package trace

import (
	"math"
	"math/bits"
	"slices"
)

// Quantile of durations, whose order it changes.
func Quantile(v []int64, at float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	return float64(Nth(v, min(len(v)-1, int(at*float64(len(v))))))
}

// Nth returns what is at k once v is in order. It moves what is less before that and what is more
// behind it, by Hoare's selection, in linear time but for values that are made to prevent it.
func Nth(v []int64, k int) int64 {
	for rounds := 4 * bits.Len(uint(len(v))); len(v) > 1; rounds-- {
		if rounds == 0 {
			slices.Sort(v)
			return v[k]
		}
		a, b, c := v[0], v[len(v)/2], v[len(v)-1]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := 0, len(v)-1
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			v = v[:j+1]
		case k >= i:
			v, k = v[i:], k-i
		default:
			return pivot
		}
	}
	return v[0]
}
