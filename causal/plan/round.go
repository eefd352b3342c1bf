package plan

import (
	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/profile"
)

// Round returns how many experiments try so many regions once at each speed-up of the grid, those
// without delay included.
func (p *Plan) Round(regions int) int {
	each := regions
	if p.Mode == profile.ModeDilation {
		each++ // in one all of them are longer
	}
	if p.Mode == profile.ModeSlowdown {
		delayed := regions * len(design.SlowdownLevels)
		return delayed + design.OverlapZeros(delayed, p.Grid.ZeroWeight)
	}
	delayed := 0
	for _, s := range p.Grid.Speedups {
		if s > 0 {
			delayed += each
		}
	}
	if p.Mode == profile.ModeDilation {
		return delayed + design.DilationZeros(delayed, p.Grid.ZeroWeight)
	}
	return delayed + design.OverlapZeros(delayed, p.Grid.ZeroWeight)
}
