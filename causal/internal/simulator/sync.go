package simulator

import "github.com/otelprof/otelprof/causal/internal/ledger"

// A WaitGroup waits for some to be done.
type WaitGroup struct {
	// Plain is true if no ledger is told, as with that of package sync.
	Plain bool

	left    int
	waiters []*Goroutine
	stamp   ledger.Stamp
}

// Add says that n more are not done.
func (wg *WaitGroup) Add(n int) { wg.left += n }

// Done says that one is.
func (wg *WaitGroup) Done(g *Goroutine) {
	if !wg.Plain {
		g.payFirst()
		var st ledger.Stamp
		g.stamp(&st)
		wg.stamp.Merge(&st)
	}
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
		g.park()
	}
	if !wg.Plain {
		g.acquire(at, &wg.stamp, waited)
	}
}

// A Cond lets goroutines wait for a signal.
type Cond struct {
	L       *Mutex
	waiters []*condWaiter
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
	g.park()
	g.acquire(at, &self.stamp, true)
	c.L.Lock(g)
}

// Signal lets one of those who wait go on.
func (c *Cond) Signal(g *Goroutine) { c.signal(g, min(1, len(c.waiters))) }

// Broadcast lets all of them go on.
func (c *Cond) Broadcast(g *Goroutine) { c.signal(g, len(c.waiters)) }

func (c *Cond) signal(g *Goroutine, n int) {
	g.payFirst()
	n = min(n, len(c.waiters)) // some may have left meanwhile
	for _, next := range c.waiters[:n] {
		g.stamp(&next.stamp)
		g.world.ready(next.g)
	}
	c.waiters = c.waiters[n:]
}

// A Once runs a function for the first who asks. Others wait until that has ended.
type Once struct {
	begun, done bool
	waiters     []*Goroutine
	stamp       ledger.Stamp
}

// Do runs f, or waits for it.
func (o *Once) Do(g *Goroutine, f func()) {
	if !o.begun {
		o.begun = true
		f()
		g.payFirst()
		o.done = true
		g.stamp(&o.stamp)
		wakeAll(g.world, &o.waiters)
		return
	}
	at, waited := g.Now(), !o.done
	if waited {
		g.arrive(at)
		o.waiters = append(o.waiters, g)
		g.park()
	}
	g.acquire(at, &o.stamp, waited)
}

func wakeAll(w *World, waiters *[]*Goroutine) {
	for _, g := range *waiters {
		w.ready(g)
	}
	*waiters = nil
}
