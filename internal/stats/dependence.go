package stats

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

// mostAlike keeps a trend, which is no dependence, from widening intervals without bound.
const mostAlike = 0.9

// correlation estimates how much values in the order of time resemble those before them: the
// correlation of a value with the next, in [0, mostAlike], as of a first-order autoregression,
// AR(1).
func correlation(values []float64) float64 {
	n, mean := float64(len(values)), stats.Mean(values)
	var squares, products float64
	for i, v := range values {
		squares += (v - mean) * (v - mean)
		if i > 0 {
			products += (values[i-1] - mean) * (v - mean)
		}
	}
	if squares <= 0 {
		return 0
	}
	r := products / squares
	// The correlation of few values comes out too small (Kendall 1954).
	r = max(0, min(mostAlike, r+(1+3*max(0, r))/n))
	if noise := 1 / math.Sqrt(n); r < noise {
		return 0
	}
	return r
}

// inflation returns by what factor the variance of the mean of values is larger than that of
// independent ones.
func inflation(values []float64) float64 {
	r := correlation(values)
	return (1 + r) / (1 - r)
}
