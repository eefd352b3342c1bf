package design

import (
	"math"
	"slices"
	"testing"
)

// TestNeighbors: what grows steadily cancels, however far away the placebos are on each side.
func TestNeighbors(t *testing.T) {
	for _, tt := range []struct {
		name     string
		numbers  []int64 // of windows, of which the one that is compared has 10
		placebos []int64
		want     []float64 // parts
	}{
		{"both sides", []int64{9, 10, 11}, []int64{9, 11}, []float64{0.5, 0.5}},
		{"nearer before", []int64{9, 10, 11, 12}, []int64{9, 12}, []float64{2. / 3, 1. / 3}},
		{"nearer after", []int64{8, 9, 10, 11}, []int64{8, 11}, []float64{1. / 3, 2. / 3}},
		{"the nearest of several", []int64{8, 9, 10, 11, 12}, []int64{8, 9, 11, 12}, []float64{0.5, 0.5}},
		{"one side", []int64{10, 11, 12}, []int64{12}, []float64{1}},
		{"too far away", []int64{7, 10, 11, 12, 13}, []int64{7, 13}, nil},
		{"lost in between", []int64{8, 10, 13}, []int64{8, 13}, []float64{1}},
		{"none", []int64{9, 10, 11}, nil, nil},
	} {
		next := Neighbors(tt.numbers, slices.Index(tt.numbers, 10), func(k int) int64 { return tt.numbers[k] }, func(n int64) bool { return slices.Contains(tt.placebos, n) })
		var parts []float64
		for _, n := range next {
			parts = append(parts, n.Part)
		}
		if !slices.EqualFunc(parts, tt.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
			t.Errorf("%s: parts %v, want %v", tt.name, parts, tt.want)
		}
		if mean := Mean(next, func(n int64) float64 { return float64(n) }); len(next) == 2 && math.Abs(mean-10) > 1e-12 {
			t.Errorf("%s: %v on the line between both, want 10", tt.name, mean)
		}
	}
}
