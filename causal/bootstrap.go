package causal

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// leastForBlocks is the number of values from which on there are enough blocks to draw from.
const leastForBlocks = 20

// resamples is the number of times that the values are drawn again.
const resamples = 499

// medianInterval bounds the median of values in the order of time by a bootstrap of circular
// moving blocks: whole stretches of values are drawn, so that what is alike because it is
// close in time stays together. The same values always give the same interval.
func medianInterval(values []float64) (lo, hi float64) {
	n := len(values)
	order := make([]int, n) // indexes by value
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })

	d := dependenceOf(values)
	rng := rand.New(rand.NewPCG(uint64(n), uint64(d.block)))
	medians := make([]float64, resamples)
	drawn := make([]int, n) // how often each value is
	for i := range medians {
		clear(drawn)
		for left := n; left > 0; left -= d.block {
			start := rng.IntN(n)
			for j := start; j < start+min(d.block, left); j++ {
				drawn[j%n]++
			}
		}
		medians[i] = drawnMedian(values, order, drawn)
	}
	slices.Sort(medians)
	z := stats.InvCDF(stats.StdNormal)((1-confidence)/2) * d.widen()
	at := int(stats.StdNormal.CDF(z) * resamples)
	return medians[at], medians[resamples-1-at]
}

// drawnMedian returns the median of values of which each is there as often as it was drawn.
func drawnMedian(values []float64, order, drawn []int) float64 {
	n := len(values)
	seen := 0
	for at, i := range order {
		seen += drawn[i]
		switch {
		case 2*seen > n:
			return values[i]
		case 2*seen == n: // the middle lies between this one and the next
			for _, j := range order[at+1:] {
				if drawn[j] > 0 {
					return (values[i] + values[j]) / 2
				}
			}
		}
	}
	return values[order[n-1]]
}
