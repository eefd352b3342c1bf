package plan

import (
	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/profile"
)

// Held is by which part of its own time a region is longer, in the mean over the experiments of a plan of mode slowdown, 0 of other modes.
// One region is slower at a time, and what takes a program's time is no more than that time. So throughput falls by Held/(1+Held) at most while
// the plan runs, and by E·Held for a region that takes the part E of the time (its elasticity).
func (p *Plan) Held() float64 {
	if p.Mode != profile.ModeSlowdown {
		return 0
	}
	levels := design.SlowdownLevels
	sum := 0.0
	for _, level := range levels {
		sum += level
	}
	return sum / float64(len(levels)+design.OverlapZeros(len(levels), p.Grid.ZeroWeight))
}
