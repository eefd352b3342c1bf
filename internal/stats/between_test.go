package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestBetween(t *testing.T) {
	for name, tt := range map[string]struct {
		runs    []Run
		want    float64
		freedom float64
	}{
		"none":                   {nil, 0, 0},
		"one":                    {[]Run{{0.1, 0.01, 9}}, 0, 0},
		"no more than by chance": {[]Run{{0.1, 0.01, 9}, {0.11, 0.01, 9}}, 0, 0},
		// Q is 200, so that .0199 is between the two: that and .0001, over two. Of these .01 the
		// runs have .00995 with a degree of freedom, and .00005 with 18.
		"far apart": {[]Run{{0.1, 0.01, 10}, {0.3, 0.01, 10}}, 0.1, 1.010074},
		// Q is 1.28: .000014 of .000064 are between the two, and .00005 have 16.
		"hardly apart":               {[]Run{{0.1, 0.01, 9}, {0.116, 0.01, 9}}, 0.008, 11.6281},
		"one has all of the samples": {[]Run{{0.1, 0.01, 10}, {0.3, 0.01, 0}}, math.Sqrt(0.02), 1.010073},
		"without any scatter":        {[]Run{{0.1, 0, 10}, {0.3, 0, 10}}, 0.1, 1},
	} {
		want := 0.0
		if tt.freedom > 0 {
			want = student(tt.freedom) * tt.want
		}
		if got, reach := Between(tt.runs); math.Abs(got-tt.want) > 1e-6 || math.Abs(reach-want) > 1e-4 {
			t.Errorf("%s: Between(%v) = %g, %g, want %g, %g", name, tt.runs, got, reach, tt.want, want)
		}
	}
}

// Beside a run that is exact, one that says next to nothing has so small a weight that it is lost
// in their sum.
func TestBetweenOfExactAndVague(t *testing.T) {
	runs := []Run{{0, 0, 10}, {9e5, 1e5, 10}}
	if stdErr, reach := Between(runs); !(stdErr > 1e5 && reach < 1e8) {
		t.Errorf("Between(%v) = %g, %g, want a standard error of some 1e5", runs, stdErr, reach)
	}
}

// TestBetweenCoverage merges runs that are off by an error of their own each, beside what their
// samples scatter by: the interval holds the truth, and where runs agree it is no wider than that
// of all samples as a rule.
func TestBetweenCoverage(t *testing.T) {
	const tries, each, scatter = 800, 25, 0.05
	for _, c := range []struct {
		runs  int
		apart float64 // deviation between runs, in standard errors of one
		least float64 // part of the intervals that hold the truth
	}{
		{2, 20, 0.87},
		{3, 20, 0.92},
		{6, 20, 0.925},
		{6, 2, 0.89},
		{2, 0, 0.93},
		{6, 0, 0.93},
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		held := 0
		var wider []float64 // times as wide as that of all samples
		for range tries {
			var runs []Run
			var all []float64
			for range c.runs {
				center := c.apart * scatter / math.Sqrt(each) * rng.NormFloat64()
				var samples []float64
				for range each {
					samples = append(samples, center+scatter*rng.NormFloat64())
				}
				e := Summarize(samples)
				runs, all = append(runs, Run{e.Mean, e.StdErr, each}), append(all, samples...)
			}
			e := Summarize(all)
			_, reach := Between(runs)
			reach = max(reach, e.Hi-e.Mean)
			if math.Abs(e.Mean) <= reach {
				held++
			}
			wider = append(wider, reach/(e.Hi-e.Mean))
		}
		if part := float64(held) / tries; part < c.least {
			t.Errorf("%d runs, %v standard errors apart: %.3f of the intervals hold the truth, want %v", c.runs, c.apart, part, c.least)
		}
		if median := Median(wider); c.apart == 0 && median > 1.05 {
			t.Errorf("%d runs that agree: an interval %.2f times as wide as that of all samples, want 1.05 at most", c.runs, median)
		}
	}
}
