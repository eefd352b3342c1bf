package profile_test

import (
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/stats"
)

// around returns n samples around a mean.
func around(rng *rand.Rand, n int, mean, deviation float64) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = mean + deviation*rng.NormFloat64()
	}
	return all
}

// slowed is a curve whose elasticities were these at 10 and at 30 %.
func slowed(rng *rand.Rand, small, large float64) profile.Curve {
	c := profile.Curve{
		Mode: profile.ModeSlowdown, Region: profile.Region{Name: "a"}, Progress: "done", Metric: profile.MetricThroughput, BasePeriod: 10e6, Own: 2e6,
		Slopes: []profile.Slope{
			profile.NewSlope(0.1, 0.1, around(rng, 20, small, 0.1)),
			profile.NewSlope(0.3, 0.3, around(rng, 20, large, 0.03)),
		},
	}
	c.AnswerFromSlopes([]float64{0.1, 0.25, 0.5})
	return c
}

// Spans that take twice as long as when experiments began may have twice the own time, or wait.
// That stays in the answer of several runs.
func TestDriftedRuns(t *testing.T) {
	steady := slowed(rand.New(rand.NewPCG(3, 1)), 0.4, 0.4)
	drifted := steady
	drifted.Drift = 2
	drifted.AnswerFromSlopes([]float64{0.1})
	merged := profile.Merge(profile.Profile{Curves: []profile.Curve{steady}}, profile.Profile{Curves: []profile.Curve{drifted}}).Curves[0]
	for of, e := range map[string]profile.Effect{"one run": drifted.Effects[0], "two": merged.Effects[0]} {
		if was := steady.Effects[0]; !e.Bounded || e.Hi < 1.5*was.Hi || len(e.Warnings) != 1 {
			t.Errorf("%s: %+v, want about twice %.3f as its upper bound, and a warning", of, e, was.Hi)
		}
	}
}

// A program's time is max(a, b) with some scatter, or a sum: what a slow-down shows of these holds
// what is true of the faster region.
func TestSlopesHoldTheTruth(t *testing.T) {
	for name, tt := range map[string]struct {
		small, large float64    // elasticities
		truth        [3]float64 // reductions at 10, 25 and 50 %
	}{
		"serial":              {0.4, 0.4, [3]float64{0.04, 0.1, 0.2}},
		"nothing":             {0, 0, [3]float64{0, 0, 0}},
		"ends at a knee":      {0.9, 0.95, [3]float64{0.09, 0.2, 0.2}},
		"slack that is used":  {0.07, 0.12, [3]float64{0.004, 0.004, 0.004}},
		"a share of 5 points": {0.05, 0.05, [3]float64{0.005, 0.0125, 0.025}},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			const tries = 200
			held := [3]int{}
			for range tries {
				for i, e := range slowed(rng, tt.small, tt.large).Effects {
					if e.Lo <= tt.truth[i] && tt.truth[i] <= e.Hi {
						held[i]++
					}
					if e.Lo > e.Reduction || e.Reduction > e.Hi {
						t.Fatalf("%+v: the reduction is out of its bounds", e)
					}
					if e.Bounded != (e.Speedup > profile.Near) {
						t.Fatalf("%+v: must be bounded beyond %v only", e, profile.Near)
					}
				}
			}
			for i, n := range held {
				if n < tries*93/100 {
					t.Errorf("effect %d holds the truth in %d of %d tries, want 93 %%", i, n, tries)
				}
			}
		})
	}
}

func TestSlopesThatAreNotConvex(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	noisy := slowed(rng, 0, 0) // a goroutine that commits what has come: 13.2 % is true at 25 % faster, where its small slope bounded it by 9.1
	noisy.Slopes = []profile.Slope{
		{Level: 0.1, Taken: 0.1, Samples: 20, Elasticity: 0.11, StdErr: 0.045, Lo: 0.01, Hi: 0.2},
		{Level: 0.3, Taken: 0.3, Samples: 20, Elasticity: 0.56, StdErr: 0.014, Lo: 0.53, Hi: 0.59},
	}
	noisy.AnswerFromSlopes([]float64{0.1, 0.25, 0.5})
	for name, c := range map[string]profile.Curve{
		"the large one is the smaller":    slowed(rng, 0.9, 0.2),
		"nothing at first, and then much": slowed(rng, 0, 0.56),
		"it may be nothing at first":      noisy,
	} {
		for _, e := range c.Effects {
			if e.Lo > 0 || e.Hi < e.Speedup || len(e.Warnings) != 1 || !strings.HasPrefix(e.Warnings[0], "not clear: ") {
				t.Errorf("%s: %+v, want all between nothing and the whole, and a warning", name, e)
			}
		}
	}
}

