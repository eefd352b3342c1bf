package plan

import (
	"math"

	"github.com/otelprof/otelprof/causal/profile"
)

// Round returns how many experiments try so many regions once at each speed-up of the grid, those without delay included.
func (p *Plan) Round(regions int) int {
	each := regions
	if p.Mode == profile.ModeDilation {
		each++ // in one all of them are longer
	}
	delayed := 0
	for _, s := range p.Grid.Speedups {
		if s > 0 {
			delayed += each
		}
	}
	return delayed + Zeros(p.Mode, delayed, p.Grid.ZeroWeight)
}

// Zeros returns how many experiments without delay stand beside so many with delay: as many as have that weight in [0.1, 0.9], at least
// one for two of [profile.ModeOverlap], and one of [profile.ModeDilation].
func Zeros(mode profile.Mode, delayed int, weight float64) int {
	zeros := int(math.Round(float64(delayed) * weight / (1 - weight)))
	if mode == profile.ModeDilation {
		return max(1, zeros)
	}
	return max((delayed+1)/2, zeros)
}
