package profile_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
)

// both is a profile of one region, which was slowed down and is simulated.
func both(elasticity float64, simulated ...profile.Effect) profile.Profile {
	return beside(slowed(rand.New(rand.NewPCG(1, 2)), elasticity, elasticity), simulated...)
}

func beside(c profile.Curve, simulated ...profile.Effect) profile.Profile {
	p := profile.Profile{
		PlanID: "plan-1", Experiments: 60, Recorded: &profile.Recorded{Windows: 5},
		Curves: []profile.Curve{c, {Mode: profile.ModeReplay, Region: c.Region, Progress: c.Progress, Metric: c.Metric, Effects: simulated}},
	}
	p.Finish()
	return p
}

func replayed(t *testing.T, p profile.Profile) profile.Curve {
	t.Helper()
	for _, c := range p.Curves {
		if c.Mode == profile.ModeReplay {
			return c
		}
	}
	t.Fatal("no curve of recordings")
	return profile.Curve{}
}

func TestConfirmed(t *testing.T) {
	p := both(0.4, profile.Effect{Speedup: 0.5, Samples: 9, Reduction: 0.18, Lo: 0.1, Hi: 0.4})
	e := replayed(t, p).Effects[0]
	if !e.Confirmed || e.Reduction != 0.18 || e.Lo != 0.1 || e.Hi < 0.2 || e.Hi > 0.24 {
		t.Errorf("%+v, want .18 in [.1, .22], as the slow-down bounds it, confirmed", e)
	}
	var text strings.Builder
	if err := p.WriteAnswer(&text, ""); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"18.0 % less", "each ms taken from a takes ", "simulated, and confirmed by 60 experiments of plan plan-1"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the answer lacks %q:\n%s", want, text.String())
		}
	}
}

// Where recordings leave wide bounds, what was measured is said.
func TestConfirmedWithinBounds(t *testing.T) {
	p := both(0.4, profile.Effect{Speedup: 0.25, Samples: 9, Reduction: 0.05, Lo: -0.02, Hi: 0.25, Bounded: true})
	var text strings.Builder
	if err := p.WriteAnswer(&text, ""); err != nil {
		t.Fatal(err)
	}
	if want := "10 % faster, done would take 3.9 % less"; !strings.Contains(text.String(), want) || strings.Contains(text.String(), "narrows") {
		t.Errorf("the answer lacks %q, or asks for what was measured:\n%s", want, text.String())
	}
}

// A slow-down that would have noticed nothing confirms nothing.
func TestNothingConfirmed(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	c := profile.Curve{Mode: profile.ModeSlowdown, Region: profile.Region{Name: "a"}, Progress: "done", Slopes: []profile.Slope{profile.NewSlope(0.1, 0.1, around(rng, 6, 0.4, 2))}}
	c.AnswerFromSlopes([]float64{0.1})
	p := profile.Profile{Curves: []profile.Curve{c, {Mode: profile.ModeReplay, Region: c.Region, Progress: "done", Effects: []profile.Effect{{Speedup: 0.1, Samples: 9, Reduction: 0.04, Lo: 0.02, Hi: 0.06}}}}}
	p.Finish()
	if e := replayed(t, p).Effects[0]; e.Confirmed || e.Lo != 0.02 || e.Hi != 0.06 {
		t.Errorf("%+v, want it as it was beside %+v", e, c.Effects[0])
	}
}

// What the simulation says at one speed-up is wrong, so none of it is believed.
func TestContradicted(t *testing.T) {
	p := both(0.4, profile.Effect{Speedup: 0.25, Samples: 9, Reduction: 0.08, Lo: 0.06, Hi: 0.1}, profile.Effect{Speedup: 0.5, Samples: 9, Reduction: 0.4, Lo: 0.35, Hi: 0.45})
	for _, e := range replayed(t, p).Effects {
		if e.Known() || e.Withheld.Code != "contradicted" {
			t.Errorf("%+v, want it withheld as contradicted", e)
		}
	}
	var text strings.Builder
	if err := p.WriteAnswer(&text, ""); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"10 % faster, done would take 3.9 % less", "50 % faster, done would take at most 2", "each ms taken from a takes ", "of that time is of none of the regions examined"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the answer lacks %q:\n%s", want, text.String())
		}
	}
}

