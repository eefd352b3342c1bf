// Package design has the rules by which a plan becomes experiments (the design of experiments):
// package causal draws them up by these, and package plan counts beforehand what they cost.
package design

import (
	"math"
	"slices"
)

const (
	// MaxRegions is the number of regions that a plan examines at most.
	MaxRegions = 64
	// MaxSpeedup is the largest speed-up in percent that a plan may ask for: dilation
	// stretches the rest by 1/(1-speedup), five times at this value.
	MaxSpeedup = 80
	// MaxRefinements is how many speed-ups a region gets besides the grid.
	MaxRefinements = 4
)

// SlowdownLevels are the parts of a region's own time that its callers are held for in mode
// slowdown: a small one for the answer, and a large one for the bound.
var SlowdownLevels = []float64{0.10, 0.30}

// The delays of mode slowdown.
const (
	// LeastComputed and LeastSlept are the shortest delays, ns, by computing and by sleeping, which
	// is exact to some 25 µs.
	LeastComputed = 1_000
	LeastSlept    = 100_000
	// Affordable is the part of the limits that delays are planned to take at most.
	Affordable = 0.8
	// LossOfDuty is how much of the throughput slow-downs take at most in the mean, as a part of
	// limits.duty: 3 % where that is 5 %.
	LossOfDuty = 0.6
	// SettlingRequests is how many times the 99th percentile of requests an arm settles for.
	SettlingRequests = 3
	// SettlingMeans is how many times their mean it settles for at most.
	SettlingMeans = 10
	// EpochSkew is how far the clocks of two processes may lie apart, ns: for so long an epoch is
	// not counted where it begins and where it ends.
	EpochSkew = 250_000_000
	// NothingElasticity is that of a region which brings less than 2 points at a half.
	NothingElasticity = 0.04
)

// LevelsUpTo are the levels of a plan whose largest speed-up is most, in [0, 1]: none is above it.
func LevelsUpTo(most float64) []float64 {
	levels := slices.Clone(SlowdownLevels)
	for i := range levels {
		levels[i] = min(levels[i], most)
	}
	return slices.Compact(levels)
}

// SlowdownLoss is which part of the throughput rounds of slow-downs take at most, if a region takes
// the part elasticity of a program's time: what takes a part of the time longer makes the whole at
// most that part longer.
func SlowdownLoss(levels []float64, zeroWeight, elasticity float64) float64 {
	sum := 0.0
	for _, level := range levels {
		sum += level
	}
	longer := elasticity * sum / float64(len(levels)+OverlapZeros(len(levels), zeroWeight))
	return longer / (1 + longer)
}

// OverlapZeros returns how many experiments without delay stand beside so many with delay in mode
// overlap: as many as have that weight in [0.1, 0.9], and at least one for two.
func OverlapZeros(delayed int, weight float64) int { return max((delayed+1)/2, zeros(delayed, weight)) }

// DilationZeros is OverlapZeros of mode dilation, where there is at least one.
func DilationZeros(delayed int, weight float64) int { return max(1, zeros(delayed, weight)) }

func zeros(delayed int, weight float64) int {
	return int(math.Round(float64(delayed) * weight / (1 - weight)))
}
