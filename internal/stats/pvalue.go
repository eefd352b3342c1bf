package stats

import (
	"cmp"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// tiny is what is left of a difference of equal numbers.
const tiny = 1e-9

// PValue is the probability of a mean at least as far from zero as that of the values, given in the
// order of time, if there is no effect, by Student's test. There must be at least two values.
func PValue(values []float64) float64 {
	return pValue(stats.Mean(values), StdErr(values), stats.TDist{V: float64(len(values) - 1)})
}

// PValueOfInterval is the same for a mean of which only the interval is known, that of a normal
// distribution.
func PValueOfInterval(mean, lo, hi float64) float64 {
	return pValue(mean, (hi-lo)/(2*stats.InvCDF(stats.StdNormal)(1-(1-Confidence)/2)), stats.StdNormal)
}

func pValue(mean, stdErr float64, of interface{ CDF(x float64) float64 }) float64 {
	switch {
	case math.Abs(mean) < tiny:
		return 1
	case stdErr <= 0:
		return 0
	}
	return 2 * of.CDF(-math.Abs(mean)/stdErr)
}

// AtLeast is the binomial upper tail: the probability of that many successes or more in n
// independent trials of probability p.
func AtLeast(successes, n int, p float64) float64 {
	if successes <= 0 {
		return 1
	}
	return 1 - stats.BinomialDist{N: n, P: p}.CDF(float64(successes-1))
}

// BenjaminiHochberg returns the p-values adjusted for their number, in their order: of those at
// most q, a share of at most q is false, which is the false discovery rate. Benjamini and Hochberg,
// Controlling the false discovery rate, 1995.
func BenjaminiHochberg(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	adjusted := make([]float64, len(p))
	least := 1.
	for rank, i := range slices.Backward(order) {
		least = min(least, p[i]*float64(len(p))/float64(rank+1))
		adjusted[i] = least
	}
	return adjusted
}
