package ledger

// A Stamp is the sending side of a happens-before edge: what one goroutine leaves for the next at a
// released lock, a sent value, a closed channel. It holds the real time and the virtual one. The
// zero Stamp has neither. It is a plain value; its holder guards it, with the very lock for
// example.
type Stamp struct {
	serial uint64 // of the setting, 0 for none: a stamp keeps no setting in memory
	t      int64
	v      int64
}

// of reports whether the stamp was left in the setting.
func (s *Stamp) of(in *Setting) bool { return s.serial != 0 && s.serial == in.serial }

// Merge makes s the stamp of both having happened: the later of each time.
func (s *Stamp) Merge(other *Stamp) {
	switch {
	case other.serial < s.serial:
	case other.serial > s.serial:
		*s = *other
	default:
		s.t = max(s.t, other.t)
		s.v = max(s.v, other.v)
	}
}

// Stamp writes the ledger's times to st: call it just before the lock is released or the
// value sent.
func (l *Ledger) Stamp(s *Setting, t int64, st *Stamp) {
	if l == nil {
		*st = Stamp{}
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.event(s, t)
	l.stamp(t, st)
}

// stamp is Stamp for a ledger that is settled at t.
func (l *Ledger) stamp(t int64, st *Stamp) {
	st.serial, st.t, st.v = l.setting.serial, t, t-l.credit
}

// Arrive notes that the goroutine is about to wait for another one. Acquire or Resume follows.
func (l *Ledger) Arrive(s *Setting, t int64) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.event(s, t)
	l.suspend(t)
	l.waiting = true
	if g := l.setting.growth; g != nil {
		l.grown = g.At(t)
	}
}

// Acquire notes that the goroutine has got, at t, what it asked for at ta, whether it had to
// wait or not, and that st was left there. It takes over the virtual time at which that
// was to be had. The time that it took to wake up counts as time, not as credit.
func (l *Ledger) Acquire(s *Setting, ta, t int64, st *Stamp) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sync(s, ta)
	if !l.waiting && l.pending && l.children == 0 && l.left.t <= ta { // it did not wait here, but before
		l.joinChildren(ta)
	}
	l.arrived(s, ta)
	if l.waiting {
		l.aside += max(0, t-ta)
	}
	c := &l.setting.counts
	switch {
	case st.of(l.setting):
		if l.waiting {
			c.attributed.Add(t - ta)
		}
		l.join(ta, t, st)
	case l.waiting:
		c.unattributed.Add(t - ta)
	}
	l.resume(t)
}

// Resume notes that a wait which began at ta is over at t, and that it is unknown which goroutine
// ended it. The virtual time goes on as the real one. Delays of the meantime are
// forgiven: that goroutine has paid them.
func (l *Ledger) Resume(s *Setting, ta, t int64) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.arrived(s, ta)
	if l.waiting {
		l.aside += max(0, t-ta)
	}
	if l.waiting { // or else the goroutine has met another one meanwhile
		l.setting.counts.unattributed.Add(t - ta)
		if g := l.setting.growth; g != nil {
			l.credit += g.At(t) - l.grown
		}
	}
	l.resume(t)
}

// arrived is the state at the beginning of a wait that is over.
func (l *Ledger) arrived(s *Setting, ta int64) {
	l.sync(s, ta)
	l.settle(ta)
	l.suspend(ta)
	// This wait is known better than what could be guessed from the children.
	l.pending = false
}

func (l *Ledger) resume(t int64) {
	l.since, l.last, l.waiting = t, t, false
	l.grow(t)
}

// join takes over a stamp of the setting. The ledger is settled at ta.
//
//	v = max(ta - L, u) + (t - max(ta, tu)),  L = t - v
//
// u and tu are the stamp's times. Before it could go on, both had to be there: the goroutine
// itself, at ta, and what it waited for. The last term is the time from then until it really went
// on.
func (l *Ledger) join(ta, t int64, st *Stamp) {
	if l.setting.growth == nil {
		return // what saves nothing has nothing to hand over
	}
	late := max(0, t-max(ta, st.t)) // a caller that asks for children, or meets at a channel, has read the clock before
	l.credit = t - (max(ta-l.credit, st.v) + late)
}
