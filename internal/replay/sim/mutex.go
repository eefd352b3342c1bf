package sim

import (
	"github.com/otelprof/otelprof/internal/replay/model"
)

// starving is after which wait for a lock it is handed over, ns: the starvation mode of sync.Mutex.
const starving = 1_000_000

// lock follows sync.Mutex: one that comes while the lock is free gets it (barging), also before one
// that is about to wake up, until one has waited for too long; then it is handed over.
func (s *Simulation) lock(b *object, i int32) bool {
	r := &s.runners[i]
	b.rests(r)
	if !r.retrying {
		if !b.held && !b.starved {
			b.held = true
			return true
		}
		r.asked = s.now
		b.queue.push(i)
		return false
	}
	b.woken = false
	if !b.held {
		b.held = true
		r.retrying = false
		return true
	}
	if s.now-r.asked > starving {
		b.starved = true
	}
	b.queue.pushFirst(i)
	return false
}

func (s *Simulation) unlock(b *object, proc int32) {
	b.held = false
	if b.queue.len() == 0 {
		b.starved = false
		return
	}
	if b.starved {
		i := b.queue.pop()
		r := &s.runners[i]
		if b.queue.len() == 0 || s.now-r.asked < starving {
			b.starved = false
		}
		b.held = true
		r.retrying = false
		s.grant(i, proc)
		return
	}
	if !b.woken {
		b.woken = true
		i := b.queue.pop()
		s.runners[i].retrying = true
		s.ready(i, proc)
	}
}

// A goroutine that comes to a sync.Mutex which another one holds first looks at it a few times
// (active spinning), while others compute and no goroutine waits for its processor. Where locks are
// held for as long as that, hardly any goroutine has to be woken up.

const (
	// mostSpins is how often, as in package sync.
	mostSpins = 4
	// spinning is for how long each time, ns: 30 pause instructions of the processor.
	spinning = 750
)

// spins has the current runner of a processor look at a lock again after a while, instead of
// waiting for it, and reports whether it does.
func (s *Simulation) spins(i, proc int32, o *instruction) bool {
	if o.kind != model.OpLock {
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
func (s *Simulation) othersRun(proc int32) bool {
	for q := range s.procs {
		if q != int(proc) && s.procs[q].current >= 0 {
			return true
		}
	}
	return false
}