// Where the program is faster with a slower region, all may be otherwise.
func TestSlopesThatFall(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	curves := []profile.Curve{slowed(rng, 0.5, 0.5), slowed(rng, -0.5, -0.25), slowed(rng, 0.5, 0.5)}
	curves[1].Region.Name, curves[2].Progress = "b", "other"
	before := curves[0].Effects[0]
	profile.WidenByOthers(curves)
	after := curves[0].Effects[0]
	if wider := before.Lo - after.Lo; wider < 0.05 || wider > 0.1 || len(after.Warnings) != 1 {
		t.Errorf("%+v, want it wider by the 7 points that the time falls by, and a warning", after)
	}
	if e := curves[1].Effects[0]; e.Lo > 0 || e.Hi < 0.1 {
		t.Errorf("%+v: what falls says nothing of its own", e)
	}
	if e := curves[2].Effects[0]; e.Margin != 0 || len(e.Warnings) != 0 {
		t.Errorf("%+v, want it as it is: another progress point", e)
	}
}

// A slope below zero by chance is no harm that a faster region does, and measured wrong: by so much
// the region may bring something.
func TestSlopeBelowZeroByChance(t *testing.T) {
	limited := slowed(rand.New(rand.NewPCG(3, 4)), 0, 0)
	limited.Slopes = []profile.Slope{
		{Level: 0.1, Taken: 0.0125, Elasticity: 0.27, StdErr: 0.45, Lo: -0.67, Hi: 1.2, Samples: 20, Elasticities: []float64{0.27}},
		{Level: 0.3, Taken: 0.0125, Elasticity: -0.62, StdErr: 0.24, Lo: -1.12, Hi: -0.11, Samples: 20, Elasticities: []float64{-0.62}},
	}
	limited.AnswerFromSlopes([]float64{0.5})
	if e := limited.Effects[0]; e.Hi < 0.3 {
		t.Errorf("%+v of slopes that were hardly held and are %+v, want no bound from above that chance has made", e, limited.Slopes)
	}
	for _, e := range slowed(rand.New(rand.NewPCG(3, 4)), -0.09, -0.03).Effects {
		if e.Lo > 0 || e.Hi < 0.01 {
			t.Errorf("%+v, want no effect within", e)
		}
	}
}

// No region takes more than all of the time: a slope above 1 by chance is as far off to the other
// side.
func TestSlopeAboveOne(t *testing.T) {
	for i, e := range slowed(rand.New(rand.NewPCG(3, 4)), 1.06, 1.06).Effects {
		if s := e.Speedup; e.Hi > s+0.011 || e.Lo > 0.096 || e.Reduction > s || len(e.Warnings) != 0 {
			t.Errorf("%d: %+v, want at most the part that the region is faster by, and a wide interval", i, e)
		}
	}
}

// A slope above 1 by more than chance is of a program that chooses by its state: what a faster
// region brings has no such bound.
func TestSteepSlope(t *testing.T) {
	for i, e := range slowed(rand.New(rand.NewPCG(3, 4)), 1.4, 3).Effects {
		if s := e.Speedup; e.Hi < min(1, 3*s) || e.Lo > 0 || !e.Bounded || len(e.Warnings) != 1 || !strings.HasPrefix(e.Warnings[0], "not clear: ") {
			t.Errorf("%d: %+v, want bounds from nothing to the steepest slope, and a warning", i, e)
		}
	}
}

