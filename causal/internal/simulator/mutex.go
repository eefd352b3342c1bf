package simulator

import (
	"slices"

	"github.com/otelprof/otelprof/causal/internal/ledger"
)

// A Mutex is a lock for one.
type Mutex struct {
	// Barging is true if whoever comes when the lock is free gets it, before those who are
	// still waking up; otherwise the lock goes from hand to hand.
	Barging bool

	owner   *Goroutine
	waiters []*Goroutine
	stamp   ledger.Stamp
}

// Lock waits until the goroutine has the lock.
func (m *Mutex) Lock(g *Goroutine) {
	at, waited := g.Now(), m.owner != nil
	if waited {
		g.arrive(at)
		m.waiters = append(m.waiters, g)
		for g.park(); m.owner != nil && m.owner != g; g.park() {
			m.waiters = slices.Insert(m.waiters, 0, g)
		}
	}
	m.owner = g
	g.acquire(at, &m.stamp, waited)
}

// Unlock gives the lock back.
func (m *Mutex) Unlock(g *Goroutine) {
	g.payFirst()
	m.unlock(g)
}

func (m *Mutex) unlock(g *Goroutine) {
	g.stamp(&m.stamp)
	m.owner = nil
	if len(m.waiters) > 0 {
		next := m.waiters[0]
		m.waiters = m.waiters[1:]
		if !m.Barging {
			m.owner = next
		}
		g.world.ready(next)
	}
}

// An RWMutex is a lock for one writer or many readers, each in the order in which they come.
type RWMutex struct {
	writing bool
	reading int
	waiters []rwWaiter
	written ledger.Stamp // of the last writer
	read    ledger.Stamp // of the readers since then
}

type rwWaiter struct {
	g     *Goroutine
	write bool
}

// Lock waits until the goroutine is the only one that has the lock.
func (m *RWMutex) Lock(g *Goroutine) {
	at, waited := g.Now(), m.writing || m.reading > 0 || len(m.waiters) > 0
	if waited {
		g.arrive(at)
		m.waiters = append(m.waiters, rwWaiter{g, true})
		g.park()
	} else {
		m.writing = true
	}
	st := m.written
	st.Merge(&m.read)
	g.acquire(at, &st, waited)
}

// Unlock gives the writer's lock back.
func (m *RWMutex) Unlock(g *Goroutine) {
	g.payFirst()
	g.stamp(&m.written)
	m.read = ledger.Stamp{}
	m.writing = false
	m.admit(g.world)
}

// RLock waits until no writer has the lock.
func (m *RWMutex) RLock(g *Goroutine) {
	at, waited := g.Now(), m.writing || len(m.waiters) > 0
	if waited {
		g.arrive(at)
		m.waiters = append(m.waiters, rwWaiter{g, false})
		g.park()
	} else {
		m.reading++
	}
	g.acquire(at, &m.written, waited)
}

// RUnlock gives a reader's lock back.
func (m *RWMutex) RUnlock(g *Goroutine) {
	g.payFirst()
	var st ledger.Stamp
	g.stamp(&st)
	m.read.Merge(&st)
	m.reading--
	m.admit(g.world)
}

// admit lets those in whose turn it is.
func (m *RWMutex) admit(w *World) {
	for len(m.waiters) > 0 && !m.writing {
		next := m.waiters[0]
		if next.write && m.reading > 0 {
			return
		}
		m.waiters = m.waiters[1:]
		if next.write {
			m.writing = true
		} else {
			m.reading++
		}
		w.ready(next.g)
	}
}
