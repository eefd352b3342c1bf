package causal

import (
	"sync"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/virtualtime"
	"github.com/otelprof/otelprof/internal/clock"
)

// One goroutine has the lock for 10 ms. Another computes in the region for 12 ms meanwhile, which
// would be 6 in virtual time, and then locks: not before the first has unlocked, at 10.
func TestMutexHandsOver(t *testing.T) {
	for name, lock := range map[string]func(*Mutex){
		"Lock":    (*Mutex).Lock,
		"TryLock": func(m *Mutex) { m.TryLock() },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				watch(t)
				var m Mutex
				go func() {
					m.Lock()
					time.Sleep(10 * msec)
					m.Unlock()
				}()
				inRegion(12 * msec)
				checkSaved(t, "before", saved(), 6*msec)
				lock(&m)
				checkSaved(t, "the next one", saved(), 2*msec)
				m.Unlock()
			})
		})
	}
}

// The holder of the lock is in the region, so a goroutine that waits for it gains as much. In real
// time, since a lock does not stop the time of a bubble.
func TestMutexHandsOverToWhoWaits(t *testing.T) {
	o := watch(t)
	var m Mutex
	m.Lock()
	begun, gained := make(chan struct{}), make(chan time.Duration)
	go func() {
		at := clock.Now()
		virtualtime.Here() // begins its ledger
		close(begun)
		m.Lock()
		defer m.Unlock()
		waited := time.Duration(clock.Now() - at)
		gained <- saved() - waited/2
	}()
	<-begun
	inRegion(30 * msec)
	m.Unlock()
	if diff := <-gained; diff < -10*msec || diff > 10*msec {
		t.Errorf("the next one has saved %v more than half of what it waited, want about as much", diff)
	}
	if c := o.Setting.Counts(); c.Attributed < int64(10*msec) || c.Unattributed > 0 {
		t.Errorf("counts %+v, want a wait of 30 ms that is attributed", c)
	}
}

func TestMutexTryLock(t *testing.T) {
	for range 2 {
		var m Mutex
		if !m.TryLock() || m.TryLock() {
			t.Error("TryLock must succeed once")
		}
		m.Unlock()
		if !m.TryLock() {
			t.Error("TryLock must succeed after Unlock")
		}
		m.Unlock()
		watch(t)
	}
}

func TestMutexAllocs(t *testing.T) {
	var m Mutex
	checkAllocs(t, func() {
		m.Lock()
		m.Unlock() //nolint:staticcheck // empty on purpose
		if m.TryLock() {
			m.Unlock()
		}
	})
}

func BenchmarkMutex(b *testing.B) {
	var peer sync.Mutex
	var m Mutex
	benchmark(b,
		func() { peer.Lock(); peer.Unlock() }, //nolint:staticcheck // empty on purpose
		func() { m.Lock(); m.Unlock() })       //nolint:staticcheck // empty on purpose
}
