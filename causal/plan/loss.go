package plan

import (
	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/profile"
)

// Loss is which part of the throughput a plan of mode slowdown takes at most, in the mean while it
// runs, with a limit of so much delay per second and processor, if no region takes more than the
// part elasticity of a program's time, which is 1 at most; 0 of other modes.
//
// One region is slower at a time. After each round the program is left alone until what was lost is
// within the limit.
func (p *Plan) Loss(duty Percent, elasticity float64) float64 {
	if p.Mode != profile.ModeSlowdown {
		return 0
	}
	return min(design.SlowdownLoss(design.SlowdownLevels, p.Grid.ZeroWeight, elasticity), design.LossOfDuty*float64(duty))
}
