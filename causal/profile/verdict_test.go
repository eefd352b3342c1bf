package profile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// answer is a curve of effects that are known to within so much.
func answer(mode Mode, within float64, reductions map[float64]float64) Curve {
	c := newCurve(mode, Region{Name: "a"}, "done", MetricThroughput, 1)
	for s, r := range reductions {
		c.Effects = append(c.Effects, Effect{Speedup: s, Reduction: r, Lo: r - within, Hi: r + within, Samples: 20})
	}
	return c
}

// bounded makes the intervals of a curve bounds from both sides.
func bounded(c Curve) Curve {
	for i := range c.Effects {
		c.Effects[i].Bounded = true
	}
	return c
}

// besides adds an effect to a curve.
func besides(c Curve, e Effect) Curve {
	c.Effects = append(c.Effects, e)
	return c
}

func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		name     string
		c        Curve
		want     Verdict
		sentence string
	}{
		{"linear", answer(ModeOverlap, 0.005, map[float64]float64{.1: .098, .25: .25, .5: .5}), VerdictHelps, "speeding this up helps: 10 % faster gives 9.8 %"},
		{"plateau", answer(ModeOverlap, 0.005, map[float64]float64{.1: .1, .25: .25, .5: .3}), VerdictHelps, "helps until 30 %, then something else is the bottleneck: 10 % faster gives 10.0 %"},
		{"mutex", answer(ModeOverlap, 0.005, map[float64]float64{.1: .1, .25: .25, .5: .3125}), VerdictHelps, "helps until 31 %, then something else is the bottleneck: 10 % faster gives 10.0 %"},
		{"null", answer(ModeOverlap, 0.01, map[float64]float64{.1: .001, .25: -.002, .5: .003}), VerdictNone, "no effect"},
		{"small", answer(ModeOverlap, 0.002, map[float64]float64{.1: .002, .5: .012}), VerdictLittle, "hardly any effect: 10 % faster gives 0.2 %"},
		{"harm", answer(ModeOverlap, 0.005, map[float64]float64{.1: -.05, .5: -.2}), VerdictHurts, "speeding this up hurts: 10 % faster gives -5.0 %"},
		{"certain below the largest only", besides(answer(ModeOverlap, 0.005, map[float64]float64{.1: .09, .25: .2}), Effect{Speedup: .5, Reduction: .3, Lo: -.2, Hi: .8, Samples: 20}), VerdictHelps, "speeding this up helps: 10 % faster gives 9.0 %"},
		{"both ways", answer(ModeOverlap, 0.005, map[float64]float64{.1: -.05, .25: .01, .5: .2}), VerdictMixed, "helps at some speed-ups, hurts at others: 10 % faster gives -5.0 %, 50 % faster gives 20.0 %"},
		{"back to nothing", answer(ModeOverlap, 0.005, map[float64]float64{.1: .1, .25: .1, .5: 0}), VerdictHelps, "helps until 10 %, then something else is the bottleneck: 10 % faster gives 10.0 %"},
		{"between bounds", bounded(answer(ModeReplay, 0.1, map[float64]float64{.25: .2, .5: .4})), VerdictHelps, "speeding this up helps: 25 % faster gives between 10.0 and 30.0 %; narrows"},
		{"between bounds that are close", bounded(answer(ModeReplay, 0.01, map[float64]float64{.25: .2, .5: .4})), VerdictHelps, "speeding this up helps: 25 % faster gives 20.0 %"},
		{"between bounds on both sides of nothing", bounded(answer(ModeReplay, 0.5, map[float64]float64{.25: .2, .5: .4})), VerdictUnclear, "not clear yet: 50 % faster gives -10.0 to 90.0 %; narrows"},
		{"unclear", answer(ModeOverlap, 0.2, map[float64]float64{.25: .1, .5: .12}), VerdictUnclear, "not clear yet: 50 % faster gives -8.0 to 32.0 %"},
		{"withheld", Curve{Effects: []Effect{{Speedup: .1, Withheld: told("a")}, {Speedup: .5, Withheld: told("b")}, {Speedup: .6, Withheld: told("a")}}}, VerdictWithheld, "withheld: a; b"},
		{"flat at the end only", answer(ModeOverlap, 0.01, map[float64]float64{.1: .1, .5: .005}), VerdictHelps, "helps until 10 %, then something else is the bottleneck: 10 % faster gives 10.0 %"},
		{"empty", Curve{}, VerdictWithheld, "withheld: nothing has been measured"},
	} {
		p := Profile{Curves: []Curve{tt.c}}
		p.Finish()
		c := p.Curves[0]
		if got := c.sentence("narrows"); c.Verdict != tt.want || got != tt.sentence {
			t.Errorf("%s: verdict %q, %q, want %q, %q", tt.name, c.Verdict, got, tt.want, tt.sentence)
		}
	}
}

