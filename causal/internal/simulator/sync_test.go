package simulator

import (
	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/mark"
)

// A WaitGroup waits for some to be done.
type WaitGroup struct {
	// Plain is true if it reports to no ledger, as that of package sync.
	Plain bool

	left    int
	waiters []*Goroutine
	stamp   ledger.Stamp
	number  uint64
}

// Add says that n more are not done. G is nil before the world begins.
func (wg *WaitGroup) Add(g *Goroutine, n int) {
	if g != nil {
		g.world.tape.operate(g, mark.Add, &wg.number, int64(n))
	}
	wg.left += n
}

// Done says that one is.
func (wg *WaitGroup) Done(g *Goroutine) {
	if !wg.Plain {
		g.payFirst()
		var st ledger.Stamp
		g.stamp(&st)
		wg.stamp.Merge(&st)
	}
	g.world.tape.operate(g, mark.Add, &wg.number, -1)
	if wg.left--; wg.left == 0 {
		wakeAll(g.world, &wg.waiters)
	}
}

// Wait waits until all are done.
func (wg *WaitGroup) Wait(g *Goroutine) {
	at, waited := g.Now(), wg.left > 0
	if waited {
		if !wg.Plain {
			g.arrive(at)
		}
		wg.waiters = append(wg.waiters, g)
		g.world.tape.operate(g, mark.Wait.Beginning(), &wg.number, 0)
		g.park()
	}
	g.world.tape.operate(g, mark.Wait, &wg.number, 0)
	if !wg.Plain {
		g.acquire(at, &wg.stamp, waited)
	}
}

// A Cond lets goroutines wait for a signal.
type Cond struct {
	L       *Mutex
	waiters []*condWaiter
	number  uint64
}

type condWaiter struct {
	g     *Goroutine
	stamp ledger.Stamp
}

// Wait gives the lock back, waits for a signal and takes the lock again.
func (c *Cond) Wait(g *Goroutine) {
	self := &condWaiter{g: g}
	c.waiters = append(c.waiters, self)
	c.L.unlock(g)
	at := g.Now()
	g.arrive(at)
	g.world.tape.operate(g, mark.Await.Beginning(), &c.number, 0)
	g.park()
	g.world.tape.operate(g, mark.Await, &c.number, 0)
	g.acquire(at, &self.stamp, true)
	c.L.Lock(g)
}

// Signal lets one of the goroutines that wait go on.
func (c *Cond) Signal(g *Goroutine) {
	g.world.tape.operate(g, mark.Signal, &c.number, 0)
	c.signal(g, min(1, len(c.waiters)))
}

// Broadcast lets all of them go on.
func (c *Cond) Broadcast(g *Goroutine) {
	g.world.tape.operate(g, mark.Broadcast, &c.number, 0)
	c.signal(g, len(c.waiters))
}

func (c *Cond) signal(g *Goroutine, n int) {
	g.payFirst()
	n = min(n, len(c.waiters)) // some may have left meanwhile
	for _, next := range c.waiters[:n] {
		g.stamp(&next.stamp)
		g.world.ready(next.g)
	}
	c.waiters = c.waiters[n:]
}

// A Once runs a function for the first caller. Others wait until that has ended.
type Once struct {
	begun, done bool
	waiters     []*Goroutine
	stamp       ledger.Stamp
	number      uint64
}

// Do runs f, or waits for it.
func (o *Once) Do(g *Goroutine, f func()) {
	if !o.begun {
		o.begun = true
		g.world.tape.operate(g, mark.Lock, &o.number, 0) // it is a lock
		f()
		g.payFirst()
		g.world.tape.operate(g, mark.Unlock, &o.number, 0)
		o.done = true
		g.stamp(&o.stamp)
		wakeAll(g.world, &o.waiters)
		return
	}
	at, waited := g.Now(), !o.done
	if waited {
		g.arrive(at)
		o.waiters = append(o.waiters, g)
		g.world.tape.operate(g, mark.Lock.Beginning(), &o.number, 0)
		g.park()
		g.world.tape.operate(g, mark.Lock, &o.number, 0)
		g.world.tape.operate(g, mark.Unlock, &o.number, 0)
	}
	g.acquire(at, &o.stamp, waited)
}

func wakeAll(w *World, waiters *[]*Goroutine) {
	for _, g := range *waiters {
		w.ready(g)
	}
	*waiters = nil
}
