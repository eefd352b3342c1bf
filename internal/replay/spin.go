package replay

// A goroutine that comes to a sync.Mutex which another one holds first looks at it a few times (active spinning), while others compute and
// no goroutine waits for its processor. Where locks are held for as long as that, hardly any goroutine has to be woken up.

const (
	// mostSpins is how often, as in package sync.
	mostSpins = 4
	// spinning is for how long each time, ns: 30 pause instructions of the processor.
	spinning = 750
)

// spins has the current runner of a processor look at a lock again after a while, instead of waiting for it, and reports whether it does.
func (s *simulation) spins(i, proc int32, o *instruction) bool {
	if o.kind != opLock {
		return false
	}
	r, b := &s.runners[i], &s.objects[s.standIn[o.arg]]
	if r.granted || !b.held || b.starved || r.spun >= mostSpins || s.queue.len() > 0 || s.procs[proc].next >= 0 || !s.othersRun(proc) {
		r.spun = 0
		return false
	}
	if r.spun++; !r.retrying && !b.woken && b.queue.len() > 0 { // it is awake already, so that unlocking need not wake another one
		b.woken, r.wakes = true, true
	}
	s.at(spinning, happenStep, proc)
	return true
}

// rests takes back what spinning has set for a runner that has the lock, or waits for it now.
func (b *object) rests(r *runner) {
	if r.wakes {
		b.woken, r.wakes = false, false
	}
}

// othersRun reports whether another processor has a goroutine.
func (s *simulation) othersRun(proc int32) bool {
	for q := range s.procs {
		if q != int(proc) && s.procs[q].current >= 0 {
			return true
		}
	}
	return false
}
