package stats

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestBenjaminiHochberg(t *testing.T) {
	for _, tt := range []struct{ p, want []float64 }{
		{nil, []float64{}},
		{[]float64{0.03}, []float64{0.03}},
		// Ranks 1 to 4 of four: times 4, 2, 4/3, 1, and none above the next.
		{[]float64{0.01, 0.02, 0.03, 0.04}, []float64{0.04, 0.04, 0.04, 0.04}},
		{[]float64{0.9, 0.001, 0.3}, []float64{0.9, 0.003, 0.45}},
		{[]float64{1, 1}, []float64{1, 1}},
	} {
		if diff := cmp.Diff(tt.want, BenjaminiHochberg(tt.p), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("BenjaminiHochberg(%v) differs, -want +got:\n%s", tt.p, diff)
		}
	}
}

func TestAtLeast(t *testing.T) {
	for _, tt := range []struct {
		successes, n int
		want         float64
	}{{0, 10, 1}, {1, 1, 0.05}, {1, 2, 0.0975}, {2, 2, 0.0025}, {3, 2, 0}} {
		if got := AtLeast(tt.successes, tt.n, 0.05); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("AtLeast(%d, %d, 0.05) = %g, want %g", tt.successes, tt.n, got, tt.want)
		}
	}
}
