package ledger

import "iter"

// A Frame is a span while it is open on a ledger. It belongs to the ledger, which uses it
// for the next span after End.
type Frame struct {
	ledger  *Ledger
	used    bool
	id      RegionID
	regions set    // that it has opened
	turn    uint32 // of use, so that a child can tell its parent from a later span

	parent     *Frame // on another goroutine, nil if there is none
	parentTurn uint32
	children   int32 // on other goroutines

	timed  bool // start and credit are of the setting in force
	start  int64
	credit [Width]int64
}

// Ledger returns the ledger that the span was begun on.
func (f *Frame) Ledger() *Ledger { return f.ledger }

// Begin tells that a span of the region starts at t on the goroutine. Parent is the frame of
// its parent span if that was begun on another goroutine, and nil otherwise. Timed spans
// can be asked for their virtual duration.
func (l *Ledger) Begin(s *Setting, t int64, id RegionID, parent *Frame, timed bool) *Frame {
	var inherited set
	turn := uint32(0)
	if parent != nil {
		inherited, turn = parent.adopt(s, t)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.event(s, t)
	f := l.frame()
	f.id, f.regions = id, l.setting.regions(id)|inherited
	f.parent, f.parentTurn = parent, turn
	l.enter(f.regions, t)
	if f.regions != 0 {
		l.grow(t)
	}
	if f.timed = timed; timed {
		f.start, f.credit = t, l.credit
	}
	return f
}

// A Virtual is what a timed span took, and what the hypotheses take off that, ns.
type Virtual struct {
	setting  *Setting // nil for none
	Duration int64
	Saved    [Width]int64
}

// End tells that the span ends at t. Onlooker is true if that is on another goroutine than
// the one it began on. It returns what a timed span took, nothing for others and for
// those that are older than the setting in force.
func (f *Frame) End(s *Setting, t int64, onlooker bool) (v Virtual) {
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
	l.exit(f.regions)
	l.grow(t)
	if f.timed {
		v.setting, v.Duration = l.setting, t-f.start
		for k := range l.setting.n {
			v.Saved[k] = l.credit[k] - f.credit[k]
		}
	}
	l.children -= f.children // whoever is still running is not waited for
	parent, turn := f.parent, f.parentTurn
	f.used, f.parent, f.regions, f.children = false, nil, 0, 0
	f.turn++
	if parent == nil {
		l.parent = nil
		return v
	}
	var st Stamp
	l.stamp(t, &st)
	if !onlooker {
		l.parent, l.parentTurn = parent, turn
	}
	l.leave(parent, turn, &st, false)
	return v
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
