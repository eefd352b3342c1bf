package testutil

import (
	"runtime/metrics"
	"slices"
	"testing"
	"time"
)

// LongestStop returns for how long all goroutines were stopped at a time while f ran, at most,
// garbage collections left out: the upper end of the class in which the runtime counts that, 0 for
// no stop.
func LongestStop(t testing.TB, f func()) time.Duration {
	t.Helper()
	before := stops(t)
	f()
	after := stops(t)
	for i, n := range slices.Backward(after.Counts) {
		if n > before.Counts[i] {
			return time.Duration(after.Buckets[i+1] * float64(time.Second))
		}
	}
	return 0
}

func stops(t testing.TB) *metrics.Float64Histogram {
	t.Helper()
	s := []metrics.Sample{{Name: "/sched/pauses/total/other:seconds"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindFloat64Histogram {
		t.Fatal("the runtime does not count its stops")
	}
	return s[0].Value.Float64Histogram()
}
