package ledger

import "iter"

// A Frame is a span while it is open on a ledger. It belongs to the ledger, which uses it
// for the next span after End.
type Frame struct {
	ledger *Ledger
	used   bool
	id     RegionID
	inside bool   // it is of the region, or below on another goroutine
	below  bool   // it is below on the same one
	turn   uint32 // of use, so that a child can tell its parent from a later span

	parent     *Frame // on another goroutine, nil if there is none
	parentTurn uint32
	children   int32 // on other goroutines

	timed  bool // what follows is of the setting in force
	start  int64
	credit int64
	base   int64 // the part of credit that no other ledger owes
	aside  int64 // the ledger's
}

// Ledger returns the ledger that the span was begun on.
func (f *Frame) Ledger() *Ledger { return f.ledger }

// Begin notes that a span of the region starts at t on the goroutine. Parent is the frame of
// its parent span if that was begun on another goroutine, and nil otherwise. Timed spans
// can be asked what they took. A nil Ledger has no frame for it.
func (l *Ledger) Begin(s *Setting, t int64, id RegionID, parent *Frame, timed bool) *Frame {
	if l == nil {
		return nil
	}
	inherited, turn := false, uint32(0)
	if parent != nil {
		inherited, turn = parent.adopt(s, t)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.event(s, t)
	f := l.frame()
	f.id, f.inside, f.below = id, l.setting.about(id) || inherited, l.depth > 0
	f.parent, f.parentTurn = parent, turn
	l.enter(f.inside, t)
	if f.inside {
		l.grow(t)
	}
	if f.timed = timed; timed {
		f.start, f.credit, f.base, f.aside = t, l.credit, l.credit, l.aside
		if g := l.setting.growth; g != nil {
			f.base = min(l.credit, g.At(t))
		}
	}
	return f
}

// A Duration is what a timed span took, and what its goroutine has saved and paid meanwhile, ns.
type Duration struct {
	setting     *Setting // nil for none
	Real, Saved int64
}

// End notes that the span ends at t. Onlooker is true if that is on another goroutine than
// the one it began on. It returns what a timed span took, nothing for others and for
// those that are older than the setting in force.
func (f *Frame) End(s *Setting, t int64, onlooker bool) (d Duration) {
	l := f.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if !f.used {
		return d // it has been given up
	}
	if onlooker {
		l.sync(s, t)
		l.settle(t)
	} else {
		l.event(s, t)
	}
	l.exit(f.inside)
	l.grow(t)
	if f.timed {
		d = Duration{l.setting, t - f.start, l.credit - f.credit}
	}
	l.children -= f.children // children that are still running are not waited for
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

// mostSpare is how many spans are open on one ledger at most, beside those in line. There are more
// only where spans are never ended, or where they are nested as deep.
const mostSpare = 18

// frame returns one that is free. If all are in use, the span that has been open longest is given
// up.
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
	if len(l.spare) < mostSpare {
		l.spare = append(l.spare, f)
		return f
	}
	l.giveUp(l.spare[l.oldest])
	l.spare[l.oldest] = f // and the old one is its span's alone, which may still end
	l.oldest = (l.oldest + 1) % mostSpare
	return f
}

// giveUp books a span as ended, though it is not.
func (l *Ledger) giveUp(f *Frame) {
	if f.inside {
		l.setting.Lose()
		l.exit(true)
		l.grow(l.last)
	}
	l.children -= f.children
	f.used, f.parent, f.inside, f.timed, f.children = false, nil, false, false, 0
	f.turn++
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
