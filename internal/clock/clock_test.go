package clock_test

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/otelprof/otelprof/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func always() bool { return true }

func TestWaitsAreNeverTooShort(t *testing.T) {
	for name, wait := range map[string]func(int64, time.Duration, func() bool) time.Duration{"Spin": clock.Spin, "Compute": clock.Compute, "Sleep": clock.Sleep} {
		for _, d := range []time.Duration{-time.Second, 0, time.Microsecond, 100 * time.Microsecond, 7 * time.Millisecond} {
			start := clock.Now()
			got := wait(start, d, always)
			if took := time.Duration(clock.Now() - start); got < d || got > took {
				t.Errorf("%s(%v) = %v, in %v", name, d, got, took)
			}
		}
	}
}

func TestWaitsEndWhenTheyAreNotValid(t *testing.T) {
	for name, wait := range map[string]func(int64, time.Duration, func() bool) time.Duration{"Spin": clock.Spin, "Compute": clock.Compute, "Sleep": clock.Sleep} {
		calls := 0
		start := clock.Now()
		got := wait(start, time.Hour, func() bool { calls++; return calls < 3 })
		if got > time.Minute || calls != 3 {
			t.Errorf("%s: %v after %d calls, want to stop at the third", name, got, calls)
		}
	}
}

func TestSleepConcurrentSafe(t *testing.T) {
	var wg sync.WaitGroup
	for range 200 { // more than are kept
		wg.Go(func() {
			for range 5 {
				if got := clock.Sleep(clock.Now(), 200*time.Microsecond, always); got < 200*time.Microsecond {
					t.Errorf("slept %v, want 200µs at least", got)
				}
			}
		})
	}
	wg.Wait()
}

func TestSleepAllocs(t *testing.T) {
	clock.Sleep(clock.Now(), time.Microsecond, always)
	if n := testing.AllocsPerRun(20, func() { clock.Sleep(clock.Now(), 50*time.Microsecond, always) }); n > 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// BenchmarkSleep reports by how much a sleep is too long.
func BenchmarkSleep(b *testing.B) {
	for _, d := range []time.Duration{20 * time.Microsecond, 100 * time.Microsecond, 500 * time.Microsecond} {
		b.Run(d.String(), func(b *testing.B) {
			var late []time.Duration
			for b.Loop() {
				late = append(late, clock.Sleep(clock.Now(), d, always)-d)
			}
			slices.Sort(late)
			b.ReportMetric(float64(late[len(late)/2].Nanoseconds()), "ns-late")
		})
	}
}

func TestComputeCountsItsOwnTimeOnly(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var over atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() { // has half of the processor
		for !over.Load() {
			_ = clock.Now()
		}
	})
	start := clock.Now()
	const d = 60 * time.Millisecond
	got := clock.Compute(start, d, always)
	took := time.Duration(clock.Now() - start)
	over.Store(true)
	wg.Wait()
	if got < d || got > d+time.Millisecond || took < 80*time.Millisecond {
		t.Errorf("%v of %v, in %v: want the others' turns to be none of it", got, d, took)
	}
}