// Slow-downs that are simulated are held against measured ones, not what faster regions bring
// against the bounds of that.
func TestSlowDownsAreMet(t *testing.T) {
	slope := func(elasticity float64) []profile.Slope {
		return []profile.Slope{{Level: 0.1, Taken: 0.1, Samples: 5, Elasticity: elasticity, Lo: elasticity - 0.1, Hi: elasticity + 0.1}, {Level: 0.3, Taken: 0.3, Samples: 5, Elasticity: elasticity, Lo: elasticity - 0.03, Hi: elasticity + 0.03}}
	}
	for name, tt := range map[string]struct {
		measured, simulated float64
		inside, contradicts bool
	}{
		"met":                                 {0.4, 0.42, false, false},
		"apart":                               {0.4, 0.1, false, true},
		"met, where spans wait inside":        {0.05, 0.05, true, false},
		"apart, where spans wait inside":      {0.05, 0.6, true, true},
		"more than all, as far as it can be":  {1, 1.4, false, false},
		"more than all, and measured as such": {1.4, 1, false, true},
	} {
		c := slowed(rand.New(rand.NewPCG(1, 2)), tt.measured, tt.measured)
		c.Inside = tt.inside
		c.AnswerFromSlopes([]float64{0.1, 0.5})
		p := profile.Profile{Curves: []profile.Curve{c, {
			Mode: profile.ModeReplay, Region: c.Region, Progress: c.Progress, Metric: c.Metric, Slopes: slope(tt.simulated),
			Effects: []profile.Effect{{Speedup: 0.5, Samples: 9, Reduction: 0.19, Lo: 0.15, Hi: 0.23}},
		}}}
		p.Finish()
		c = replayed(t, p)
		e := c.Effects[0]
		if !tt.contradicts && math.Abs(c.Slope-0.38) > 0.02 {
			t.Errorf("%s: the slope is %v, want that of what faster regions bring", name, c.Slope)
		}
		if e.Known() == tt.contradicts || e.Confirmed == tt.contradicts {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// The simulation meets the slow-downs, and a faster region brings more than they bound: so it does
// where the program chooses.
func TestSimulationThatChooses(t *testing.T) {
	c := slowed(rand.New(rand.NewPCG(1, 2)), 0.06, 0.06)
	p := profile.Profile{Curves: []profile.Curve{c, {
		Mode: profile.ModeReplay, Region: c.Region, Progress: c.Progress, Metric: c.Metric, Slopes: c.Slopes,
		Effects: []profile.Effect{{Speedup: 0.1, Samples: 9, Reduction: 0.04, Lo: 0.01, Hi: 0.05}, {Speedup: 0.5, Samples: 9, Reduction: 0.12, Lo: 0.03, Hi: 0.2}},
	}}}
	p.Finish()
	effects := replayed(t, p).Effects
	for _, e := range effects {
		if want := 1/(1-e.Reduction) - 1; math.Abs(e.ThroughputGain-want) > 1e-9 {
			t.Errorf("%+v, want a gain of %v: that of its reduction", e, want)
		}
	}
	if e := effects[0]; e.Hi > 0.03 {
		t.Errorf("%+v near, want what was measured", e)
	}
	if e := effects[1]; !e.Confirmed || e.Reduction != 0.12 || e.Hi != 0.2 || e.Lo > 0.04 {
		t.Errorf("%+v beyond, want the number of the simulation, and its upper bound", e)
	}
}

// What two intervals have in common that only just meet is no interval.
func TestJustMet(t *testing.T) {
	p := both(0.4, profile.Effect{Speedup: 0.5, Samples: 9, Reduction: 0.3, Lo: 0.21, Hi: 0.39})
	if e := replayed(t, p).Effects[0]; !e.Known() || e.Hi-e.Lo < 0.08 || e.Lo > 0.19 || e.Hi > 0.27 {
		t.Errorf("%+v, want it around where it meets the bound of .22, and half as wide", e)
	}
}

// A profile that is saved and read says the same.
func TestFinishTwice(t *testing.T) {
	p := both(0.4, profile.Effect{Speedup: 0.5, Samples: 9, Reduction: 0.3, Lo: 0.21, Hi: 0.39})
	once := replayed(t, p).Effects[0]
	p.Finish()
	if twice := replayed(t, p).Effects[0]; twice.Lo != once.Lo || twice.Hi != once.Hi || twice.Reduction != once.Reduction || !twice.Confirmed {
		t.Errorf("%+v, then %+v", once, twice)
	}
}

// What slow-downs contradict in one run stays contradicted beside a run that has recordings alone.
func TestMergeKeepsContradiction(t *testing.T) {
	c := slowed(rand.New(rand.NewPCG(1, 2)), 0.1, 0.1)
	simulated := profile.Curve{
		Mode: profile.ModeReplay, Region: c.Region, Progress: c.Progress, Metric: c.Metric,
		Effects: []profile.Effect{{Speedup: 0.25, Samples: 9, Reduction: 0.06, Lo: 0.045, Hi: 0.075}},
	}
	held := simulated
	held.Effects = slices.Clone(simulated.Effects)
	held.Slopes = []profile.Slope{{Level: 0.3, Taken: 0.3, Samples: 5, Elasticity: 0.24, Lo: 0.2, Hi: 0.28}}
	a := profile.Profile{Started: time.Unix(1, 0), Curves: []profile.Curve{c, held}}
	a.Finish()
	b := profile.Profile{Started: time.Unix(2, 0), Curves: []profile.Curve{simulated}}
	b.Finish()
	for _, both := range [][]profile.Profile{{a, b}, {b, a}} {
		if e := replayed(t, profile.Merge(both...)).Effects[0]; e.Known() {
			t.Errorf("%+v, want it withheld", e)
		}
	}
}

// Without a slow-down recordings say what they said.
func TestUnconfirmed(t *testing.T) {
	p := both(0.4, profile.Effect{Speedup: 0.75, Samples: 9, Reduction: 0.3, Lo: 0.2, Hi: 0.4})
	if e := replayed(t, p).Effects[0]; e.Confirmed || e.Lo != 0.2 || e.Hi != 0.4 {
		t.Errorf("%+v at a speed-up that no slow-down was asked about", e)
	}
}

// Near, the number is that of the more precise of both, where the simulated one is not within what
// was measured.
func TestVagueSimulation(t *testing.T) {
	near := func(reduction, lo, hi float64) profile.Effect {
		e := replayed(t, both(0.4, profile.Effect{Speedup: 0.1, Samples: 9, Reduction: reduction, Lo: lo, Hi: hi})).Effects[0]
		if e.Withheld.Code != "" || e.Reduction < e.Lo || e.Reduction > e.Hi {
			t.Fatalf("%+v, want a number within its interval", e)
		}
		return e
	}
	if e := near(-0.05, -0.2, 0.2); math.Abs(e.Reduction-0.04) > 0.005 {
		t.Errorf("a vague simulation of less than was measured: %.3f, want the measured .04", e.Reduction)
	}
	p := both(0.4, profile.Effect{Speedup: 0.1, Samples: 9, Reduction: -0.05, Lo: -0.2, Hi: 0.2}, profile.Effect{Speedup: 0.25, Samples: 9, Reduction: -0.05, Lo: -0.3, Hi: 0.3})
	if e := replayed(t, p).Effects[1]; e.Reduction < 0.08 {
		t.Errorf("25 %% faster, of which the simulation leaves out nothing, and is outside: %.3f, want the measured .1", e.Reduction)
	}
	p = both(0.4, profile.Effect{Speedup: 0.1, Samples: 9, Reduction: -0.05, Lo: -0.2, Hi: 0.2}, profile.Effect{Speedup: 0.25, Samples: 9, Reduction: -0.05, Lo: -0.3, Hi: 0.05})
	if e := replayed(t, p).Effects[1]; e.Reduction < 0.035 {
		t.Errorf("25 %% faster after .04 at 10 %%: %.3f, want no less", e.Reduction)
	}
	if e := near(0.036, 0.033, 0.2); e.Reduction != 0.036 {
		t.Errorf("a vague simulation within what was measured: %.3f, want its .036", e.Reduction)
	}
	if e := near(0.036, -0.2, 0.2); math.Abs(e.Reduction-0.04) > 0.002 {
		t.Errorf("a simulation that leaves out nothing of what was measured: %.3f, want the measured .04", e.Reduction)
	}
	if e := near(0.029, 0.028, 0.03); e.Reduction > 0.036 {
		t.Errorf("a precise simulation that just misses it: %.3f, want about its .029", e.Reduction)
	}
}

// Beyond, what is in the middle of what a slow-down leaves open is a number, and a slope is none.
func TestSimulationThatAddsNothing(t *testing.T) {
	for inside, want := range map[bool]float64{false: 0.1, true: 0.35} {
		c := slowed(rand.New(rand.NewPCG(1, 2)), 0.4, 0.4)
		c.Inside, c.Own = inside, c.BasePeriod
		c.AnswerFromSlopes([]float64{0.5})
		e := replayed(t, beside(c, profile.Effect{Speedup: 0.5, Samples: 9, Reduction: 0.1, Lo: -0.3, Hi: 0.6})).Effects[0]
		if math.Abs(e.Reduction-want) > 0.02 {
			t.Errorf("spans wait inside: %t: %.3f, want %.2f", inside, e.Reduction, want)
		}
	}
}

// Bounds that leave open all that a faster region may bring have no number of their own.
func TestSimulationThatLeavesAllOpen(t *testing.T) {
	c := slowed(rand.New(rand.NewPCG(1, 2)), 0.4, 0.4)
	c.AnswerFromSlopes([]float64{0.1, 0.5})
	for _, tt := range []struct {
		simulated    profile.Effect
		want, within float64
	}{
		{profile.Effect{Speedup: 0.5, Reduction: 0.06, Hi: 0.51}, 0.06, 0},
		{profile.Effect{Speedup: 0.5, Reduction: 0.06, Hi: 0.51, Bounded: true}, 0.2, 0.02},
		{profile.Effect{Speedup: 0.1, Reduction: 0.036, Lo: 0.033, Hi: 0.2, Bounded: true}, 0.036, 0}, // it surely brings something
	} {
		tt.simulated.Samples = 9
		e := replayed(t, beside(c, tt.simulated)).Effects[0]
		if math.Abs(e.Reduction-tt.want) > tt.within {
			t.Errorf("%+v: %.3f, want %.3f", tt.simulated, e.Reduction, tt.want)
		}
	}
}

// A simulation in which a slower region keeps its part of the work, where the program gives it
// less, is wrong about all regions, though its slow-downs cost what was measured.
func TestSimulationThatRoutesOtherwise(t *testing.T) {
	for name, tt := range map[string]struct {
		measured, simulated, err, elasticity float64
		contradicts                          bool
	}{
		"otherwise":              {-0.6, 0, 0.02, 0.4, true},
		"alike":                  {-0.6, -0.58, 0.02, 0.4, false},
		"by chance":              {-0.6, 0, 0.19, 0.4, false},
		"what takes little time": {-0.6, 0, 0.02, 0.05, false},
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		routed, other := slowed(rng, tt.elasticity, tt.elasticity), slowed(rng, 0.3, 0.3)
		other.Region.Name = "b"
		var p profile.Profile
		latency := slowed(rng, 0.3, 0.3) // of which simulations have no visit ratio
		latency.Region.Name, latency.Metric = "a", profile.MetricLatencyP50
		for _, c := range []profile.Curve{routed, other, latency} {
			simulated := profile.Curve{Mode: profile.ModeReplay, Region: c.Region, Progress: c.Progress, Metric: c.Metric, Slopes: slices.Clone(c.Slopes)}
			simulated.Effects = []profile.Effect{{Speedup: 0.1, Samples: 9, Reduction: c.Effects[0].Reduction, Lo: c.Effects[0].Lo, Hi: c.Effects[0].Hi}}
			for i := range c.Slopes {
				if c.Region == routed.Region {
					c.Slopes[i].VisitRatio, c.Slopes[i].VisitRatioErr = tt.measured, tt.err
				}
				if c.Region == routed.Region && c.Metric == routed.Metric {
					simulated.Slopes[i].VisitRatio, simulated.Slopes[i].VisitRatioErr = tt.simulated, 0.01
				}
			}
			p.Curves = append(p.Curves, c, simulated)
		}
		p.Finish()
		for _, c := range p.Curves {
			if got := !c.Effects[0].Known(); c.Mode == profile.ModeReplay && got != tt.contradicts {
				t.Errorf("%s: %s: contradicted %v", name, c.Region.Name, got)
			}
		}
	}
}

// A circuit breaker, which recordings do not have, makes a program faster whose calls are slower:
// what is simulated of another region has what was measured of that in its interval.
func TestSimulationWithoutTheState(t *testing.T) {
	for name, tt := range map[string]struct {
		measured, simulated float64
		lacks               bool
	}{
		"falls": {-0.6, 0.5, true}, "too large": {1.6, 0.5, true}, "simulated, too": {-0.6, -0.6, false}, "as large": {0.4, 0.4, false},
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		call, other := slowed(rng, tt.measured, tt.measured), slowed(rng, 0.5, 0.5)
		other.Region.Name = "b"
		var p profile.Profile
		for _, c := range []profile.Curve{call, other} {
			simulated := profile.Curve{Mode: profile.ModeReplay, Region: c.Region, Progress: c.Progress, Metric: c.Metric, Slopes: slices.Clone(c.Slopes)}
			if c.Region == call.Region {
				simulated.Slopes = slowed(rng, tt.simulated, tt.simulated).Slopes
			}
			simulated.Effects = []profile.Effect{{Speedup: 0.25, Samples: 9, Reduction: 0.07, Lo: 0.06, Hi: 0.08}}
			p.Curves = append(p.Curves, c, simulated)
		}
		p.Finish()
		for _, c := range p.Curves {
			if e := c.Effects[0]; c.Mode == profile.ModeReplay && c.Region == other.Region && (e.Hi > 0.12) != tt.lacks {
				t.Errorf("%s: %.3f to %.3f of what costs .125 of a quarter, want that in it: %v", name, e.Lo, e.Hi, tt.lacks)
			}
		}
	}
}