// Where a half of a region's delays were left out as a deadline was near, as many calls may fail
// that need not.
func TestSlopeNearDeadlines(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	curves := []profile.Curve{slowed(rng, 0.4, 0.4), slowed(rng, 0.4, 0.4)}
	curves[0].Expiring, curves[1].Region.Name = 0.5, "b"
	var before [2][]profile.Effect
	for i, c := range curves {
		before[i] = slices.Clone(c.Effects)
	}
	profile.WidenByOthers(curves)
	for i, c := range curves {
		for k, e := range c.Effects {
			was := before[i][k]
			if want := (1 + was.Hi) / 2; math.Abs(e.Hi-want) > 1e-9 || e.Lo != was.Lo || !e.Bounded || len(e.Warnings) != 1 {
				t.Errorf("%+v, want %+v with an upper bound of %.3f", e, was, want)
			}
			if moved := e.Reduction > was.Reduction; moved != (i == 0) {
				t.Errorf("%+v, want a larger reduction of the region whose spans end near deadlines alone", e)
			}
		}
	}
}

// Callers of spans that give back what they have waited for before they end are held too late: a
// slope bounds nothing from above, what the region takes does.
func TestSlopeOfWhatIsOvertaken(t *testing.T) {
	c := slowed(rand.New(rand.NewPCG(3, 4)), 0.1, 0.1)
	c.AnswerFromSlopes([]float64{0.1, 0.5})
	before := slices.Clone(c.Effects)
	c.Own, c.Overtaken = c.BasePeriod/2, 0.4
	c.AnswerFromSlopes([]float64{0.1, 0.5})
	if diff := cmp.Diff(before[0], c.Effects[0]); diff != "" {
		t.Errorf("at 10 %% (-without +with spans that others overtake):\n%s", diff)
	}
	if more := c.Effects[1].Hi - before[1].Hi; math.Abs(more-0.1) > 1e-9 || len(c.Effects[1].Warnings) != 1 {
		t.Errorf("the bound at 50 %% is higher by %v, want .4 of .5 of .5, and why: %v", more, c.Effects[1].Warnings)
	}
}

// A median of which half of the requests wait may have a kink: what is sure is the region's share.
func TestSlopeOfMedian(t *testing.T) {
	c := slowed(rand.New(rand.NewPCG(3, 4)), 0.9, 0.9)
	c.Own, c.Metric = c.BasePeriod/4, profile.MetricLatencyP50
	c.AnswerFromSlopes([]float64{0.1})
	if e := c.Effects[0]; e.Lo <= 0 || e.Lo > 0.025 || e.Reduction < 0.08 {
		t.Errorf("%+v of a quarter of the latency by a slope of .9, want .09 and at least .025", e)
	}
}

// A wait that a deadline ends costs no more where the region is slower, but less where it is
// faster: the region's share of the time bounds that.
func TestSlopeHiddenByDeadlines(t *testing.T) {
	c := slowed(rand.New(rand.NewPCG(3, 4)), 0.1, 0.1)
	c.Own, c.Expiring = c.BasePeriod/2, 0.01
	c.AnswerFromSlopes([]float64{0.5})
	if e := c.Effects[0]; e.Hi < 0.25 || e.Hi > 0.3 || !e.Bounded || len(e.Warnings) != 1 {
		t.Errorf("%+v of half of the time, of which deadlines hide some, want a bound by that, and why", e)
	}
}

