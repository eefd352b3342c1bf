package experiment

import "math"

// A region's own time is that of the warm-up, as only a recording has it, and holds follow what its
// spans take by then.

const (
	// leastDrift is what may be chance, and moves an elasticity by as many parts.
	leastDrift = 1.1
	// enoughDrifted is how many spans it takes.
	enoughDrifted = 100
	// mostDrift is beyond which nothing is known anyway.
	mostDrift = 1000
)

// Drift is how many times as long the region's spans take themselves in the windows without delays
// as in the warm-up, self ns ([profile.Curve.Drift]); 0 where that is not known, or may be chance.
func Drift(experiments []Experiment, region int, self float64) float64 {
	var sum, spans float64
	for _, e := range experiments {
		if e.Spared == region && e.Speedup == 0 && e.Spoiled == "" {
			sum, spans = sum+float64(e.Self), spans+float64(e.Ends)
		}
	}
	if spans < enoughDrifted || self <= 0 || sum <= 0 {
		return 0
	}
	g := sum / spans / self
	if math.Abs(math.Log(g)) < math.Log(leastDrift) {
		return 0
	}
	return min(g, mostDrift)
}
