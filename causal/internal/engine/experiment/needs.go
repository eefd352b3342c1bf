package experiment

import (
	"math/rand/v2"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/stats"
)

// SlowdownArms returns the arms of one round over all regions that need more: of each region its
// levels in random order, with placebos in between such that each arm has one beside it. samples
// are the elasticities measured so far, one slice for each progress point and metric. No arms mean
// that all is settled or futile.
func SlowdownArms(regions int, levels []float64, zeroWeight float64, samples func(Arm) [][]float64, rng *rand.Rand) []Arm {
	return blocks(regions, zeroWeight, rng, func(region int) (block []Arm) {
		if !needsMore(region, levels, samples) {
			return nil
		}
		for _, level := range levels {
			block = append(block, Arm{level, region})
		}
		return block
	})
}

// needsMore reports whether a region is worth more time: it is until, for each progress point and
// metric, it is surely next to nothing even at a half, or known to within half a point at 10 %, or
// that takes too long. Both are known by confidence sequences, which may be looked at after each
// experiment.
func needsMore(region int, levels []float64, samples func(Arm) [][]float64) bool {
	small, large := samples(Arm{levels[0], region}), samples(Arm{levels[len(levels)-1], region})
	if len(small) == 0 {
		return true
	}
	for i := range small {
		if isNothing(large[i]) {
			continue
		}
		// GoodEnough is 2 points, so four times what the answer at 10 % may be wrong by.
		if stats.NeedOf(scaled(small[i], 4*profile.Near)) == stats.NeedsMore {
			return true
		}
	}
	return false
}

// isNothing reports whether an elasticity is surely below 2 points at a half.
func isNothing(elasticities []float64) bool {
	return stats.SurelyBelow(elasticities, design.NothingElasticity)
}

func scaled(values []float64, by float64) []float64 {
	all := make([]float64, len(values))
	for i, v := range values {
		all[i] = v * by
	}
	return all
}
