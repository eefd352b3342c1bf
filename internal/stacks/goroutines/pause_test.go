package goroutines

import (
	"math"
	"runtime/metrics"
	"slices"
	"sync"
	"testing"
)

// TestNowStopsBriefly looks at many goroutines with deep stacks. One stop as long as a dump of all of them by the
// runtime takes, some 20 µs for each, would be seen: stops are compared with a tenth of that, so that a busy machine is none.
func TestNowStopsBriefly(t *testing.T) {
	const n, most = 5_000, 0.01
	quit := make(chan struct{})
	var all, begun sync.WaitGroup
	begun.Add(n)
	for range n {
		all.Go(func() { deep(22, func() { begun.Done(); <-quit }) })
	}
	begun.Wait()
	defer all.Wait()
	defer close(quit)
	shortest := math.Inf(1)
	for range 5 {
		before := stops(t)
		d, err := Now()
		if err != nil || d.Count < n {
			t.Fatalf("%+v, %v; want %d goroutines", d, err, n)
		}
		shortest = min(shortest, longestSince(before, stops(t)))
	}
	t.Logf("longest stop, the least of five looks: at most %.3g s", shortest)
	if shortest > most {
		t.Errorf("stopped for %.3g s, want at most %.3g", shortest, most)
	}
}

//go:noinline
func deep(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	deep(n-1, f)
}

func stops(t *testing.T) *metrics.Float64Histogram {
	t.Helper()
	s := []metrics.Sample{{Name: "/sched/pauses/total/other:seconds"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindFloat64Histogram {
		t.Fatal("the runtime does not count its stops")
	}
	return s[0].Value.Float64Histogram()
}

// longestSince returns the lower end of the bucket of the longest stop.
func longestSince(before, after *metrics.Float64Histogram) float64 {
	for i, n := range slices.Backward(after.Counts) {
		if n > before.Counts[i] {
			return after.Buckets[i]
		}
	}
	return 0
}
