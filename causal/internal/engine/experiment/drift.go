package experiment

import (
	"fmt"
	"math"

	"github.com/otelprof/otelprof/causal/profile"
)

// A region's own time is that of the warm-up, as only a recording has it, and holds follow what its
// spans take by then. Where these take g times as long later on, their own time may be g times as
// much, and so the elasticity, or they wait for g times as long, and neither is. Both are in the
// interval then.

const (
	// leastDrift is what may be chance, and moves an elasticity by as many parts.
	leastDrift = 1.1
	// enoughDrifted is how many spans it takes.
	enoughDrifted = 100
)

// Drift is how many times as long the region's spans take themselves in the windows without delays
// as in the warm-up, self ns; 1 where that is not known, or may be chance.
func Drift(experiments []Experiment, region int, self float64) float64 {
	var sum, spans float64
	for _, e := range experiments {
		if e.Spared == region && e.Speedup == 0 && e.Spoiled == "" {
			sum, spans = sum+float64(e.Self), spans+float64(e.Ends)
		}
	}
	if spans < enoughDrifted || self <= 0 || sum <= 0 {
		return 1
	}
	g := sum / spans / self
	if math.Abs(math.Log(g)) < math.Log(leastDrift) {
		return 1
	}
	return g
}

// WidenByDrift has both in the intervals: that what a region of this name takes itself is as many
// times as long, and that it is as long as it was.
func WidenByDrift(effects []profile.Effect, name string, g float64) {
	for i, e := range effects {
		if g == 1 || !e.Known() {
			continue
		}
		e.Lo, e.Hi, e.Bounded = min(e.Lo, g*e.Lo), min(1, max(e.Hi, g*e.Hi)), true
		e.Warnings = append(e.Warnings, fmt.Sprintf("spans of %s take %.2g times as long as when the experiments began: a new plan narrows this", name, g))
		effects[i] = e
	}
}
