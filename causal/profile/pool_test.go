package profile

import (
	"math"
	"math/rand/v2"
	"testing"
)

// sharingPlacebos returns slopes of so many rounds, one for each level. All experiments of a round
// are compared with one placebo.
func sharingPlacebos(rng *rand.Rand, elasticity, scatter float64, levels ...float64) (all []Slope) {
	const rounds = 20
	samples := make([][]float64, len(levels))
	for range rounds {
		placebo := rng.NormFloat64()
		for i, level := range levels {
			samples[i] = append(samples[i], elasticity+scatter*(rng.NormFloat64()-placebo)/level)
		}
	}
	for i, level := range levels {
		all = append(all, NewSlope(level, level, samples[i]))
	}
	return all
}

// TestPoolCoverage: the interval of two levels together holds the truth, though both are off to the
// same side with their placebos, and is no wider than that of the surer level.
func TestPoolCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const tries, elasticity = 6000, 0.4
	pooled, held := 0, 0
	for range tries {
		s := sharingPlacebos(rng, elasticity, 0.01, 0.1, 0.3)
		if s[1].Elasticity >= s[0].Elasticity {
			continue
		}
		pooled++
		p := pool(s[0], s[1])
		if p.Lo <= elasticity && elasticity <= p.Hi {
			held++
		}
		if p.Hi-p.Lo > s[1].Hi-s[1].Lo+1e-9 {
			t.Fatalf("%+v together is wider than %+v", p, s[1])
		}
	}
	if held < pooled*94/100 {
		t.Errorf("%d of %d intervals hold the truth, want 94 %%", held, pooled)
	}
}

// ofRegions is a profile of regions with these slopes.
func ofRegions(slopes []Slope) (p Profile) {
	for i, s := range slopes {
		c := newCurve(ModeSlowdown, Region{Name: string(rune('a' + i))}, "done", MetricThroughput, 0)
		c.Slopes = []Slope{s}
		p.Curves = append(p.Curves, c)
	}
	return p
}

// TestExplainedCoverage: the sum of two regions, which have their placebos in common, is as sure as
// it says.
func TestExplainedCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const tries, elasticity = 2000, 0.3
	held := 0
	for range tries {
		sum, stdErr, _, _ := ofRegions(sharingPlacebos(rng, elasticity, 0.002, 0.1, 0.1)).explained("done")
		if math.Abs(sum-2*elasticity) <= 2*stdErr {
			held++
		}
	}
	if held < tries*93/100 {
		t.Errorf("%d of %d sums are within two standard errors, want 93 %%", held, tries)
	}
}

// However many regions there are, a placebo is beside few of them.
func TestExplainedOfMany(t *testing.T) {
	for regions, want := range map[int]float64{1: 0.01, 2: 0.01 * math.Sqrt(3), 8: 0.04} {
		var slopes []Slope
		for range regions {
			slopes = append(slopes, Slope{Level: 0.1, Taken: 0.1, Samples: 9, Elasticity: 0.1, StdErr: 0.01, Lo: 0.08, Hi: 0.12})
		}
		if _, stdErr, _, _ := ofRegions(slopes).explained("done"); math.Abs(stdErr-want) > 1e-9 {
			t.Errorf("%d regions: a standard error of %v, want %v", regions, stdErr, want)
		}
	}
}
