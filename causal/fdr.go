package causal

import (
	"cmp"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// falseDiscoveries is the share of regions without effect that is accepted among those which
// are said to have one.
const falseDiscoveries = 0.05

// pValue is the probability of an effect at least this far from zero if there is none, by
// Student's test of the samples with their outliers brought in; 1 without a number. What
// was saved without samples is judged by its interval.
func (e Effect) pValue() float64 {
	const tiny = 1e-9 // what is left of a difference of equal numbers
	if e.Withheld != "" || math.Abs(e.Reduction) < tiny {
		return 1
	}
	freedom, center := math.Inf(1), e.Reduction
	deviation := (e.Hi - e.Lo) / (2 * stats.InvCDF(stats.StdNormal)(1-(1-confidence)/2))
	if n := len(e.Reductions); n >= leastSamples {
		near := broughtIn(e.Reductions)
		freedom, center = float64(n-1), stats.Mean(near)
		deviation = stats.StdDev(near) * math.Sqrt(dependenceOf(near).inflation()/float64(n))
	}
	switch {
	case deviation <= 0 && math.Abs(center) < tiny:
		return 1
	case deviation <= 0:
		return 0
	case math.IsInf(freedom, 1):
		return 2 * stats.StdNormal.CDF(-math.Abs(center)/deviation)
	}
	return 2 * stats.TDist{V: freedom}.CDF(-math.Abs(center)/deviation)
}

// pValue is the probability of effects at least this large at any of the speed-ups if there are none:
// the least of all, times as many as there are, by its rank. Simes, An improved Bonferroni procedure for
// multiple tests of significance, 1986; it holds for estimates that share their baselines.
func (c Curve) pValue() float64 {
	var values []float64
	for _, e := range c.measured() {
		values = append(values, e.pValue())
	}
	return slices.Min(adjust(values))
}

// adjust returns p-values that are larger, in their order, by as much as is due to how many
// there are: those at most q have a share of false ones of at most q. Benjamini and Hochberg,
// Controlling the false discovery rate, 1995.
func adjust(p []float64) []float64 {
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
