package causal

import (
	"testing"
	"time"
)

// Of three arms of a second each, one does a fifth less than without delay.
func TestLost(t *testing.T) {
	arms := func(visits ...uint64) (all []experiment) {
		for i, n := range visits {
			e := experiment{arm: arm{speedup: 0.1 * float64(i)}, duration: time.Second, settled: time.Second / 4, passages: []passage{{visits: n}}}
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
