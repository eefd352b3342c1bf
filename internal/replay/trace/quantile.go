package trace

import (
	"math"
	"math/bits"
	"slices"
)

// Quantile returns the at-quantile, at in [0, 1], of durations, whose order it changes: of n values
// in order the one at int(at*n), counted from 0, without interpolation. Of an even number of values
// the 0.5-quantile is the upper one of both in the middle; of 100 or fewer the 0.99-quantile is the
// largest. It is NaN for none. The time is linear, see [Nth].
func Quantile(v []int64, at float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	return float64(Nth(v, min(len(v)-1, int(at*float64(len(v))))))
}

// Nth returns what is at k once v is in order; k must be in [0, len(v)). It moves what is less
// before that and what is more behind it, by quickselect (C. A. R. Hoare, Algorithm 65: Find, CACM
// 1961), in linear time for values in any usual order. Quantiles are taken of each point, region
// and speed-up: sorting instead would cost a factor of log n there.
//
// Values that are made to prevent it would take quadratic time. So the rounds are bounded by a
// multiple of log2 n, and the rest is sorted (introselect, D. R. Musser, 1997). TestNth holds it
// against sorting.
func Nth(v []int64, k int) int64 {
	// With a pivot in the middle half a round leaves 3/4 at most, and log n / log(4/3) = 2.4 log2 n
	// such rounds leave one value: 4 allows for some bad pivots.
	for rounds := 4 * bits.Len(uint(len(v))); len(v) > 1; rounds-- {
		if rounds == 0 {
			slices.Sort(v)
			return v[k]
		}
		// The median of three is in the middle for values that are in order already.
		a, b, c := v[0], v[len(v)/2], v[len(v)-1]
		pivot := max(min(a, b), min(max(a, b), c))
		// Both ends stop at values equal to the pivot and exchange them, so that many equal values
		// are split in halves, too. Neither runs off its end: the pivot is a value of v, and what
		// was exchanged before stops the next search.
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
		// Now v[:j+1] <= pivot <= v[i:], and what is between, one value at most, is the pivot.
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
