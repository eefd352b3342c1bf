package profile

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestPValue(t *testing.T) {
	for _, tt := range []struct {
		e    Effect
		want float64
	}{
		{Effect{Withheld: told("x")}, 1},
		{Effect{}, 1},
		{Effect{Reduction: 0.3, Lo: 0.3, Hi: 0.3}, 0},
		{Effect{Reduction: 0.2, Lo: 0, Hi: 0.4}, 0.05},
		{Effect{Reduction: -0.2, Lo: -0.4, Hi: 0}, 0.05},
		{Effect{Reduction: 0.1, Lo: -0.1, Hi: 0.3}, 0.327},
	} {
		if got := tt.e.pValue(); math.Abs(got-tt.want) > 1e-3 {
			t.Errorf("p-value of %+v = %.4f, want %.4f", tt.e, got, tt.want)
		}
	}
}

// Three speed-ups of a region without effect are not three chances to claim one.
func TestPValueOfCurve(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	const curves = 400
	claimed := 0
	for range curves {
		c := newCurve(ModeOverlap, Region{Name: "a"}, "done", MetricThroughput, 1)
		for _, s := range []float64{0.1, 0.25, 0.5} {
			samples := make([]float64, 30)
			for i := range samples {
				samples[i] = 0.05 * rng.NormFloat64()
			}
			c.Effects = append(c.Effects, NewEffect(s, samples, nil))
		}
		if c.pValue() <= 0.05 {
			claimed++
		}
	}
	t.Logf("%d of %d curves without effect have a p-value of at most 0.05", claimed, curves)
	if claimed > curves/10 {
		t.Errorf("%d of %d curves without effect have a p-value of at most 0.05, want some %d", claimed, curves, curves/20)
	}
	if got, want := besides(answer(ModeOverlap, 0.005, map[float64]float64{.1: .09}), Effect{Speedup: .5, Reduction: .1, Lo: -.9, Hi: 1.1}).pValue(), 0.001; got > want {
		t.Errorf("p-value of a curve with one clear effect of two = %g, want at most %g", got, want)
	}
}

// Of forty regions without effect hardly any is reported to have one, at one in twenty each.
func TestRegionsWithoutEffect(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	const runs, regions = 40, 40
	withFalse := 0
	for range runs {
		p := Profile{}
		for r := range regions {
			samples := make([]float64, 30)
			for i := range samples {
				samples[i] = 0.05 * rng.NormFloat64()
			}
			c := newCurve(ModeOverlap, Region{Name: string(rune('A' + r))}, "done", MetricThroughput, 1)
			c.Effects = []Effect{NewEffect(0.5, samples, nil)}
			p.Curves = append(p.Curves, c)
		}
		p.Finish()
		for _, c := range p.Curves {
			if c.Significant {
				withFalse++
				break
			}
		}
	}
	t.Logf("%d of %d profiles without any effect claim one", withFalse, runs)
	if withFalse > runs/4 {
		t.Errorf("%d of %d profiles without any effect claim one", withFalse, runs)
	}
}
