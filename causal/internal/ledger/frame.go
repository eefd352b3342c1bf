package ledger

import "iter"

// A Frame is a span while it is open on a ledger. It belongs to the ledger, which uses it
// for the next span after End.
type Frame struct {
	ledger *Ledger
	used   bool
	id     RegionID
	inside bool   // it is of the region, or below
	turn   uint32 // of use, so that a child can tell its parent from a later span

	parent     *Frame // on another goroutine, nil if there is none
	parentTurn uint32
	children   int32 // on other goroutines

	timed  bool // start and credit are of the setting in force
	start  int64
	credit int64
}

// Ledger returns the ledger that the span was begun on.
func (f *Frame) Ledger() *Ledger { return f.ledger }

// Begin tells that a span of the region starts at t on the goroutine. Parent is the frame of
// its parent span if that was begun on another goroutine, and nil otherwise. Timed spans
// can be asked what they took.
func (l *Ledger) Begin(s *Setting, t int64, id RegionID, parent *Frame, timed bool) *Frame {
	inherited, turn := false, uint32(0)
	if parent != nil {
		inherited, turn = parent.adopt(s, t)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.event(s, t)
	f := l.frame()
	f.id, f.inside = id, l.setting.about(id) || inherited
	f.parent, f.parentTurn = parent, turn
	l.enter(f.inside, t)
	if f.inside {
		l.grow(t)
	}
	if f.timed = timed; timed {
		f.start, f.credit = t, l.credit
	}
	return f
}

// A Duration is what a timed span took, and what its goroutine has saved and paid meanwhile, ns.
type Duration struct {
	setting     *Setting // nil for none
	Real, Saved int64
}

// End tells that the span ends at t. Onlooker is true if that is on another goroutine than
// the one it began on. It returns what a timed span took, nothing for others and for
// those that are older than the setting in force.
func (f *Frame) End(s *Setting, t int64, onlooker bool) (d Duration) {
	l := f.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if onlooker {
		l.sync(s, t)
		l.settle(t)
		l.setting.counts.foreign.Add(1)
	} else {
		l.event(s, t)
	}
	l.exit(f.inside)
	l.grow(t)
	if f.timed {
		d = Duration{l.setting, t - f.start, l.credit - f.credit}
	}
	l.children -= f.children // whoever is still running is not waited for
	parent, turn := f.parent, f.parentTurn
	f.used, f.parent, f.inside, f.children = false, nil, false, 0
	f.turn++
	if parent == nil {
		l.parent = nil
		return d
	}
	var st Stamp
	l.stamp(t, &st)
	if !onlooker {
		l.parent, l.parentTurn = parent, turn
	}
	l.leave(parent, turn, &st, false)
	return d
}

// frame returns one that is free.
func (l *Ledger) frame() *Frame {
	for i := range l.frames {
		if f := &l.frames[i]; !f.used {
			f.used = true
			return f
		}
	}
	for _, f := range l.spare {
		if !f.used {
			f.used = true
			return f
		}
	}
	f := &Frame{ledger: l, used: true}
	l.spare = append(l.spare, f)
	return f
}

// inUse yields the spans that are open.
func (l *Ledger) inUse() iter.Seq[*Frame] {
	return func(yield func(*Frame) bool) {
		for i := range l.frames {
			if f := &l.frames[i]; f.used && !yield(f) {
				return
			}
		}
		for _, f := range l.spare {
			if f.used && !yield(f) {
				return
			}
		}
	}
}