// An effect is judged by its own interval.
func TestVerdictOfAnEffect(t *testing.T) {
	for _, tt := range []struct {
		e     Effect
		want  Verdict
		loose bool
	}{
		{Effect{Lo: 0.001, Hi: 0.3}, VerdictHelps, false},
		{Effect{Lo: 0.03, Hi: 0.3, Bounded: true}, VerdictHelps, true},
		{Effect{Lo: -0.3, Hi: -0.001}, VerdictHurts, false},
		{Effect{Lo: -0.01, Hi: 0.019}, VerdictNone, false},
		{Effect{Lo: 0.001, Hi: 0.019}, VerdictLittle, false},
		{Effect{Lo: -0.019, Hi: -0.001}, VerdictLittle, false},
		{Effect{Lo: -0.01, Hi: 0.02}, VerdictUnclear, false},
		{Effect{Withheld: told("too few")}, VerdictWithheld, false},
	} {
		p := Profile{Curves: []Curve{{Effects: []Effect{tt.e}}}, Changes: []Change{{Effect: tt.e}}}
		p.Finish()
		for _, got := range []Effect{p.Curves[0].Effects[0], p.Changes[0].Effect} {
			if got.Verdict != tt.want || got.Loose != tt.loose {
				t.Errorf("[%g, %g]: verdict %q, loose %t, want %q, %t", tt.e.Lo, tt.e.Hi, got.Verdict, got.Loose, tt.want, tt.loose)
			}
		}
	}
}

func TestSlopeAndKnee(t *testing.T) {
	for _, tt := range []struct {
		name        string
		reductions  map[float64]float64
		slope, knee float64
	}{
		{"linear", map[float64]float64{.1: .05, .25: .125, .5: .25}, 0.5, 0},
		{"plateau", map[float64]float64{.1: .1, .25: .25, .5: .3, .75: .3}, 1, 0.3},
		{"flat from the first on", map[float64]float64{.25: .2, .5: .2}, 0.8, 0.25},
		{"steeper later", map[float64]float64{.1: .01, .5: .4}, 0.773, 0},
		{"nothing", map[float64]float64{.1: 0, .5: 0}, 0, 0},
		{"one", map[float64]float64{.5: .2}, 0.4, 0},
	} {
		p := Profile{Curves: []Curve{answer(ModeReplay, 0.005, tt.reductions)}}
		p.Finish()
		got := []float64{p.Curves[0].Slope, p.Curves[0].Knee}
		if diff := cmp.Diff([]float64{tt.slope, tt.knee}, got, cmpopts.EquateApprox(0, 0.002)); diff != "" {
			t.Errorf("%s: slope and knee differ, -want +got:\n%s", tt.name, diff)
		}
	}
}

func TestModesDisagree(t *testing.T) {
	half := map[float64]float64{.25: .125, .5: .25}
	for _, tt := range []struct {
		name         string
		tried, other Curve
		want         bool
	}{
		{"the same", answer(ModeOverlap, 0.01, half), answer(ModeReplay, 0.01, half), false},
		{"intervals that touch", answer(ModeOverlap, 0.03, half), answer(ModeReplay, 0.03, map[float64]float64{.25: .125, .5: .3}), false},
		{"less than a point apart", answer(ModeOverlap, 0, half), answer(ModeReplay, 0, map[float64]float64{.25: .13, .5: .259}), false},
		{"apart", answer(ModeOverlap, 0.01, half), answer(ModeReplay, 0.01, map[float64]float64{.25: .125, .5: .31}), true},
		{"other speed-ups", answer(ModeOverlap, 0.01, half), answer(ModeReplay, 0.01, map[float64]float64{.3: .9}), false},
		{"the same mode twice", answer(ModeOverlap, 0.01, half), answer(ModeOverlap, 0.01, map[float64]float64{.5: .9}), false},
	} {
		p := Profile{Curves: []Curve{tt.other, tt.tried}}
		p.Finish()
		p.Finish() // changes nothing
		for i, c := range p.Curves {
			other := p.Curves[1-i].Mode
			if got := len(c.Disagrees) > 0; got != tt.want || got && c.Disagrees[0] != other {
				t.Errorf("%s: %s disagrees with %v, want %t", tt.name, c.Mode, c.Disagrees, tt.want)
			}
		}
		if p.Curves[0].Mode != ModeOverlap {
			t.Errorf("%s: the experiment does not come first", tt.name)
		}
	}
}
