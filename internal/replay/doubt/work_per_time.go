package doubt

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
)

// Work per time or per visit: both programs meet the recording, and differ in what faster requests
// bring. Per visit each request goes on to have its share of the work. Per time that share shrinks
// as requests get more. So each is an alternative of the other. The program with work per time
// counts only if its replay of nothing changed meets the recording. TestPerTime in package replay
// holds answers about caches against the same caches that are faster.

// LeastUnclear is which part of the rounds' time work must take, to be bounded where it is not
// known what it is done by. Below, an answer is off by less than that whatever it is done by.
// Pauses have the same limit.
const LeastUnclear = 0.03

// perTime returns the work that is done per time, or may be. Sure means that this is known of all
// of it. What is done per visit is done by the replay as it is.
func perTime(p *model.Program, work []Occasional) (all []Occasional, sure bool) {
	sure = true
	for _, w := range work {
		switch w.Rhythm(p) {
		case PerTime:
			all = append(all, w)
		case Unclear:
			if w.share >= LeastUnclear {
				all, sure = append(all, w), false
			}
		}
	}
	return separate(p, all), sure
}

// separate leaves the work that a replay can spare, and that is not part of other such work. A
// query within a load is done as often as the load: what takes most comes first, and occasions of
// others that overlap with it are dropped. Work that loses more than half of its occasions so is
// dropped as a whole. It changes the order of all, and their occasions.
func separate(p *model.Program, all []Occasional) (left []Occasional) {
	slices.SortStableFunc(all, func(a, b Occasional) int { return cmp.Compare(b.share, a.share) })
	covered := map[int32][]Occasion{} // by list, in order
	for _, w := range all {
		n := len(w.Occasions)
		w.Occasions = slices.DeleteFunc(w.Occasions, func(x Occasion) bool {
			// Others do not overlap, so that the first one that ends at or behind the beginning of
			// x is the only one that can.
			others := covered[x.List]
			i, _ := slices.BinarySearchFunc(others, x.Op, func(other Occasion, op int32) int { return cmp.Compare(other.Last, op) })
			return i < len(others) && others[i].Op <= x.Last || decidedIn(p, x)
		})
		if 2*len(w.Occasions) < n {
			continue
		}
		for _, x := range w.Occasions {
			covered[x.List] = append(covered[x.List], x)
		}
		for _, x := range covered {
			slices.SortFunc(x, func(a, b Occasion) int { return cmp.Compare(a.Op, b.Op) })
		}
		left = append(left, w)
	}
	return left
}

// decidedIn reports whether a goroutine may go on elsewhere in the midst of what it does: by a
// select statement that is decided anew, or with the work of another element. The end of the work
// may not come then, so that it cannot be spared.
func decidedIn(p *model.Program, x Occasion) bool {
	return slices.ContainsFunc(p.Lists[x.List].Ops[x.Op:x.Last+1], func(o model.Op) bool {
		return o.Kind == model.OpChoose && o.Arg >= 0 || o.Kind == model.OpReceive && o.Head
	})
}

// together is which part of the work at most may be begun while others are at it, for it to be done
// by one goroutine at a time. Were it 0, one span that ends late, behind the beginning of the next,
// would make it the work of several.
const together = 0.05

// alone reports whether work is done by one goroutine at a time.
func (w *Occasional) alone() bool {
	return float64(len(w.Occasions)-w.apart()) <= together*float64(len(w.Occasions))
}

// BothWays returns the alternatives that work is done per time where it is done per visit in the
// program, or the other way round where it is known to be done per time, by one goroutine at a
// time: then that is the program which answers. What several do at a time may be done at the same
// rate, or begin so long after it was over; how many join then depends on how long it takes.
//
// Base is the replay of p with nothing changed; what is returned is that of the returned program.
// Programs with work per time that miss the recording by more than MaxDeviation are dropped. Share
// is which part of the rounds' time work takes that is or may be done per time.
func BothWays(p *model.Program, base sim.Outcome, work []Occasional) (answers *model.Program, _ sim.Outcome, others []Alternative, share float64) {
	work, sure := perTime(p, work)
	if len(work) == 0 {
		return p, base, nil, 0
	}
	for _, w := range work {
		share += w.share
	}
	alone := !slices.ContainsFunc(work, func(w Occasional) bool { return !w.alone() })
	d := p.Rec.End - p.Rec.Start
	// By bouts first, then by rate: work of one goroutine at a time has bouts alone, and its rate
	// is what comes of them.
	for _, rate := range []bool{false, true} {
		if rate && alone {
			break
		}
		timely := onTime(p, work, rate)
		o := sim.Simulate(timely, sim.Change{}, d)
		if Misses(timely, &o, d) > MaxDeviation {
			continue
		}
		if sure && alone {
			return timely, o, append(others, Alternative{P: p, Base: base}), share
		}
		others = append(others, Alternative{P: timely, Base: o})
	}
	return p, base, others, share
}
