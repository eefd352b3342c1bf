package traced

import (
	"sync"
	"sync/atomic"

	"github.com/otelprof/otelprof/internal/mark"
)

// A WaitGroup is a [sync.WaitGroup].
type WaitGroup struct {
	wg     sync.WaitGroup
	object mark.Object
}

// Add adds delta to the number of goroutines that are not done.
func (wg *WaitGroup) Add(delta int) {
	if enabled() {
		wg.object.Done(mark.Add, delta)
	}
	wg.wg.Add(delta)
}

// Done counts one more as done.
func (wg *WaitGroup) Done() { wg.Add(-1) }

// Wait waits until all are done. Whether it has to, the trace shows by what it has in between.
func (wg *WaitGroup) Wait() {
	if !enabled() {
		wg.wg.Wait()
		return
	}
	wg.object.Begin(mark.Wait, 0)
	wg.wg.Wait()
	wg.object.Done(mark.Wait, 0)
}

// A Once is a [sync.Once]. In a trace it is a mutex, which is held while the function runs.
type Once struct {
	mu   Mutex
	done atomic.Bool
}

// Do calls f if it is the first call for o, and otherwise waits until the first has returned.
func (o *Once) Do(f func()) {
	if !o.done.Load() {
		o.do(f)
	}
}

func (o *Once) do(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.done.Load() {
		defer o.done.Store(true) // also if f panics
		f()
	}
}

// A Cond is a [sync.Cond] whose L is given to Init.
type Cond struct {
	l      sync.Locker
	cond   sync.Cond
	object mark.Object
}

// Init sets the lock. It comes before the first Wait.
func (c *Cond) Init(l sync.Locker) { c.l, c.cond.L = l, (*unlocker)(c) }

// Wait unlocks the lock and waits for Signal or Broadcast. Unlike that of package sync it does not
// lock again.
func (c *Cond) Wait() {
	c.cond.Wait()
	if enabled() {
		c.object.Done(mark.Await, 0)
	}
}

// Signal wakes one goroutine that waits for c, if there is any.
func (c *Cond) Signal() {
	if enabled() {
		c.object.Done(mark.Signal, 0)
	}
	c.cond.Signal()
}

// Broadcast wakes all goroutines that wait for c.
func (c *Cond) Broadcast() {
	if enabled() {
		c.object.Done(mark.Broadcast, 0)
	}
	c.cond.Broadcast()
}

// An unlocker is the lock that the condition of package sync has. To unlock is an operation of its
// own, after which the wait begins. It does not lock.
type unlocker Cond

func (u *unlocker) Lock() {}

func (u *unlocker) Unlock() {
	u.l.Unlock()
	if enabled() {
		u.object.Begin(mark.Await, 0)
	}
}
