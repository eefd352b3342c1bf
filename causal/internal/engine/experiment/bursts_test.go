package experiment

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/stats"
)

// TestPseudoValuesOfARatio: their mean is the ratio of totals but for its bias, and their interval
// holds the truth.
func TestPseudoValuesOfARatio(t *testing.T) {
	equal := []comparison{{8, 1, 10, 1}, {16, 2, 20, 2}, {4, 1, 10, 2}}
	for _, v := range stats.PseudoValues(equal[:2], (*comparison).add, comparison.reduction) {
		if math.Abs(v-0.2) > 1e-12 {
			t.Errorf("pseudo-value %g of equal ratios, want 0.2", v)
		}
	}
	// All: 1 - 28/4 * 5/40 = 0.125. Without one each: 1 - 20/3*4/30 = 1/9, 1 - 12/2*3/20 = 0.1,
	// 0.2.
	want := []float64{3*.125 - 2./9, 3*.125 - .2, 3*.125 - .4}
	for i, v := range stats.PseudoValues(equal, (*comparison).add, comparison.reduction) {
		if math.Abs(v-want[i]) > 1e-12 {
			t.Errorf("pseudo-value %d is %g, want %g", i, v, want[i])
		}
	}
	if got := stats.PseudoValues(equal[2:], (*comparison).add, comparison.reduction); len(got) != 1 || math.Abs(got[0]-0.2) > 1e-12 {
		t.Errorf("pseudo-values of one block: %v, want 0.2", got)
	}
	if got := stats.PseudoValues(nil, (*comparison).add, comparison.reduction); len(got) != 0 {
		t.Errorf("pseudo-values of no block: %v", got)
	}
}

// TestBurstsCount: each fifth second the region is half of the work, and else it does not run. The
// truth at 50 % is the mean.
func TestBurstsCount(t *testing.T) {
	const trials, rounds = 300, 60
	// One unit of work takes 1, and in bursts 2, of which the region is 1.
	hits, medians := 0, 0.
	rng := rand.New(rand.NewPCG(12, 12))
	second := func(speedup float64) Total { // one second: as many visits as fit
		period := 1.
		if rng.IntN(5) == 0 {
			period = 2 - speedup
		}
		return Total{1, 1 / period}
	}
	many := func(speedup float64) (sum Total) {
		for range 200_000 {
			sum.Add(second(speedup), +1)
		}
		return sum
	}
	base, faster := many(0), many(0.5)
	truth := 1 - faster.Period()/base.Period()
	for range trials {
		var steps []Step
		for range rounds {
			for _, a := range []Arm{zero, half, zero} {
				s := second(a.Speedup)
				steps = append(steps, Step{Arm: a, time: s.Time, visits: s.Visits})
			}
		}
		e := profile.NewEffect(0.5, Pairs(steps)[half], nil)
		if e.Lo <= truth && truth <= e.Hi {
			hits++
		}
		medians += stats.Median(Pairs(steps)[half]) / trials
	}
	t.Logf("the truth is %.2f %%; the interval holds it in %d of %d; the median says %.2f %%", 100*truth, hits, trials, 100*medians)
	if hits < trials*9/10 {
		t.Errorf("the interval holds the truth %.3f in %d of %d, want nine of ten", truth, hits, trials)
	}
}
