package stats

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

// A Need is whether a cell is worth more experiments.
type Need int

const (
	// NeedsMore is a cell of which too little is known.
	NeedsMore Need = iota
	// Settled is a cell that is known to within GoodEnough.
	Settled
	// Futile is a cell for which that would take more than MostSamples.
	Futile
)

const (
	// GoodEnough is the half-width at which a cell is settled: 2 points.
	GoodEnough = 0.02
	// LeastToJudge is the number of samples before which no cell is judged.
	LeastToJudge = 8
	// MostSamples is the number of samples that one cell may take.
	MostSamples = 300
	// sequenceAt is the number of samples at which the confidence sequence is tightest.
	sequenceAt = 20
)

// NeedOf judges a cell by its samples, reductions in the order of time. It may be asked after
// each of them: looking at an ordinary interval again and again until it is narrow finds one
// that is wrong far more often than one time in twenty, which a confidence sequence
// does not.
func NeedOf(samples []float64) Need {
	if len(samples) < LeastToJudge {
		return NeedsMore
	}
	s := newSequence(samples)
	switch {
	case s.halfWidth(len(samples)) <= GoodEnough:
		return Settled
	case len(samples) >= sequenceAt && s.halfWidth(MostSamples) > GoodEnough:
		return Futile
	}
	return NeedsMore
}

// SurelyBelow reports whether the mean of what samples are of is below a limit, by a confidence
// sequence, so that it may be asked after each.
func SurelyBelow(samples []float64, limit float64) bool {
	return len(samples) >= LeastToJudge && stats.Mean(samples)+newSequence(samples).halfWidth(len(samples)) < limit
}

// A sequence is an asymptotic confidence sequence of a mean: the mean lies within halfWidth of
// that of the first n samples for all n at once. See Waudby-Smith, Arbour, Sinha,
// Kennedy and Ramdas, Time-uniform central limit theory and asymptotic confidence sequences,
// 2024.
type sequence struct{ deviation float64 }

// newSequence takes the deviation from all samples: what lies far out is what comes in bursts.
func newSequence(samples []float64) sequence {
	small := student(float64(len(samples)-1)) / stats.InvCDF(stats.StdNormal)(1-(1-Confidence)/2)
	return sequence{small * stats.StdDev(samples) * math.Sqrt(inflation(samples))}
}

func (s sequence) halfWidth(samples int) float64 {
	const alpha = 1 - Confidence
	odds := -2 * math.Log(alpha)
	tuning := (odds + math.Log(odds+1)) / sequenceAt
	n := float64(samples)
	grown := n*tuning + 1
	return s.deviation * math.Sqrt(2*grown/(n*n*tuning)*math.Log(math.Sqrt(grown)/alpha))
}
