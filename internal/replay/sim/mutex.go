package sim

import (
	"github.com/otelprof/otelprof/internal/replay/model"
)

// A sync.Mutex is not fair: it lets goroutines overtake (barging), and only hands over to one that
// has waited for too long (starvation mode). Which of the two holds decides the throughput of a
// contended lock. A fair lock costs a wake-up each time (lock convoy):
//
//	barging      A  holds | computes | holds again |
//	             B        ^ woken ....... runs, finds it taken, waits at the front
//	handed over  A  holds | computes | waits for B ......
//	             B        ^ owns it, wakes up .. | holds |
//
// The rules are those of lockSlow and unlockSlow in internal/sync/mutex.go: a lock that is given
// back wakes the first that waits, but is free; a goroutine that is woken tries again, and waits at
// the front if it loses; no second one is woken while one is on its way (mutexWoken). In starvation
// mode the lock goes to the first that waits, and others queue, even if it seems free. That ends
// with a goroutine that has not waited for so long, or the last one.
//
// The goroutine that unlocks then yields its processor to the one that gets the lock (semrelease1
// with handoff, goyield in runtime/sema.go). One thing differs: a waiting goroutine's age is looked
// at when the lock is handed over, and not when it wakes up, which is later by a wake-up.

// starving is after which wait for a lock it is handed over, ns: starvationThresholdNs in
// internal/sync/mutex.go. With a longer time fewer hand-overs cost a wake-up, and single waits are
// longer.
const starving = 1_000_000

// lock has a runner take a lock, or reports that it must wait for it. A runner that has been woken
// (retrying) comes here again from where it waits; one that was handed the lock does not, see
// runner.granted.
func (s *Simulation) lock(b *object, i int32) bool {
	r := &s.runners[i]
	b.rests(r)
	// One that comes new may overtake all that wait, unless one of them starves.
	if !r.retrying {
		if !b.held && !b.starved {
			b.held = true
			return true
		}
		r.asked = s.now
		b.queue.push(i)
		return false
	}
	// One that has been woken competes. From here on the next unlock may wake another one.
	b.woken = false
	if !b.held {
		b.held = true
		r.retrying = false
		return true
	}
	// It has lost. Its wait counts from when it first came, however often it has been woken, and it
	// keeps its place at the front.
	if s.now-r.asked > starving {
		b.starved = true
	}
	b.queue.pushFirst(i)
	return false
}

// unlock gives a lock back, by a runner on a processor, and reports whether that yields to the one
// that it has handed the lock to. The Mutex of an RWMutex (within) is handed to a writer that has
// to wait for readers yet. Unlocking a lock that is free is no error here, where Go ends the
// program: a recording may lack the operation that locked it.
func (s *Simulation) unlock(b *object, proc int32, within bool) (yields bool) {
	b.held = false
	if b.queue.len() == 0 {
		b.starved = false
		return false
	}
	// The lock is handed over: it is held all the time, so that no other one can come between.
	if b.starved {
		i := b.queue.pop()
		r := &s.runners[i]
		if b.queue.len() == 0 || s.now-r.asked < starving {
			b.starved = false
		}
		b.held = true
		if r.retrying = within; within {
			r.owns = true
			s.ready(i, proc)
		} else {
			s.grant(i, proc)
		}
		return true
	}
	// Else it is free, and one is woken that tries for it, unless one is on its way or spins.
	if !b.woken {
		b.woken = true
		i := b.queue.pop()
		s.runners[i].retrying = true
		s.ready(i, proc)
	}
	return false
}

// A goroutine that comes to a sync.Mutex which another one holds first looks at it a few times
// (active spinning), while others compute and no goroutine waits for its processor. Where locks are
// held for as long as that, hardly any goroutine has to be woken up. So a few µs decide between no
// cost and a lock convoy: TestSpins, where a wake-up takes 50 µs, has goroutines that come up to 3
// µs before a lock is free get it, and earlier ones wait, and come late again and again.

const (
	// mostSpins is how often a goroutine looks: active_spin in runtime/lock_spinbit.go, which
	// sync.Mutex asks by runtime_canSpin.
	mostSpins = 4
	// spinning is for how long each time, ns: active_spin_cnt, 30, pause instructions of the
	// processor (procyield). Their length differs by processor; with longer ones more short waits
	// would end without a wake-up.
	spinning = 750
)

// spins has the current runner of a processor look at a lock again after a while, instead of
// waiting for it, and reports whether it does. It follows runtime_canSpin: not while the processor
// has other goroutines to run, and not unless another one runs a goroutine, which may be the one
// that holds the lock. The run queue of the simulation stands for that of the processor. A runner
// that gives up, or finds the lock free, begins to count anew the next time.
func (s *Simulation) spins(i, proc int32, o *instruction) bool {
	if o.kind != model.OpLock && o.kind != model.OpWriteLock {
		return false
	}
	r, b := &s.runners[i], &s.objects[s.standIn[o.arg]]
	if r.granted || r.owns || !b.held || b.starved || r.spun >= mostSpins || s.queueOf(proc).len() > 0 || s.procs[proc].next >= 0 || !s.othersRun(proc) {
		r.spun = 0
		return false
	}
	// It is awake, so that unlocking need not wake another one: it sets mutexWoken, as lockSlow
	// does.
	if r.spun++; !r.retrying && !b.woken && b.queue.len() > 0 {
		b.woken, r.wakes = true, true
	}
	s.at(spinning, happenStep, proc)
	return true
}

// rests takes back what spinning has set for a runner that has the lock, or waits for it now: else
// no unlock would ever wake another one.
func (b *object) rests(r *runner) {
	if r.wakes {
		b.woken, r.wakes = false, false
	}
}

// othersRun reports whether another processor of the process has a goroutine. It is linear in
// these.
func (s *Simulation) othersRun(proc int32) bool {
	m := &s.processes[s.procs[proc].home]
	for q := m.from; q < m.to; q++ {
		if q != proc && s.procs[q].current >= 0 {
			return true
		}
	}
	return false
}