func TestSlopeOfWhatWaitsInside(t *testing.T) {
	c := slowed(rand.New(rand.NewPCG(3, 4)), 0.1, 0.1)
	c.Inside, c.Own = true, c.BasePeriod
	c.AnswerFromSlopes([]float64{0.1, 0.5})
	for _, e := range c.Effects {
		if e.Hi < e.Speedup || e.Lo > 0.1*e.Speedup || !e.Bounded || len(e.Warnings) != 1 {
			t.Errorf("%+v, want bounds from what was measured to all of it, and why", e)
		}
	}
	rare := slowed(rand.New(rand.NewPCG(3, 4)), 0, 0)
	rare.Inside, rare.Own = true, rare.BasePeriod/200
	rare.AnswerFromSlopes([]float64{0.5})
	if e := rare.Effects[0]; e.Reduction > 0.005 || e.Hi > 0.05 {
		t.Errorf("%+v of a region that takes 5 of 1000 ms, want no more than that", e)
	}
	rare.Served = 79 // goroutines without spans did 395 ms for it
	rare.AnswerFromSlopes([]float64{0.5})
	if e := rare.Effects[0]; e.Hi < 0.2 || e.Hi > 0.25 {
		t.Errorf("%+v of a region that may take 400 of 1000 ms, want that much at most", e)
	}
	latency := slowed(rand.New(rand.NewPCG(3, 4)), 1.2, 1.2)
	latency.Metric, latency.Inside = profile.MetricLatencyP99, true
	latency.AnswerFromSlopes([]float64{0.1})
	if e := latency.Effects[0]; e.Hi != 1 || !e.Bounded || len(e.Warnings) != 1 {
		t.Errorf("%+v, want no bound from above of a latency that grows by more than the region", e)
	}
}

// What others wait for before a region's spans end is missing in a slope: all of what the region
// takes itself at most.
func TestSlopeOfWhatOthersWaitFor(t *testing.T) {
	of := func(metric profile.Metric, awaited float64) profile.Effect {
		c := slowed(rand.New(rand.NewPCG(3, 4)), 0.1, 0.1)
		c.Metric, c.Awaited, c.Own, c.BasePeriod = metric, awaited, 3*time.Millisecond, 10*time.Millisecond
		c.AnswerFromSlopes([]float64{0.5})
		return c.Effects[0]
	}
	for metric, more := range map[profile.Metric]float64{profile.MetricThroughput: 0.5 * 0.3 * 0.5, profile.MetricLatencyP50: 1} {
		none, half := of(metric, 0), of(metric, 0.5)
		if math.Abs(half.Hi-min(1, none.Hi+more)) > 1e-9 || half.Lo != none.Lo || half.Reduction < none.Reduction || len(half.Warnings) != 1 {
			t.Errorf("%s: %+v, want %+v with an upper bound by %.3f higher, and why", metric, half, none, more)
		}
	}
	if e := of(profile.MetricThroughput, 1); e.Hi > 0.5+0.01 {
		t.Errorf("%+v, want no more than all of the time saved", e)
	}
}

// nearOf is the answer at 10 % of a region with a slope of .6, and with something else about it.
func nearOf(with func(*profile.Curve)) profile.Effect {
	c := slowed(rand.New(rand.NewPCG(3, 4)), 0.6, 0.6)
	with(&c)
	c.AnswerFromSlopes([]float64{0.1})
	return c.Effects[0]
}

// Where no processor is idle, spans that wait may make up for what they are longer: a slope bounds
// nothing from below.
func TestSlopeOfWhatWaitsForProcessors(t *testing.T) {
	of := func(behind float64) profile.Effect { return nearOf(func(c *profile.Curve) { c.Behind = behind }) }
	none, little, much := of(0), of(0.2), of(1)
	if little.Bounded || little.Lo > none.Lo*0.85 || little.Hi != none.Hi || little.Reduction != none.Reduction {
		t.Errorf("%+v, want %+v with a fifth less for a lower bound", little, none)
	}
	if !much.Bounded || much.Lo > 0 || much.Hi != none.Hi || much.Reduction > 0.6*none.Reduction || len(much.Warnings) != 1 {
		t.Errorf("%+v, want nothing below, the bound of %+v above, and why", much, none)
	}
}

// Where a goroutine that is held has the spans of others to end, these are held, too.
func TestSlopeOfWhatHoldsUpOthers(t *testing.T) {
	of := func(part float64) profile.Effect { return nearOf(func(c *profile.Curve) { c.HoldsUp = part }) }
	steep := slowed(rand.New(rand.NewPCG(3, 4)), 3, 3)
	steep.HoldsUp = 0.4
	if steep.AnswerFromSlopes([]float64{0.1}); steep.Effects[0].Hi > 0.1+0.01+1e-9 {
		t.Errorf("%+v, want no more than a tenth, as others are held, too", steep.Effects[0])
	}
	none, some := of(0.01), of(0.4)
	if none.Bounded || !some.Bounded || some.Lo > 0 || some.Hi != none.Hi || some.Reduction > 0.6*none.Reduction || len(some.Warnings) != 1 {
		t.Errorf("%+v, want nothing below, the bound of %+v above, and why", some, none)
	}
}

