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
// rises: of N clients that think for Z between an answer of R and the next request, it is N/(R+Z)
// (interactive response time formula: Denning and Buzen, 1978). Schroeder, Wierman and
// Harchol-Balter (Open Versus Closed: A Cautionary Tale, NSDI 2006) have what goes wrong where the
// one is taken for the other.
//
// The replay itself decides from the recording when requests come (rule open_loop of package infer,
// and doubt.OfClients). Here its behavior is looked at: with all regions twice as fast, does the
// time between visits stay? With requests of 2 to 6 ms (TestLoop):
//
//	open, one each 10 ms           10 ms before, 10 ms after: open
//	closed, 4 ms after an answer    8 ms before,  6 ms after: closed
//
// A program whose time is not in spans, such as one that waits for a timer, looks like an open
// loop. Where the progress point has no spans, or these do not get shorter either, it is unknown.

// A Loop is how work comes to a progress point. It is reported beside the answers, and changes
// none.
type Loop string

// The loops.
const (
	LoopUnknown Loop = ""
	LoopOpen    Loop = "open"
	LoopClosed  Loop = "closed"
)

const (
	// allFaster is by how much findLoops makes all regions faster at once. A closed loop whose time
	// is all in spans shrinks by as much. OpenWithin is by which part the time between visits may
	// change by that in an open loop. Larger, it takes closed loops for open ones whose time is
	// mostly not in spans; at 0, any difference between two replays makes a closed one.
	allFaster  = 0.5
	openWithin = 0.02
)

// findLoops simulates the program with all of its regions faster at once, and returns for each
// progress point by which part the time between visits shrinks by that. Where neither that nor the
// time that the progress point's own spans take shrinks, they wait for what has no spans, and
// nothing is known. Base is the replay of nothing changed, of d ns. It returns nil, and simulates
// nothing, in a program without regions.
func findLoops(p *model.Program, base *sim.Outcome, d int64) map[string]float64 {
	c := sim.Change{Factors: map[int32]float64{}}
	for _, r := range busiest(p, len(p.Rec.Regions), nil) {
		c.Factors[r] = 1 - allFaster
	}
	if len(c.Factors) == 0 {
		return nil
	}
	// A point without an entry is not known. X below 0 is one that goroutines which became faster
	// keep from its processors or locks.
	o := sim.Simulate(p, c, d)
	all := map[string]float64{}
	for i := range p.Points {
		x := 1 - doubt.Period(o.Visits[i], d)/doubt.Period(base.Visits[i], d)
		if math.IsNaN(x) || o.Stuck || x <= openWithin && (len(base.Durations[i]) == 0 || 1-trace.Quantile(o.Settled(i), 0.5)/trace.Quantile(base.Settled(i), 0.5) <= openWithin) {
			continue
		}
		all[p.Points[i].Name] = x
	}
	return all
}

// loopAt returns how work comes to a progress point, by the majority of the windows in which that
// is known; as many of each are a closed one.
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
