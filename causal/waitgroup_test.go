package causal

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/virtualtime"
)

func TestWaitGroupHandsOver(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		o := watch(t)
		var wg WaitGroup
		// The longer one would take 5 ms, so it is the shorter one that counts.
		wg.Go(func() { inRegion(10 * msec) })
		wg.Go(func() { time.Sleep(7 * msec) })
		wg.Wait()
		checkSaved(t, "after 10 ms", saved(), 3*msec)

		// The goroutines that began the work have waited for it, so it is over: 2 ms more are
		// saved.
		wg.Go(func() { inRegion(4 * msec) })
		wg.Wait()
		checkSaved(t, "after 14 ms", saved(), 5*msec)

		// Several may wait.
		var waiters WaitGroup
		wg.Go(func() { inRegion(6 * msec) })
		for range 3 {
			waiters.Go(func() {
				wg.Wait()
				checkSaved(t, "one of those who wait", saved(), 8*msec)
			})
		}
		wg.Wait()
		checkSaved(t, "after 20 ms", saved(), 8*msec)
		waiters.Wait()

		if c := o.Setting.Counts(); c.Unattributed != 0 {
			t.Errorf("%v of waiting is not attributed, want none", time.Duration(c.Unattributed))
		}
	})
}

// What a round of workers has left must not be taken for what the next has.
func TestWaitGroupBeginsAnewWithEachRound(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		watch(t)
		var wg WaitGroup
		wg.Add(1)
		go func() {
			time.Sleep(10 * msec)
			wg.Done() // at 10
		}()
		over, ended := make(chan struct{}), make(chan time.Duration)
		go func() {
			// This one knows nothing of the first round but that it is over.
			inRegion(12 * msec)
			<-over
			wg.Add(1)
			wg.Done() // at 12, which would be 6
			wg.Wait()
			ended <- saved()
		}()
		wg.Wait()
		close(over)
		checkSaved(t, "who was not in the first round", <-ended, 6*msec)
	})
}

// A goroutine begins at the virtual time of the one that starts it.
func TestWaitGroupGoForks(t *testing.T) {
	before := knownLedgers()
	inBubble(t, func(t *testing.T) {
		o := watch(t)
		var wg WaitGroup
		inRegion(10 * msec)
		var born, child *int64
		wg.Go(func() {
			_, l := virtualtime.Here()
			at := l.Saved(o.Setting, 0)
			born = &at
			wg.Go(func() {
				_, l := virtualtime.Here()
				at := l.Saved(o.Setting, 0)
				child = &at
			})
		})
		wg.Wait()
		if *born != int64(5*msec) || *child != int64(5*msec) {
			t.Errorf("born with %v and %v, want 5ms", time.Duration(*born), time.Duration(*child))
		}
	})
	if n := knownLedgers(); n > before {
		t.Errorf("%d ledgers are left, want %d as before", n, before)
	}
}

func TestWaitGroupGoexit(t *testing.T) {
	for range 2 {
		var wg WaitGroup
		wg.Go(runtime.Goexit)
		wg.Wait()
		watch(t)
	}
}

func TestWaitGroupPanics(t *testing.T) {
	for range 2 {
		checkPanics(t, "Done", func() { new(WaitGroup).Done() }, func() { new(sync.WaitGroup).Done() })
		checkPanics(t, "Add(-2)", func() { new(WaitGroup).Add(-2) }, func() { new(sync.WaitGroup).Add(-2) })
		watch(t)
	}
}

func TestWaitGroupAllocs(t *testing.T) {
	var wg WaitGroup
	checkAllocs(t, func() {
		wg.Add(2)
		wg.Done()
		wg.Done()
		wg.Wait()
	})
}

func BenchmarkWaitGroup(b *testing.B) {
	var peer sync.WaitGroup
	var wg WaitGroup
	b.Run("Done", func(b *testing.B) {
		benchmark(b, func() { peer.Add(1); peer.Done() }, func() { wg.Add(1); wg.Done() })
	})
	b.Run("Wait", func(b *testing.B) { benchmark(b, peer.Wait, wg.Wait) })
	b.Run("Go", func(b *testing.B) {
		benchmark(b, func() { peer.Go(func() {}); peer.Wait() }, func() { wg.Go(func() {}); wg.Wait() })
	})
}
