package causal

import (
	"math/rand/v2"

	"github.com/otelprof/otelprof/causal/internal/design"
)

// An arm is one state in which progress is measured.
type arm struct {
	// speedup is the one that sparing a region stands for, in [0, 1); 0 delays nothing.
	speedup float64
	// spared is the index of the target region, which is not delayed, or would not be in an arm with delays, or sparesNone.
	spared int
}

// factor returns how much of its self time each region is made longer by, so that a region
// which is spared is faster by speedup beside all others.
func (a arm) factor() float64 { return a.speedup / (1 - a.speedup) }

// dilationArms returns the arms of one iteration of dilation over the grid: for each speed-up a
// block in random order that holds the arm in which everything is stretched and those that
// spare one region each, so that what is compared lies close together in time; between the
// blocks the arms without delay, in a proportion of zeroWeight, one at least.
func dilationArms(regions int, speedups []float64, zeroWeight float64, rng *rand.Rand) []arm {
	var delayed []arm
	for _, i := range rng.Perm(len(speedups)) {
		if speedups[i] == 0 {
			continue
		}
		block := []arm{{speedups[i], sparesNone}}
		for r := range regions {
			block = append(block, arm{speedups[i], r})
		}
		rng.Shuffle(len(block), func(i, j int) { block[i], block[j] = block[j], block[i] })
		delayed = append(delayed, block...)
	}
	return withZeros(delayed, design.DilationZeros(len(delayed), zeroWeight))
}

// withZeros spreads arms without delay evenly among those with.
func withZeros(delayed []arm, zeros int) []arm {
	arms := make([]arm, 0, len(delayed)+zeros)
	for i, placed := 0, 0; i < len(delayed); i++ {
		// The z-th of n zeros stands where z+1/2 of n parts of the delayed arms are over.
		for placed < zeros && (2*placed+1)*len(delayed) <= 2*i*zeros {
			arms = append(arms, arm{spared: sparesNone})
			placed++
		}
		arms = append(arms, delayed[i])
	}
	for zeros+len(delayed) > len(arms) {
		arms = append(arms, arm{spared: sparesNone})
	}
	return arms
}
