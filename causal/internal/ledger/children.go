package ledger

// A span whose children run on other goroutines waits for them, as a rule, but in a way that
// is not reported: a WaitGroup of package sync, say. What can be seen is that the last
// child ends, and that the parent has its next event after that. So if, at that event,
// no child is open any more, the parent is taken to have waited since the one before.
//
// A parent that has gone on working meanwhile, without a span, is credited with what it has not
// saved; so a reported wait takes its place.

// adopt notes that a span has begun below f, on another goroutine. It returns whether f is in the
// region: what is within a region is part of it, wherever it runs, and what is beside it is not.
func (f *Frame) adopt(s *Setting, t int64) (inside bool, turn uint32) {
	l := f.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if !f.used {
		return false, f.turn - 1 // it has ended before its child began: no frame's turn
	}
	if l.gone.Load() {
		return l.within(s), f.turn - 1
	}
	l.sync(s, t)
	f.children++
	l.children++
	return f.inside || f.below, f.turn
}

// TakeOver notes that the goroutine has waited, since its last event, for what the goroutine of a
// span has sent it: a request to a server in the same process. It goes on, at t, at the virtual
// time of that one.
func (l *Ledger) TakeOver(s *Setting, t int64, from *Frame) {
	if l == nil || l.gone.Load() || l == from.ledger {
		return
	}
	st := from.sent(s, t)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.event(s, l.last)
	if st.of(l.setting) && l.depth == 0 {
		l.join(min(l.last, t), t, &st)
	}
	l.last = t
}

// sent is the stamp of what the span's goroutine has sent, which has waited for the answer since.
func (f *Frame) sent(s *Setting, t int64) Stamp {
	l := f.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sync(s, t)
	return Stamp{l.setting.serial, t, t - l.creditAt(t)}
}

// childEnded takes what a child of f has left.
func (f *Frame) childEnded(turn uint32, st *Stamp) {
	l := f.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.turn != turn || f.children == 0 {
		return
	}
	f.children--
	l.children--
	if !st.of(l.setting) {
		return
	}
	if !l.pending {
		l.pending, l.left = true, *st
		return
	}
	l.left.Merge(st)
}

// joinChildren joins what children have left when all have ended.
func (l *Ledger) joinChildren(t int64) {
	l.pending = false
	l.setting.counts.attributed.Add(max(0, l.left.t-l.last))
	l.join(l.last, t, &l.left)
	l.since = t // what happened in between is in the stamps
	l.grow(t)
}

// paidSince lets the parent of the span that has ended last know that its goroutine has paid for
// it until t: a goroutine that waits for the one waits for the other.
func (l *Ledger) paidSince(s *Setting, t int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	parent, turn := l.parent, l.parentTurn
	l.parent = nil
	if parent == nil || l.setting != s {
		return
	}
	var st Stamp
	l.stamp(t, &st)
	l.leave(parent, turn, &st, true)
}

// childPaid takes what a child of f that has ended has left, now that it has paid.
func (f *Frame) childPaid(turn uint32, st *Stamp) {
	l := f.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.turn == turn && l.pending && st.of(l.setting) {
		l.left.Merge(st)
	}
}

// leave gives a stamp to the parent of a span, on another goroutine: when the span ends, or when
// it has been paid for. The lock of l is released meanwhile, since a span of l may be the parent
// of one over there.
func (l *Ledger) leave(parent *Frame, turn uint32, st *Stamp, paid bool) {
	l.mu.Unlock()
	defer l.mu.Lock() // also after a panic: the caller will release it
	if paid {
		parent.childPaid(turn, st)
	} else {
		parent.childEnded(turn, st)
	}
}
