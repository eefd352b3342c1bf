package replay

import (
	"math"
	"testing"
)

// TestMarksStay: a replay that keeps an order meets its recording in any case, so that marks which
// nearly meet it come first.
func TestMarksStay(t *testing.T) {
	for name, tt := range map[string]struct {
		marked, stock, ordered float64
		want                   bool
	}{
		"nearer with marks":              {0.04, 0.05, 0, true},
		"nearer without":                 {0.04, 0.01, 0, false},
		"nearer by an order":             {0.04, 0.01, 0.5, true},
		"far off, and nearer by one":     {0.2, 0.01, 0.5, false},
		"stopped with marks":             {math.Inf(1), 0.3, 0.5, false},
		"stopped with marks and without": {math.Inf(1), math.Inf(1), 0, true},
	} {
		if got := marksStay(tt.marked, tt.stock, tt.ordered); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}
