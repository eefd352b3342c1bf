package causal

import (
	"sync"
	"testing"
	"time"
)

// Two others have the lock until 10 and 11 ms. The main goroutine computes in the region for
// 12 ms, which would be 6, and then wants the lock.
func TestRWMutexHandsOver(t *testing.T) {
	write := func(rw *RWMutex) sync.Locker { return rw }
	read := func(rw *RWMutex) sync.Locker { return rw.RLocker() }
	for _, test := range []struct {
		name         string
		first, later func(*RWMutex) sync.Locker
		want         time.Duration
	}{
		{"from writer to writer", write, write, 1 * msec},
		{"from writer to reader", write, read, 1 * msec},
		{"from readers to writer", read, write, 1 * msec},
		{"from reader to reader", read, read, 6 * msec},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				watch(t)
				var rw RWMutex
				first := test.first(&rw)
				for _, at := range []time.Duration{11 * msec, 10 * msec} {
					go func() {
						// Writers may not wait for each other in a bubble.
						time.Sleep(at - msec/2)
						first.Lock()
						time.Sleep(msec / 2)
						first.Unlock()
					}()
				}
				inRegion(12 * msec)
				lock := test.later(&rw)
				lock.Lock()
				checkSaved(t, "the next one", saved(), test.want)
				lock.Unlock()
			})
		})
	}
}

func TestRWMutexTry(t *testing.T) {
	for range 2 {
		var rw RWMutex
		for range 2 {
			if !rw.TryRLock() {
				t.Error("a reader does not get the lock beside another")
			}
		}
		if rw.TryLock() {
			t.Error("a writer gets the lock beside readers")
		}
		rw.RUnlock()
		rw.RUnlock()
		if !rw.TryLock() || rw.TryRLock() || rw.TryLock() {
			t.Error("one writer must get the lock, and then no other")
		}
		rw.Unlock()
		watch(t)
	}
}

func TestRWMutexAllocs(t *testing.T) {
	var rw RWMutex
	checkAllocs(t, func() {
		rw.Lock()
		rw.Unlock() //nolint:staticcheck // empty on purpose
		rw.RLock()
		rw.RUnlock() //nolint:staticcheck // empty on purpose
	})
}

func BenchmarkRWMutex(b *testing.B) {
	var peer sync.RWMutex
	var rw RWMutex
	b.Run("write", func(b *testing.B) {
		benchmark(b,
			func() { peer.Lock(); peer.Unlock() }, //nolint:staticcheck // empty on purpose
			func() { rw.Lock(); rw.Unlock() })     //nolint:staticcheck // empty on purpose
	})
	b.Run("read", func(b *testing.B) {
		benchmark(b,
			func() { peer.RLock(); peer.RUnlock() }, //nolint:staticcheck // empty on purpose
			func() { rw.RLock(); rw.RUnlock() })     //nolint:staticcheck // empty on purpose
	})
}
