package model

import "cmp"

// A pool by a channel, of connections or of permits, is taken from by receiving and given back to
// by sending; a semaphore is entered by sending and left by receiving. Each goroutine does both in
// turns. A list that began anew while it has an element would give back more than it takes, and the
// pool would grow without end:
//
//	recorded          [window] give . take . give . take . give ...   one more given than taken
//	begun anew at 0   give . take . give | give . take . give | ...  one more for each round
//	begun anew at 1   take . give | take . give | ...                as many as there are
//
// Where there is a channel for each key it would also give back at another one than it has taken
// from: taken at a, behind that begun anew, and given back at b, whose element none has taken. The
// mark of a span would forbid to begin anew there, but the span may be opened before the window, or
// end on another goroutine. The turns of sends and receives show the same.

// HoldElements has no list begin anew while its goroutine has an element that it gives back. Free
// and Loose of ops are changed in place, before lists know where they begin anew.
func HoldElements(p *Program) {
	// Counts do not show whether elements are taken by sending or by receiving: a semaphore is a
	// pool of free places. A goroutine has one in that half of the turns in which a list could
	// begin anew behind fewer ops: what an element is for mostly has a span.
	all, taken := make([]map[int32]turns, len(p.Lists)), map[int32]int{}
	for l := range p.Lists {
		p.Rec.Rests()
		all[l] = p.Lists[l].turns()
		for object, t := range all[l] {
			if t.n > 1 {
				taken[object] += t.free[1] - t.free[0]
			}
		}
	}
	for l := range p.Lists {
		p.Lists[l].hold(all[l], taken)
	}
}

// turns are what a goroutine does at one channel, by turns: it sends, 1, and it receives, -1.
type turns struct {
	n, first, last int
	since          int // free ops before the last turn
	// free are the ops behind which the list can begin anew: behind a send, and behind a receive.
	free  [2]int
	never bool // it does not take turns
}

// turns returns the channels at which a goroutine sends and receives by turns, or has one turn; nil
// for none.
func (l *List) turns() map[int32]turns {
	var all map[int32]turns
	free := 0
	for k := range l.Ops {
		o := &l.Ops[k]
		if by := o.turn(); by != 0 {
			if all == nil {
				all = map[int32]turns{}
			}
			t := all[o.Arg]
			if t.n == 0 {
				t.first, t.last = by, -by
			}
			t.pass(free)
			t.n, t.last, t.never = t.n+1, by, t.never || t.last == by
			all[o.Arg] = t
		}
		if o.Free || o.Loose {
			free++
		}
	}
	for object, t := range all {
		if t.never {
			delete(all, object)
			continue
		}
		t.pass(free)
		all[object] = t
	}
	return all
}

// pass counts the free ops since the last turn: there have been so many.
func (t *turns) pass(free int) {
	half := 0
	if t.last < 0 {
		half = 1
	}
	t.free[half] += free - t.since
	t.since = free
}

// turn is 1 for a send, -1 for a receive, and 0 for any other op.
func (o *Op) turn() int {
	switch o.Kind {
	case OpSend:
		return 1
	case OpReceive:
		return -1
	}
	return 0
}

// hold marks the ops behind which the goroutine has an element of any of the channels. Taken is
// above 0 for one at which elements are taken by sending, below 0 for receiving. A list that has
// one all the time is left as it is: it would not begin anew at all.
func (l *List) hold(all map[int32]turns, taken map[int32]int) {
	if len(all) == 0 {
		return
	}
	has := 0 // as the window begins: what is given back first
	for object, t := range all {
		if t.first*taken[object] < 0 {
			has++
		}
	}
	held, free := make([]bool, len(l.Ops)), false
	for k := range l.Ops {
		o := &l.Ops[k]
		if by := o.turn(); by != 0 {
			if _, ok := all[o.Arg]; ok {
				has += cmp.Compare(by*taken[o.Arg], 0)
			}
		}
		held[k] = has > 0
		free = free || !held[k] && (o.Free || o.Loose)
	}
	for k := range held {
		if held[k] && free {
			l.Ops[k].Free, l.Ops[k].Loose = false, false
		}
	}
}
