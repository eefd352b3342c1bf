package simulator

import (
	"slices"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/mark"
)

// A Mutex is a lock for one.
type Mutex struct {
	// Barging is true if a goroutine that comes when the lock is free gets it, before those that
	// are still waking up; otherwise the lock is handed over to the first that waits.
	Barging bool

	starved bool // the lock is handed over
	woken   bool // one that has waited is waking up
	number  uint64
	owner   *Goroutine
	waiters []mutexWaiter
	stamp   ledger.Stamp
}

type mutexWaiter struct {
	g     *Goroutine
	since int64
}

// Lock waits until the goroutine has the lock.
func (m *Mutex) Lock(g *Goroutine) {
	at, waited := m.take(g, func(at int64) {
		g.arrive(at)
		g.world.tape.operate(g, mark.Lock.Beginning(), &m.number, 0)
	})
	g.world.tape.operate(g, mark.Lock, &m.number, 0)
	g.acquire(at, &m.stamp, waited)
}

// take waits until the goroutine has the lock, and returns since when and whether it has waited. It
// calls waits before that.
func (m *Mutex) take(g *Goroutine, waits func(at int64)) (at int64, waited bool) {
	if g.world.config.Go {
		m.spin(g, true)
	}
	at, waited = g.Now(), m.owner != nil || m.starved
	if waited {
		waits(at)
		m.waiters = append(m.waiters, mutexWaiter{g, at})
		for m.wait(g); m.owner != nil && m.owner != g; m.wait(g) {
			m.woken = false
			m.starved = m.starved || g.world.config.Go && g.Now()-at > Millisecond
			m.waiters = slices.Insert(m.waiters, 0, mutexWaiter{g, at})
		}
		m.woken = false
	}
	m.owner = g
	return at, waited
}

// wait waits to be woken up, and looks at the lock for a while then.
func (m *Mutex) wait(g *Goroutine) {
	if g.park(); g.world.config.Go && m.owner != g {
		m.spin(g, false)
	}
}

// spin looks at a lock that another goroutine has a few times, as in Go. A goroutine that comes,
// and has not been woken up, keeps others from that.
func (m *Mutex) spin(g *Goroutine, comes bool) {
	kept := false
	for n := 0; n < spins && m.owner != nil && !m.starved && g.world.canSpin(g); n++ {
		if comes && !m.woken && len(m.waiters) > 0 {
			m.woken, kept = true, true
		}
		g.busy(pause)
	}
	if kept {
		m.woken = false
	}
}

// Unlock gives the lock back.
func (m *Mutex) Unlock(g *Goroutine) {
	g.payFirst()
	m.unlock(g)
}

func (m *Mutex) unlock(g *Goroutine) {
	g.world.tape.operate(g, mark.Unlock, &m.number, 0)
	g.stamp(&m.stamp)
	m.release(g)
}

// release gives the lock back, and the CPU with it where the lock is handed over in Go.
func (m *Mutex) release(g *Goroutine) {
	m.owner = nil
	if len(m.waiters) == 0 {
		m.starved = false
		return
	}
	if m.woken && g.world.config.Go {
		return
	}
	next := m.waiters[0]
	m.waiters = m.waiters[1:]
	yields := m.starved
	switch {
	case m.starved:
		m.starved = len(m.waiters) > 0 && g.Now()-next.since > Millisecond
		m.owner = next.g
	case m.Barging || g.world.config.Go:
		m.woken = true
	default:
		m.owner = next.g
	}
	g.world.ready(next.g)
	if yields && g.world.config.Go {
		g.reschedule()
	}
}

// An RWMutex is a lock for one writer or many readers. As in Go a writer that waits keeps new
// readers out, and one that is done lets all readers in that wait by then. With [Config.Go] writers
// compete for a Mutex within.
type RWMutex struct {
	within  Mutex
	drains  *Goroutine // has the Mutex, and waits for readers
	writing bool
	reading int
	writers []*Goroutine // that wait
	readers []*Goroutine
	written ledger.Stamp // of the last writer
	read    ledger.Stamp // of the readers since then
	number  uint64
}

// Lock waits until the goroutine is the only one that has the lock.
func (m *RWMutex) Lock(g *Goroutine) {
	if g.world.config.Go {
		m.compete(g)
		return
	}
	at, waited := g.Now(), m.writing || m.reading > 0 || len(m.writers) > 0
	if waited {
		g.arrive(at)
		g.world.tape.operate(g, mark.WriteLock.Beginning(), &m.number, 0)
		m.writers = append(m.writers, g)
		g.park()
	}
	g.world.tape.operate(g, mark.WriteLock, &m.number, 0)
	m.writing = true
	st := m.written
	st.Merge(&m.read)
	g.acquire(at, &st, waited)
}

// compete is Lock in Go.
func (m *RWMutex) compete(g *Goroutine) {
	waits := func(at int64) {
		g.arrive(at)
		g.world.tape.operate(g, mark.WriteLock.Beginning(), &m.number, 0)
	}
	at, waited := m.within.take(g, waits)
	m.writing = true
	if m.reading > 0 {
		if !waited {
			waits(at)
		}
		m.drains, waited = g, true
		g.park()
	}
	g.world.tape.operate(g, mark.WriteLock, &m.number, 0)
	st := m.written
	st.Merge(&m.read)
	g.acquire(at, &st, waited)
}

// Unlock gives the writer's lock back.
func (m *RWMutex) Unlock(g *Goroutine) {
	g.payFirst()
	g.world.tape.operate(g, mark.WriteUnlock, &m.number, 0)
	g.stamp(&m.written)
	m.read = ledger.Stamp{}
	m.writing = false
	m.reading += len(m.readers)
	wakeAll(g.world, &m.readers)
	if g.world.config.Go {
		m.within.release(g)
		return
	}
	m.admit(g.world)
}

// RLock waits until no writer has the lock, or waits for it.
func (m *RWMutex) RLock(g *Goroutine) {
	at, waited := g.Now(), m.writing || len(m.writers) > 0
	if waited {
		g.arrive(at)
		g.world.tape.operate(g, mark.ReadLock.Beginning(), &m.number, 0)
		m.readers = append(m.readers, g)
		g.park()
	} else {
		m.reading++
	}
	g.world.tape.operate(g, mark.ReadLock, &m.number, 0)
	g.acquire(at, &m.written, waited)
}

// RUnlock gives a reader's lock back.
func (m *RWMutex) RUnlock(g *Goroutine) {
	g.payFirst()
	g.world.tape.operate(g, mark.ReadUnlock, &m.number, 0)
	var st ledger.Stamp
	g.stamp(&st)
	m.read.Merge(&st)
	if m.reading--; m.reading == 0 && m.drains != nil {
		g.world.ready(m.drains)
		m.drains = nil
	}
	if !g.world.config.Go {
		m.admit(g.world)
	}
}

// admit lets a writer in if none is in the way.
func (m *RWMutex) admit(w *World) {
	if m.writing || m.reading > 0 || len(m.writers) == 0 {
		return
	}
	next := m.writers[0]
	m.writers = m.writers[1:]
	m.writing = true
	w.ready(next)
}