// By chance the large slope is often the smaller one; both are one number then.
func TestSlopesArePooled(t *testing.T) {
	c := profile.Curve{Metric: profile.MetricThroughput, BasePeriod: 10, Own: 5, Slopes: []profile.Slope{
		{Level: 0.1, Taken: 0.1, Samples: 9, Elasticity: 0.5, StdErr: 0.1, Lo: 0.3, Hi: 0.7},
		{Level: 0.3, Taken: 0.3, Samples: 9, Elasticity: 0.4, StdErr: 0.1, Lo: 0.2, Hi: 0.6},
	}}
	got, stdErr, known := c.Leverage()
	if !known || math.Abs(got-2*0.45) > 1e-9 || math.Abs(stdErr-2*0.1*math.Sqrt(0.75)) > 1e-6 {
		t.Errorf("leverage %v ± %v, want .9 ± .17, twice the mean of both, which have placebos in common", got, stdErr)
	}
}

func TestSlopesOfFewSamples(t *testing.T) {
	c := profile.Curve{Mode: profile.ModeSlowdown, Slopes: []profile.Slope{profile.NewSlope(0.1, 0.1, []float64{1, 2, 3})}}
	c.AnswerFromSlopes([]float64{0.1})
	if e := c.Effects[0]; e.Known() || e.Withheld.Count != 3 {
		t.Errorf("%+v, want it withheld for want of samples", e)
	}
	if _, _, known := c.Leverage(); known {
		t.Error("a leverage of three samples")
	}
}

// What two instances have measured is one sample when it is merged, also from files.
func TestMergeSlopes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	one, two := slowed(rng, 0.4, 0.4), slowed(rng, 0.5, 0.5)
	one.Slopes[0].VisitRatio, one.Slopes[0].VisitRatioErr = -0.2, 0.1
	two.Slopes[0].VisitRatio, two.Slopes[0].VisitRatioErr = -0.4, 0.1
	one.Effects[0] = one.Effects[0].Wider(0.05) // the machine was short of processors
	var parts []profile.Profile
	for _, c := range []profile.Curve{one, two} {
		document, err := json.Marshal(profile.Profile{Mode: profile.ModeSlowdown, Curves: []profile.Curve{c}})
		if err != nil {
			t.Fatal(err)
		}
		p, err := profile.Read(strings.NewReader(string(document)))
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	merged := profile.Merge(parts...).Curves[0]
	if len(merged.Slopes) != 2 || merged.Own != one.Own || merged.BasePeriod != one.BasePeriod || len(merged.Effects) != 3 {
		t.Fatalf("%+v, want two slopes, three effects and the periods of both", merged)
	}
	for i, s := range merged.Slopes {
		if want := (one.Slopes[i].Elasticity + two.Slopes[i].Elasticity) / 2; s.Samples != 40 || math.Abs(s.Elasticity-want) > 1e-5 {
			t.Errorf("slope %d: %d samples, %v: want 40, %v", i, s.Samples, s.Elasticity, want)
		}
	}
	if s := merged.Slopes[1]; s.Hi-s.Elasticity < 6*s.StdErr {
		t.Errorf("%+v of two runs that are 10 standard errors apart, want the interval of one degree of freedom", s)
	}
	if s := merged.Slopes[0]; math.Abs(s.VisitRatio+0.3) > 1e-9 || math.Abs(s.VisitRatioErr-0.1/math.Sqrt2) > 1e-9 {
		t.Errorf("visit ratio %v ±%v, want -.3 ±.07", s.VisitRatio, s.VisitRatioErr)
	}
	if e := merged.Effects[0]; e.Margin != 0.05 {
		t.Errorf("%+v, want the margin of the wider run", e)
	}
	if s := merged.Slope; math.Abs(s-0.45) > 0.1 || merged.Knee != 0 {
		t.Errorf("slope %v and knee %v, want about .45 and none", s, merged.Knee)
	}
}

