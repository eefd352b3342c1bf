package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestStdErrBetween(t *testing.T) {
	for name, tt := range map[string]struct {
		runs []Run
		want float64
	}{
		"none":                   {nil, 0},
		"one":                    {[]Run{{0.1, 0.01, 9}}, 0},
		"no more than by chance": {[]Run{{0.1, 0.01, 9}, {0.11, 0.01, 9}}, 0},
		// Q is 200, so that .0199 is between the two: that and .0001, over two.
		"far apart":                  {[]Run{{0.1, 0.01, 10}, {0.3, 0.01, 10}}, 0.1},
		"one has all of the samples": {[]Run{{0.1, 0.01, 10}, {0.3, 0.01, 0}}, math.Sqrt(0.02)},
		"without any scatter":        {[]Run{{0.1, 0, 10}, {0.3, 0, 10}}, 0.1},
	} {
		if got := StdErrBetween(tt.runs); math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("%s: StdErrBetween(%v) = %g, want %g", name, tt.runs, got, tt.want)
		}
	}
}

// Of six runs that differ by twice their standard errors, two standard errors hold the truth nine
// times of ten; those of all samples together, seven times.
func TestStdErrBetweenCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const tries, each, between, within = 500, 25, 0.02, 0.05
	held, alone := 0, 0
	for range tries {
		var runs []Run
		var all []float64
		for range 6 {
			center := between * rng.NormFloat64()
			var samples []float64
			for range each {
				samples = append(samples, center+within*rng.NormFloat64())
			}
			e := Summarize(samples)
			runs, all = append(runs, Run{e.Mean, e.StdErr, each}), append(all, samples...)
		}
		e := Summarize(all)
		if math.Abs(e.Mean) <= 2*max(e.StdErr, StdErrBetween(runs)) {
			held++
		}
		if math.Abs(e.Mean) <= 2*e.StdErr {
			alone++
		}
	}
	if held < tries*85/100 || alone > held*9/10 {
		t.Errorf("intervals hold the truth in %d of %d tries, and without what is between runs in %d; want 85 %% and surely fewer", held, tries, alone)
	}
}
