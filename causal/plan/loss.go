package plan

import (
	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/profile"
)

// Loss is which part of the throughput a plan of mode slowdown takes at most, in the mean while it
// runs, with a limit of so much delay per second and processor, if no region takes more than the
// part elasticity of a program's time, which is 1 at most; 0 of other modes.
//
// One region is slower at a time, and what takes a part of the time longer makes the whole at most
// that part longer. After each round the program is left alone until what was lost is within the
// limit.
func (p *Plan) Loss(duty Percent, elasticity float64) float64 {
	if p.Mode != profile.ModeSlowdown {
		return 0
	}
	levels := design.SlowdownLevels
	sum := 0.0
	for _, level := range levels {
		sum += level
	}
	longer := elasticity * sum / float64(len(levels)+design.OverlapZeros(len(levels), p.Grid.ZeroWeight))
	return min(longer/(1+longer), design.LossOfDuty*float64(duty))
}
