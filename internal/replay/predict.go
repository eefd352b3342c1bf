package replay

import (
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A Speedup is a region and which part of its own computing and waiting outside is taken away,
// below 1; below 0 it is slower. What is done in spans within its own is theirs. Waits for other
// goroutines are not taken away: they get shorter as far as what they wait for does. Coz calls that
// part the virtual speed-up of a line (Curtsinger and Berger, 2015).
type Speedup struct {
	Region trace.Region
	By     float64
}

// Predict replays one recording as it was and with regions faster. It returns the mean time between
// visits of a progress point in both, ns; NaN where there are fewer than two visits, or no such
// point. A region that the recording does not have changes nothing. There is no self-check, no
// interval and no alternative: it is for tests of single rules, where a [Study] is for answers.
func Predict(r *trace.Recording, point string, all ...Speedup) (base, changed float64) {
	p := infer.NewProgram(r, true)
	c := sim.Change{Factors: map[int32]float64{}}
	for _, s := range all {
		if i := slices.Index(r.Regions, s.Region); i >= 0 {
			c.Factors[int32(i)] = 1 - s.By
		}
	}
	k := slices.IndexFunc(p.Points, func(x model.PointInfo) bool { return x.Name == point })
	if k < 0 {
		return math.NaN(), math.NaN()
	}
	d := r.End - r.Start
	a, b := sim.Simulate(p, sim.Change{}, d), sim.Simulate(p, c, d)
	return doubt.Period(a.Visits[k], d), doubt.Period(b.Visits[k], d)
}
