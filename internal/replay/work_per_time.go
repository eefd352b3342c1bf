package replay

import (
	"cmp"
	"slices"
)

// leastUnclear is which part of the rounds' time work must take, to be bounded where it is not known what it is done by.
const leastUnclear = 0.03

// perTime returns the work that is done per time, or may be. Sure means that this is known of all of it.
func (p *program) perTime(work []occasional) (all []occasional, sure bool) {
	sure = true
	for _, w := range work {
		switch w.rhythm(p) {
		case perTime:
			all = append(all, w)
		case unclear:
			if w.share >= leastUnclear {
				all, sure = append(all, w), false
			}
		}
	}
	return p.separate(all), sure
}

// separate leaves the work that a replay can spare, and that is not part of other such work.
func (p *program) separate(all []occasional) (left []occasional) {
	slices.SortStableFunc(all, func(a, b occasional) int { return cmp.Compare(b.share, a.share) })
	covered := map[int32][]occasion{} // by list, in order
	for _, w := range all {
		n := len(w.occasions)
		w.occasions = slices.DeleteFunc(w.occasions, func(x occasion) bool {
			others := covered[x.list]
			i, _ := slices.BinarySearchFunc(others, x.op, func(other occasion, op int32) int { return cmp.Compare(other.last, op) })
			return i < len(others) && others[i].op <= x.last || p.decidedIn(x)
		})
		if 2*len(w.occasions) < n {
			continue
		}
		for _, x := range w.occasions {
			covered[x.list] = append(covered[x.list], x)
		}
		for _, x := range covered {
			slices.SortFunc(x, func(a, b occasion) int { return cmp.Compare(a.op, b.op) })
		}
		left = append(left, w)
	}
	return left
}

// decidedIn reports whether a goroutine may go on elsewhere in the midst of what it does.
func (p *program) decidedIn(x occasion) bool {
	return slices.ContainsFunc(p.lists[x.list].ops[x.op:x.last+1], func(o op) bool {
		return o.kind == opChoose && o.arg >= 0 || o.kind == opReceive && o.head
	})
}

// together is which part of the work at most may be begun while others are at it, for it to be done by one goroutine at a time.
const together = 0.05

// alone reports whether work is done by one goroutine at a time.
func (w *occasional) alone() bool {
	return float64(len(w.occasions)-w.apart()) <= together*float64(len(w.occasions))
}

// bothWays returns the alternatives that work is done per time where it is done per visit in the program, or the other way round where it is
// known to be done per time, by one goroutine at a time: then that is the program which answers. What several do at a time may be done at
// the same rate, or begin so long after it was over; how many join then depends on how long it takes.
func (p *program) bothWays(base outcome, work []occasional) (answers *program, _ outcome, others []alternative) {
	work, sure := p.perTime(work)
	if len(work) == 0 {
		return p, base, nil
	}
	alone := !slices.ContainsFunc(work, func(w occasional) bool { return !w.alone() })
	d := p.rec.End - p.rec.Start
	for _, rate := range []bool{false, true} {
		if rate && alone {
			break
		}
		timely := p.onTime(work, rate)
		o := simulate(timely, change{}, d)
		if timely.misses(&o, d) > MaxDeviation {
			continue
		}
		if sure && alone {
			return timely, o, append(others, alternative{p: p, base: base})
		}
		others = append(others, alternative{p: timely, base: o})
	}
	return p, base, others
}
