package engine

import (
	"runtime/metrics"
	"testing"
)

// TestCrowded: one goroutine that waits for a processor is the sampler's doing, and on many
// processors a few are on their way to one at each moment, which is no want of processors.
func TestCrowded(t *testing.T) {
	for _, one := range []struct {
		runnable, running uint64
		want              bool
	}{
		{0, 1, false},
		{1, 2, false},
		{2, 2, true},
		{2, 9, true},
		{2, 32, false},
		{4, 32, false},
		{5, 32, true},
		{64, 64, true},
	} {
		if got := crowded(one.runnable, one.running); got != one.want {
			t.Errorf("crowded(%d, %d) = %v, want %v", one.runnable, one.running, got, one.want)
		}
	}
}

// TestLoadMetrics: the runtime has what a load reads.
func TestLoadMetrics(t *testing.T) {
	sample := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}, {Name: "/sched/goroutines/running:goroutines"}}
	metrics.Read(sample)
	if running := goroutines(sample[1].Value); sample[0].Value.Kind() != metrics.KindUint64 || running == 0 {
		t.Errorf("metrics %v: want a number of runnable goroutines, and this one running", sample)
	}
}
