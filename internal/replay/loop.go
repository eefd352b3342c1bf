package replay

import "math"

// Work comes in an open loop or in a closed one. In an open loop it comes at times that do not depend on how fast the program is:
// what is faster then shows in latencies, and throughput stays. In a closed one a client that has had an answer comes again some time after
// it, and throughput rises.

// A Loop says how work comes to a progress point.
type Loop string

// The loops.
const (
	LoopUnknown Loop = ""
	LoopOpen    Loop = "open"
	LoopClosed  Loop = "closed"
)

const (
	// allFaster is by how much loops makes all regions faster at once, and openWithin by which part the time between visits may
	// change by that in an open loop.
	allFaster  = 0.5
	openWithin = 0.02
)

// loops simulates the program with all of its regions faster at once, and returns for each progress point by which part the time between
// visits shrinks by that. Where neither that nor the time that the progress point's own spans take shrinks, they wait for what has no
// spans, and nothing is known.
func (p *program) loops(base *outcome, d int64) map[string]float64 {
	c := change{factors: map[int32]float64{}}
	for _, r := range p.busiest(len(p.rec.regions), nil) {
		c.factors[r] = 1 - allFaster
	}
	if len(c.factors) == 0 {
		return nil
	}
	o := simulate(p, c, d)
	all := map[string]float64{}
	for i := range p.points {
		x := 1 - period(o.visits[i], d)/period(base.visits[i], d)
		if math.IsNaN(x) || o.stuck || x <= openWithin && len(base.durations[i]) > 0 && 1-quantile(o.settled(i), 0.5)/quantile(base.settled(i), 0.5) <= openWithin {
			continue
		}
		all[p.points[i].name] = x
	}
	return all
}

// loopAt returns how work comes to a progress point, by the majority of the windows in which that is known.
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

// A turn is what a goroutine did for one request from outside: it worked, and then waited for the next one.
type turn struct {
	work, wait float64 // ns
	next       place   // the wait
}

const (
	// leastTurns is how many requests show how they come.
	leastTurns = 50
	// A wait is longer by -1 for each part by which the work before it is, where requests come at times of their own, and by 0 where
	// their senders come again some time after an answer. It must be in [steepest, flattest] with two standard errors to spare.
	steepest, flattest = -1.5, -0.5
	// opensWithin is how many ops may be between a request and the span of its work.
	opensWithin = 20
)

// arrive finds the goroutines to which requests come from outside at times of their own, whenever the ones before were answered,
// and has them come at these times in the replay.
func (p *program) arrive() {
	turns := make([][]turn, len(p.points))
	for l := range p.lists {
		if p.lists[l].serves < 0 {
			p.turnsOf(int32(l), turns)
		}
	}
	for _, all := range turns {
		if len(all) < leastTurns {
			continue
		}
		if by, err := slope(all); !(by-2*err > steepest && by+2*err < flattest) {
			continue
		}
		for _, x := range all {
			p.op(x.next).arrives = true
		}
	}
}

// turnsOf adds the turns of one list, by the progress point that the spans of their work are.
func (p *program) turnsOf(list int32, turns [][]turn) {
	l := &p.lists[list]
	last, point := int32(-1), int32(-1) // the wait before, and what followed
	for k := range l.ops {
		o := &l.ops[k]
		switch {
		case o.kind == opOut && o.reason == waitNetwork && o.free:
			if last >= 0 && point >= 0 {
				before := l.ops[last].at
				turns[point] = append(turns[point], turn{float64(o.at - o.d - before), float64(o.d), place{list, int32(k)}})
			}
			last, point = int32(k), -1
		case o.kind == opOpen && last >= 0 && point < 0 && int32(k)-last < opensWithin:
			if s := &p.rec.spans[o.arg]; s.root {
				point = p.pointOf[o.arg]
			}
		}
	}
}

// slope is by how much waits are longer for each part by which the work before them is, by least squares, and its standard error;
// 0 where the work is all the same.
func slope(all []turn) (by, err float64) {
	n := float64(len(all))
	var work, wait float64
	for _, x := range all {
		work += x.work / n
		wait += x.wait / n
	}
	var xx, xy, yy float64
	for _, x := range all {
		xx += (x.work - work) * (x.work - work)
		xy += (x.work - work) * (x.wait - wait)
		yy += (x.wait - wait) * (x.wait - wait)
	}
	const spread = 0.05 // standard deviation of the work, in parts of the mean
	if xx <= spread*spread*work*work*n {
		return 0, 0
	}
	by = xy / xx
	return by, math.Sqrt(max(0, yy-by*xy) / (n - 2) / xx)
}

// arrives returns how long a runner waits for what comes from outside.
func (s *simulation) arrives(r *runner, o *instruction) int64 {
	a := s.x.arrivals[o.ref]
	return a.at + int64(r.laps)*a.lap - s.now
}