func TestExplained(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	a, b, own := slowed(rng, 0.4, 0.4), slowed(rng, 0.2, 0.2), slowed(rng, 1, 1)
	b.Region.Name, own.Region.Name = "b", "done"
	sum, stdErr, in, all := profile.Explained(profile.Profile{Curves: []profile.Curve{a, b, own}}, "done")
	if in != 2 || all != 2 || math.Abs(sum-0.6) > 0.1 || stdErr <= 0 || stdErr > 0.1 {
		t.Errorf("explained %v ± %v by %d of %d, want about .6 by 2 of 2", sum, stdErr, in, all)
	}
	if _, _, in, all := profile.Explained(profile.Profile{Curves: []profile.Curve{a}}, "other"); in != 0 || all != 0 {
		t.Errorf("explained of a progress point without a curve, by %d of %d", in, all)
	}
}

// Time is not said to be of none of the regions examined while the slope of one is not known.
func TestExplainedSoFar(t *testing.T) {
	a := slowed(rand.New(rand.NewPCG(7, 8)), 0.4, 0.4)
	b := profile.Curve{
		Mode: a.Mode, Region: profile.Region{Name: "b"}, Progress: a.Progress, Metric: a.Metric, BasePeriod: a.BasePeriod,
		Effects: []profile.Effect{profile.Effect{Speedup: 0.1}.Withhold(profile.Withheld{Code: "windows"})},
	}
	held := slowed(rand.New(rand.NewPCG(9, 10)), 0.1, 0.1)
	held.Region.Name, held.HoldsUp = "c", 0.4
	for _, tt := range []struct {
		curves []profile.Curve
		want   string
	}{
		{[]profile.Curve{a}, "of that time is of none of the regions examined\n"},
		{[]profile.Curve{a, b}, "of that time is of none of the regions examined whose slopes are known, 1 of 2\n"},
		{[]profile.Curve{a, b, held}, "of that time is of none of the regions examined whose slopes are known, 1 of 3\n"},
	} {
		var text strings.Builder
		p := profile.Profile{Curves: tt.curves}
		p.Finish()
		if err := p.WriteAnswer(&text, ""); err != nil || !strings.Contains(text.String(), tt.want) {
			t.Errorf("%d regions: %v, the answer lacks %q:\n%s", len(tt.curves), err, tt.want, text.String())
		}
	}
}

