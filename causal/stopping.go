package causal

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

// A need is whether a cell is worth more experiments.
type need int

const (
	needsMore need = iota
	settled        // it is known to within goodEnough
	futile         // that would take more than mostSamples
)

const (
	// goodEnough is the half-width at which a cell is settled: 2 points.
	goodEnough = 0.02
	// leastToJudge is the number of samples before which no cell is judged, mostSamples the
	// number that one may take.
	leastToJudge = 8
	mostSamples  = maxReductions
	// sequenceAt is the number of samples at which the confidence sequence is tightest.
	sequenceAt = 20
)

// needOf judges a cell by its samples, reductions in the order of time. It may be asked after
// each of them: looking at an ordinary interval again and again until it is narrow finds one
// that is wrong far more often than one time in twenty, which a confidence sequence
// does not.
func needOf(samples []float64) need {
	if len(samples) < leastToJudge {
		return needsMore
	}
	s := newSequence(samples)
	switch {
	case s.halfWidth(len(samples)) <= goodEnough:
		return settled
	case s.halfWidth(mostSamples) > goodEnough:
		return futile
	}
	return needsMore
}

// A sequence is an asymptotic confidence sequence of a mean: the mean lies within halfWidth of
// that of the first n samples for all n at once. It is that of Waudby-Smith, Arbour, Sinha,
// Kennedy and Ramdas, Time-uniform central limit theory and asymptotic confidence sequences,
// 2024.
type sequence struct{ deviation float64 }

// newSequence takes the deviation from samples whose outliers are brought in, as becomes a
// median.
func newSequence(samples []float64) sequence {
	near := broughtIn(samples)
	tail := 1 - (1-confidence)/2
	small := stats.InvCDF(stats.TDist{V: float64(len(samples) - 1)})(tail) / stats.InvCDF(stats.StdNormal)(tail)
	return sequence{small * stats.StdDev(near) * math.Sqrt(dependenceOf(near).inflation())}
}

func (s sequence) halfWidth(samples int) float64 {
	const alpha = 1 - confidence
	odds := -2 * math.Log(alpha)
	tuning := (odds + math.Log(odds+1)) / sequenceAt
	n := float64(samples)
	grown := n*tuning + 1
	return s.deviation * math.Sqrt(2*grown/(n*n*tuning)*math.Log(math.Sqrt(grown)/alpha))
}
