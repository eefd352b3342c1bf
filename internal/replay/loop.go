package replay

import (
	"math"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Work comes in an open loop or in a closed one. In an open loop it comes at times that do not
// depend on how fast the program is: what is faster then shows in latencies, and throughput stays.
// In a closed one a client that has had an answer comes again some time after it, and throughput
// rises.

// A Loop says how work comes to a progress point.
type Loop string

// The loops.
const (
	LoopUnknown Loop = ""
	LoopOpen    Loop = "open"
	LoopClosed  Loop = "closed"
)

const (
	// allFaster is by how much loops makes all regions faster at once, and openWithin by which part
	// the time between visits may change by that in an open loop.
	allFaster  = 0.5
	openWithin = 0.02
)

// findLoops simulates the program with all of its regions faster at once, and returns for each
// progress point by which part the time between visits shrinks by that. Where neither that nor the
// time that the progress point's own spans take shrinks, they wait for what has no spans, and
// nothing is known.
func findLoops(p *model.Program, base *sim.Outcome, d int64) map[string]float64 {
	c := sim.Change{Factors: map[int32]float64{}}
	for _, r := range busiest(p, len(p.Rec.Regions), nil) {
		c.Factors[r] = 1 - allFaster
	}
	if len(c.Factors) == 0 {
		return nil
	}
	o := sim.Simulate(p, c, d)
	all := map[string]float64{}
	for i := range p.Points {
		x := 1 - doubt.Period(o.Visits[i], d)/doubt.Period(base.Visits[i], d)
		if math.IsNaN(x) || o.Stuck || x <= openWithin && len(base.Durations[i]) > 0 && 1-trace.Quantile(o.Settled(i), 0.5)/trace.Quantile(base.Settled(i), 0.5) <= openWithin {
			continue
		}
		all[p.Points[i].Name] = x
	}
	return all
}

// loopAt returns how work comes to a progress point, by the majority of the windows in which that
// is known.
func (s *Study) loopAt(point string) Loop {
	open, closed := 0, 0
	for _, w := range s.windows {
		switch x, ok := w.loops[point]; {
		case !ok:
		case math.Abs(x) <= openWithin:
			open++
		case x > 0: // else the faster goroutine has only come into others' way
			closed++
		}
	}
	switch {
	case open > closed:
		return LoopOpen
	case closed > 0:
		return LoopClosed
	}
	return LoopUnknown
}