func TestReadRefusesSlopes(t *testing.T) {
	for says, s := range map[string][]profile.Slope{
		"slopes[0].level":      {{Level: 2}},
		"slopes[1].level":      {{Level: 0.3}, {Level: 0.1}},
		"slopes[0].taken":      {{Level: 0.1, Taken: -1}},
		"slopes[0].elasticity": {{Level: 0.1, Elasticity: 3, Hi: 1}},
		"slopes[0]: samples":   {{Level: 0.1, Elasticities: []float64{1}}},
		"slopes[0] 1e+300":     {{Level: 0.1, VisitRatio: 1e300}},
	} {
		document, err := json.Marshal(profile.Profile{Curves: []profile.Curve{{Mode: profile.ModeSlowdown, Metric: profile.MetricThroughput, Slopes: s}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := profile.Read(strings.NewReader(string(document))); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("Read of %+v: %v, want an error that says %q", s, err, says)
		}
	}
	good := profile.Profile{Curves: []profile.Curve{slowed(rand.New(rand.NewPCG(9, 9)), 0.4, 0.5)}}
	good.Curves[0].Slopes[0].VisitRatio, good.Curves[0].Slopes[0].VisitRatioErr = 1e6, 1e-200
	if err := profile.Merge(good, good).WriteJSON(io.Discard); err != nil {
		t.Errorf("what can be read cannot be written when it is merged: %v", err)
	}
	for key, part := range map[string]*float64{"waits_for_processor": &good.Curves[0].Behind, "near_deadlines": &good.Curves[0].Expiring, "awaited": &good.Curves[0].Awaited} {
		*part = 1.5
		document, err := json.Marshal(good)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := profile.Read(strings.NewReader(string(document))); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("Read of 1.5 for a part: %v, want an error that says %s", err, key)
		}
		*part = 1
	}
	document, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	back, err := profile.Read(strings.NewReader(string(document)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(good.Curves[0].Slopes, back.Curves[0].Slopes); diff != "" {
		t.Errorf("slopes after reading (-want +got):\n%s", diff)
	}
}

// Work that avoids what is slower comes back to what is faster: two workers of whom the less loaded
// is asked. The bound from above is wider by twice what the visit ratio answers by, if that is more
// than chance.
func TestSlopeOfWhatWorkAvoids(t *testing.T) {
	const at = 0.5
	hi := func(ratio, err float64) (float64, bool) {
		c := slowed(rand.New(rand.NewPCG(1, 2)), 0.4, 0.4)
		for i := range c.Slopes {
			c.Slopes[i].Elasticity, c.Slopes[i].StdErr, c.Slopes[i].Lo, c.Slopes[i].Hi = c.Slopes[1].Elasticity, c.Slopes[1].StdErr, c.Slopes[1].Lo, c.Slopes[1].Hi
			c.Slopes[i].VisitRatio, c.Slopes[i].VisitRatioErr = ratio, err*math.Sqrt2 // both together are as sure as that
		}
		c.AnswerFromSlopes([]float64{at})
		e := c.Effects[0]
		return e.Hi - stats.ModelError, slices.ContainsFunc(e.Warnings, func(w string) bool { return strings.Contains(w, "work avoids a") })
	}
	homogeneous, _ := hi(0, 0.01)
	for _, tt := range []struct{ ratio, err, wider float64 }{
		{-0.4, 0.05, 2 * at * (0.4 + 2*0.05)},
		{-0.4, 0.2, 0},    // chance
		{-0.03, 0.001, 0}, // edges of windows
		{+0.4, 0.05, 0},   // done again: less of that where it is faster
	} {
		got, warned := hi(tt.ratio, tt.err)
		if want := homogeneous * (1 + tt.wider); math.Abs(got-want) > 0.02 || warned != (tt.wider > 0) {
			t.Errorf("%+v: at most %.3f, warned %v, want %.3f", tt, got, warned, want)
		}
	}
}

// A batch is larger where it takes longer, so that slower by 10 % costs little of what slower by 30
// % does, and the period is not convex: the small slope bounds nothing.
func TestSlopeOfBatches(t *testing.T) {
	c := slowed(rand.New(rand.NewPCG(1, 2)), 0.15, 0.55)
	for i := range c.Slopes {
		c.Slopes[i].VisitRatio, c.Slopes[i].VisitRatioErr = -0.4, 0.02
	}
	c.AnswerFromSlopes([]float64{0.1, 0.5})
	if near, far := c.Effects[0], c.Effects[1]; near.Hi < 0.055 || far.Hi < 0.28 || far.Reduction <= near.Reduction {
		t.Errorf("%+v, %+v: want bounds by the large slope of .55", near, far)
	}
}

// The large level, which is more precise, counts for the number as far as slopes seldom bend by
// more.
func TestSlopeBends(t *testing.T) {
	c := profile.Curve{Mode: profile.ModeSlowdown, Metric: profile.MetricThroughput, BasePeriod: 10e6, Own: 6e6, Slopes: []profile.Slope{
		{Level: 0.1, Taken: 0.1, Samples: 9, Elasticity: 0.1, StdErr: 0.3, Lo: -0.5, Hi: 0.7},
		{Level: 0.3, Taken: 0.3, Samples: 9, Elasticity: 0.6, StdErr: 0.01, Lo: 0.58, Hi: 0.62},
	}}
	c.AnswerFromSlopes([]float64{0.1})
	if got := c.Effects[0].Reduction; got < 0.050 || got > 0.058 {
		t.Errorf("%.4f, want nearly the .06 of the precise slope", got)
	}
	c.Slopes[0].StdErr, c.Slopes[0].Lo, c.Slopes[0].Hi = 0.01, 0.08, 0.12
	c.AnswerFromSlopes([]float64{0.1})
	if got := c.Effects[0].Reduction; got < 0.010 || got > 0.011 {
		t.Errorf("%.4f, want the .01 of the small slope, as precise", got)
	}
}

// Where work is routed by state nothing beyond 10 % surely helps, whichever region it is; near, the
// slope stays.
func TestWidenByRoutes(t *testing.T) {
	for ratio, least := range map[float64]bool{0: true, 1.5: false, -0.4: false} {
		rng := rand.New(rand.NewPCG(1, 2))
		routed, other := slowed(rng, 0.4, 0.4), slowed(rng, 0.3, 0.3)
		for i := range routed.Slopes {
			routed.Slopes[i].VisitRatio, routed.Slopes[i].VisitRatioErr = ratio, 0.05
		}
		profile.WidenByOthers([]profile.Curve{routed, other})
		for _, e := range other.Effects {
			if got, want := e.Lo > 0, least || e.Speedup <= profile.Near; got != want {
				t.Errorf("visit ratio %v: %v faster brings at least %v, more than nothing: %v, want %v", ratio, e.Speedup, e.Lo, got, want)
			}
		}
	}
}

// A run that was saved without its samples is left out beside others; a young one is no reason to
// say nothing.
func TestMergeBesideRunsWithoutSamples(t *testing.T) {
	full, bare, young := slowed(rand.New(rand.NewPCG(1, 2)), 0.4, 0.4), slowed(rand.New(rand.NewPCG(1, 2)), 0.4, 0.4), slowed(rand.New(rand.NewPCG(1, 2)), 0.4, 0.4)
	bare.Slopes = nil
	young.Slopes = []profile.Slope{profile.NewSlope(0.1, 0.1, []float64{0.4, 0.4})}
	young.AnswerFromSlopes([]float64{0.1})
	at := func(s int64, c profile.Curve) profile.Profile {
		return profile.Profile{Started: time.Unix(s, 0), Curves: []profile.Curve{c}}
	}
	began := young
	began.Slopes = []profile.Slope{profile.NewSlope(0.1, 0, nil), profile.NewSlope(0.3, 0, nil)}
	if s := profile.Merge(at(1, full), at(2, began)).Curves[0].Slopes; s[0].Taken != 0.1 || s[1].Taken != 0.3 {
		t.Errorf("beside a run that has just begun %v and %v were taken, want what the other one took", s[0].Taken, s[1].Taken)
	}
	merged := profile.Merge(at(1, full), at(2, bare), at(3, young)).Curves[0]
	if e := merged.Effects[0]; !e.Known() || len(merged.Slopes[0].Elasticities) != 22 || !slices.Contains(e.Warnings, "a run is left out that was saved without its samples") {
		t.Errorf("%+v of %d samples, want 22, and a warning", e, len(merged.Slopes[0].Elasticities))
	}
	if e := profile.Merge(at(1, bare), at(2, young)).Curves[0].Effects[0]; !e.Known() {
		t.Errorf("of one that has no samples and one that has too few: %+v", e)
	}
}

// A region that others may bring more than by their bounds does not lead.
func TestLeadsMindsBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	curve := func(name string, elasticity float64, inside bool) profile.Curve {
		c := profile.Curve{
			Mode: profile.ModeSlowdown, Region: profile.Region{Name: name}, Progress: "done", Metric: profile.MetricThroughput, BasePeriod: 10e6, Own: 4e6, Inside: inside,
			Slopes: []profile.Slope{profile.NewSlope(0.1, 0.1, around(rng, 20, elasticity, 0.01)), profile.NewSlope(0.3, 0.3, around(rng, 20, elasticity, 0.003))},
		}
		c.AnswerFromSlopes([]float64{0.1})
		return c
	}
	for _, inside := range []bool{false, true} {
		p := profile.Profile{Curves: []profile.Curve{curve("a", 0.3, false), curve("b", 0.05, inside)}}
		p.Finish()
		if leads := p.Curves[0].Leads; leads == inside {
			t.Errorf("b waits for others %t: a leads %t", inside, leads)
		}
	}
}
