package engine

import (
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
)

// Of three arms of a second each, one does a fifth less than without delay.
func TestLost(t *testing.T) {
	arms := func(visits ...uint64) (all []experiment.Experiment) {
		for i, n := range visits {
			e := experiment.Experiment{Arm: experiment.Arm{Speedup: 0.1 * float64(i)}, Duration: time.Second, Settled: time.Second / 4, Passages: []experiment.Passage{{Visits: n}}}
			all = append(all, e)
		}
		return all
	}
	for _, tt := range []struct {
		visits []uint64
		want   time.Duration
	}{{[]uint64{100, 80, 100}, time.Second / 4}, {[]uint64{100, 100, 100}, 0}, {[]uint64{100, 120, 70}, time.Second / 8}, {[]uint64{100, 120, 100}, 0}, {[]uint64{0, 80}, 0}, {nil, 0}} {
		if got := lost(arms(tt.visits...)); got.Round(time.Millisecond) != tt.want {
			t.Errorf("of %v visits %v were lost, want %v", tt.visits, got, tt.want)
		}
	}
}
