package profile

import (
	"slices"

	"github.com/otelprof/otelprof/internal/stats"
)

// falseDiscoveries is the false discovery rate (Benjamini-Hochberg) that is accepted: the share of
// regions without effect among those that are reported to have one.
const falseDiscoveries = 0.05

// pValue is the probability of an effect at least this far from zero if there is none, by
// Student's test of the samples; 1 without a number. What
// was saved without samples is judged by its interval.
func (e Effect) pValue() float64 {
	if !e.Known() {
		return 1
	}
	if len(e.Reductions) >= stats.LeastSamples {
		return stats.PValue(e.Reductions)
	}
	return stats.PValueOfInterval(e.Reduction, e.Lo, e.Hi)
}

// pValue is the probability of effects at least this large at any of the speed-ups if there are
// none: the least of all, times as many as there are, by its rank. Simes, An improved Bonferroni
// procedure for multiple tests of significance, 1986; it holds for estimates that share their
// baselines.
func (c Curve) pValue() float64 {
	var values []float64
	for _, e := range c.measured() {
		values = append(values, e.pValue())
	}
	return slices.Min(stats.BenjaminiHochberg(values))
}
