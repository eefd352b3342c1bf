package experiment

import (
	"math/rand/v2"

	"github.com/otelprof/otelprof/causal/internal/design"
)

// An Arm is one state in which progress is measured.
type Arm struct {
	// Speedup is the one that sparing a region stands for, in [0, 1); 0 delays nothing.
	Speedup float64
	// Spared is the index of the target region, which is not delayed, or would not be in an arm
	// with delays, or SparesNone.
	Spared int
}

// SparesNone is the region of an arm that has none.
const SparesNone = -2

// Factor returns how much of its self time each region is made longer by, so that a region
// which is spared is faster by speedup beside all others.
func (a Arm) Factor() float64 { return a.Speedup / (1 - a.Speedup) }

// DilationArms returns the arms of one iteration of dilation over the grid: for each speed-up a
// block in random order that holds the arm in which everything is stretched and those that
// spare one region each, so that what is compared lies close together in time; between the
// blocks the arms without delay, in a proportion of zeroWeight, one at least.
func DilationArms(regions int, speedups []float64, zeroWeight float64, rng *rand.Rand) []Arm {
	var delayed []Arm
	for _, i := range rng.Perm(len(speedups)) {
		if speedups[i] == 0 {
			continue
		}
		block := []Arm{{speedups[i], SparesNone}}
		for r := range regions {
			block = append(block, Arm{speedups[i], r})
		}
		rng.Shuffle(len(block), func(i, j int) { block[i], block[j] = block[j], block[i] })
		delayed = append(delayed, block...)
	}
	return withZeros(delayed, design.DilationZeros(len(delayed), zeroWeight))
}

// withZeros spreads arms without delay evenly among those with.
func withZeros(delayed []Arm, zeros int) []Arm {
	arms := make([]Arm, 0, len(delayed)+zeros)
	for i, placed := 0, 0; i < len(delayed); i++ {
		// The z-th of n zeros stands where z+1/2 of n parts of the delayed arms are over.
		for placed < zeros && (2*placed+1)*len(delayed) <= 2*i*zeros {
			arms = append(arms, Arm{Spared: SparesNone})
			placed++
		}
		arms = append(arms, delayed[i])
	}
	for zeros+len(delayed) > len(arms) {
		arms = append(arms, Arm{Spared: SparesNone})
	}
	return arms
}
