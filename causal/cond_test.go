package causal

import (
	"reflect"
	"sync"
	"testing"
	"time"
)

// A queue without bounds. Each of 10 elements takes 10 ms in the region to make, and 7 ms to use.
func TestCondHandsOver(t *testing.T) {
	for name, test := range map[string]struct {
		l sync.Locker
		// The lock tells more than the signal: the producer gets it after the consumer.
		producer time.Duration
	}{
		"signal":          {new(sync.Mutex), 50 * msec},
		"signal and lock": {new(Mutex), 32 * msec},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				o := watch(t)
				c := NewCond(test.l)
				queued := 0
				var done WaitGroup
				done.Go(func() {
					for range 10 {
						inRegion(10 * msec)
						c.L.Lock()
						queued++
						c.Signal()
						c.L.Unlock()
					}
					checkSaved(t, "the producer", saved(), test.producer)
				})
				done.Go(func() {
					for range 10 {
						c.L.Lock()
						for queued == 0 {
							c.Wait()
						}
						queued--
						c.L.Unlock()
						time.Sleep(7 * msec)
					}
					// The first after 5 ms, then one each 7 ms: 75 instead of 107.
					checkSaved(t, "the consumer", saved(), 32*msec)
				})
				done.Wait()
				if got := o.Setting.Counts(); got.Unattributed != 0 {
					t.Errorf("%v of waiting is not attributed, want none", time.Duration(got.Unattributed))
				}
			})
		})
	}
}

func TestCondBroadcast(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		watch(t)
		var m Mutex
		c := Cond{L: &m} // as with package sync
		open := false
		var done sync.WaitGroup
		for range 5 {
			done.Go(func() {
				m.Lock()
				defer m.Unlock()
				for !open {
					c.Wait()
				}
				checkSaved(t, "one of those who are woken", saved(), 5*msec)
			})
		}
		inRegion(10 * msec)
		m.Lock()
		open = true
		m.Unlock()
		c.Broadcast()
		done.Wait()
	})
}

func TestCondWithReadLocks(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		watch(t)
		var rw RWMutex
		c := NewCond(rw.RLocker())
		var done sync.WaitGroup
		for range 5 {
			done.Go(func() {
				c.L.Lock()
				defer c.L.Unlock()
				c.Wait()
				checkSaved(t, "one of those who are woken", saved(), 5*msec)
			})
		}
		inRegion(10 * msec)
		c.Broadcast()
		done.Wait()
	})
}

func TestCondPanics(t *testing.T) {
	for range 2 {
		used, peer := NewCond(new(Mutex)), sync.NewCond(new(sync.Mutex))
		used.Signal()
		peer.Signal()
		checkPanics(t, "Signal of a copy", copyOf(used).Signal, copyOf(peer).Signal)
		watch(t)
	}
}

// copyOf makes a copy that vet would not let pass.
func copyOf[T any](v *T) *T {
	c := reflect.New(reflect.TypeFor[T]())
	c.Elem().Set(reflect.ValueOf(v).Elem())
	return c.Interface().(*T)
}

func TestCondAllocs(t *testing.T) {
	var m Mutex
	c := NewCond(&m)
	turn, over := 0, false
	ended := make(chan struct{})
	wait := func(other int) {
		for turn == other && !over {
			c.Wait()
		}
	}
	go func() {
		defer close(ended)
		m.Lock()
		defer m.Unlock()
		for !over {
			wait(0)
			turn = 0
			c.Signal()
		}
	}()
	checkAllocs(t, func() {
		m.Lock()
		defer m.Unlock()
		turn = 1
		c.Broadcast()
		wait(1)
	})
	m.Lock()
	over = true
	c.Signal()
	m.Unlock()
	<-ended
}

func BenchmarkCond(b *testing.B) {
	peer, c := sync.NewCond(new(sync.Mutex)), NewCond(new(Mutex))
	benchmark(b, peer.Signal, c.Signal)
}
