package doubt

import (
	"math"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/sim"
)

// TestContentionLeft has waits go with the square of what others have the resource for, by the
// regions that they are in then.
func TestContentionLeft(t *testing.T) {
	const half, other, waits = 1, 2, 9 // regions
	a := Alternative{Pace: 0.9, Waits: map[int32]*Contention{waits: {Time: 100, By: map[int32]int64{half: 50}}}}
	for name, tt := range map[string]struct {
		factors map[int32]float64
		want    float64
	}{
		"half of it faster by half":     {map[int32]float64{half: 0.5}, 0.75 * 0.75},
		"something else faster":         {map[int32]float64{other: 0.5}, 1},
		"both":                          {map[int32]float64{half: 0, other: 0}, 0.25},
		"something else slower by half": {map[int32]float64{other: 1.5}, 0.25},
		"half of it slower by half":     {map[int32]float64{half: 1.5}, 0.75 * 0.75},
		"slower by twice and more":      {map[int32]float64{other: 4}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := a.Change(sim.Change{Factors: tt.factors})
			if got := c.Factors[waits]; math.Abs(got-tt.want) > 1e-9 || c.Pace != a.Pace {
				t.Errorf("%v of the waits are left at pace %v, want %v at %v", got, c.Pace, tt.want, a.Pace)
			}
			if len(tt.factors) == len(c.Factors) {
				t.Error("the change was changed in place")
			}
		})
	}
}
