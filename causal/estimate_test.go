package causal

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
	"github.com/otelprof/otelprof/internal/stats"
)

var near = cmpopts.EquateApprox(0, 1e-6)

// A model gives the period of a system from how long each of its regions takes. It is of
// degree one: if all take twice as long, so does it, unless there is uncovered time.
type model struct {
	name   string
	times  []float64 // ms, by region
	period func(x []float64) float64
	// machine is what becomes of processor time in each experiment.
	machine record.Load
}

func models() []model {
	const workers = 8
	return []model{
		{"serial c, o and 3 ms that no span covers", []float64{2, 5}, func(x []float64) float64 { return x[0] + x[1] + 3 }, record.Load{}},
		{"serial, all covered", []float64{2, 5, 0.1}, func(x []float64) float64 { return x[0] + x[1] + x[2] }, record.Load{}},
		{"mutex of 8, C and W", []float64{2, 10}, func(x []float64) float64 { return max(x[1]+x[0], workers*x[0]) }, record.Load{}},
		{"join", []float64{20, 16}, func(x []float64) float64 { return max(x[0], x[1]) }, record.Load{}},
		{"pipeline of 10 and 7 with two workers, and a consumer", []float64{20, 14, 1}, func(x []float64) float64 { return max(x[0]/2, x[1]/2, x[2]) }, record.Load{}},
		{"fan-out a, b1, b2, e", []float64{2, 10, 7, 2}, func(x []float64) float64 { return x[0] + max(x[1], x[2]) + x[3] }, record.Load{}},
	}
}

func with(x []float64, r int, v float64) []float64 {
	x = append([]float64{}, x...)
	x[r] = v
	return x
}

// truth is what the system would really do if region r were faster by s.
func (m model) truth(r int, s float64) float64 {
	return 1 - m.period(with(m.times, r, m.times[r]*(1-s)))/m.period(m.times)
}

// experiments are what one iteration over a system gives, without noise.
func (m model) experiments(iteration int, speedups []float64) (all []experiment.Experiment) {
	const visits = 1e6
	measure := func(a experiment.Arm, x []float64) {
		all = append(all, experiment.Experiment{
			Arm:       a,
			Iteration: iteration,
			Machine:   m.machine,
			Passages:  []experiment.Passage{{Visits: visits, Effective: time.Duration(math.Round(m.period(x) * visits * float64(time.Millisecond)))}},
		})
	}
	measure(experiment.Arm{Speedup: 0, Spared: experiment.SparesNone}, m.times)
	for _, s := range speedups {
		longer := make([]float64, len(m.times))
		for i, x := range m.times {
			longer[i] = x * (1 + experiment.Arm{Speedup: s}.Factor())
		}
		measure(experiment.Arm{Speedup: s, Spared: experiment.SparesNone}, longer)
		for r := range m.times {
			measure(experiment.Arm{Speedup: s, Spared: r}, with(longer, r, m.times[r]))
		}
	}
	return all
}

func TestReductionsAreExact(t *testing.T) {
	speedups := []float64{0.1, 0.25, 0.5, 0.75, 0.8}
	for _, m := range models() {
		var experiments []experiment.Experiment
		for i := range stats.LeastSamples {
			experiments = append(experiments, m.experiments(i, speedups)...)
		}
		byIteration := experiment.IterationsOf(experiments, 0)
		for r := range m.times {
			for _, s := range speedups {
				got := experiment.Reductions(byIteration, r, s)
				if len(got) != stats.LeastSamples {
					t.Fatalf("%s: %d reductions, want %d", m.name, len(got), stats.LeastSamples)
				}
				for _, v := range got {
					if want := m.truth(r, s); math.Abs(v-want) > 1e-9 {
						t.Errorf("%s: region %d faster by %g: reduction %.12f, want %.12f", m.name, r, s, v, want)
					}
				}
			}
		}
	}
}

// The numbers that the design gives.
func TestReductionsOfKnownSystems(t *testing.T) {
	all := models()
	mutex, pipeline, fan := all[2], all[4], all[5]
	for _, tt := range []struct {
		m    model
		r    int
		s    float64
		want float64
	}{
		{mutex, 0, 0.1, 0.10},
		{mutex, 0, 0.25, 0.25},
		{mutex, 0, 0.5, 0.3125},
		{mutex, 1, 0.5, 0},
		{pipeline, 0, 0.25, 0.25},
		{pipeline, 0, 0.5, 0.30},
		{pipeline, 1, 0.5, 0},
		{pipeline, 2, 0.5, 0},
		{fan, 1, 0.25, 2.5 / 14},
		{fan, 1, 0.5, 3. / 14},
		{fan, 2, 0.5, 0},
		{fan, 0, 0.5, 1. / 14},
	} {
		byIteration := experiment.IterationsOf(tt.m.experiments(0, []float64{tt.s}), 0)
		if got := experiment.Reductions(byIteration, tt.r, tt.s)[0]; math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: region %d faster by %g: reduction %.10f, want %.10f", tt.m.name, tt.r, tt.s, got, tt.want)
		}
	}
}

func TestCoverages(t *testing.T) {
	for i, want := range []float64{0.7, 1, 1, 1, 1, 1} {
		m := models()[i]
		for _, got := range experiment.Coverages(experiment.IterationsOf(m.experiments(0, []float64{0.1, 0.5}), 0)) {
			if math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: coverage %.10f, want %g", m.name, got, want)
			}
		}
	}
}

func TestCoverageNote(t *testing.T) {
	for _, tt := range []struct {
		coverages []float64
		want      string
	}{
		{nil, ""},
		{[]float64{0.1, 0.1}, ""}, // too few to tell
		{[]float64{0.85, 0.9, 1.1}, ""},
		{[]float64{0.7, 0.7, 0.7}, "done: spans cover about 70% of the period; what no span covers is taken as it is"},
		{[]float64{-0.1, -0.2, 0}, "done: spans cover about 0% of the period; what no span covers is taken as it is"},
	} {
		if got := experiment.CoverageNote("done", tt.coverages); got != tt.want {
			t.Errorf("coverageNote(%v) = %q, want %q", tt.coverages, got, tt.want)
		}
	}
}

// A period that grows by more than the spans were stretched tells of waits that were stretched,
// too: there is no number then.
func TestOverstretched(t *testing.T) {
	for _, tt := range []struct {
		coverages []float64
		want      profile.Withheld
	}{
		{nil, profile.Withheld{}},
		{[]float64{8, 8}, profile.Withheld{}}, // too few to tell
		{[]float64{0.9, 1.05, 1.3}, profile.Withheld{}},
		{[]float64{8, 8, 8}, profile.Withheld{Code: withheldcode.Stretched, Part: 8}},
	} {
		if got := experiment.Overstretched(tt.coverages); got != tt.want {
			t.Errorf("overstretched(%v) = %+v, want %+v", tt.coverages, got, tt.want)
		}
	}
}

// An arm that is missing leaves out its iteration, and nothing else.
func TestReductionsWithGaps(t *testing.T) {
	m := models()[1]
	var experiments []experiment.Experiment
	for i := range 4 {
		for _, e := range m.experiments(i, []float64{0.5}) {
			lacks := i == 0 && e.Speedup == 0 || i == 1 && e.Speedup > 0 && e.Spared == experiment.SparesNone || i == 2 && e.Spared == 0
			if lacks {
				e.Passages = []experiment.Passage{{}}
			}
			experiments = append(experiments, e)
		}
	}
	byIteration := experiment.IterationsOf(experiments, 0)
	for r, want := range []int{1, 2, 2} {
		if got := experiment.Reductions(byIteration, r, 0.5); len(got) != want {
			t.Errorf("region %d: reductions %v, want %d of them", r, got, want)
		}
	}
	if got := experiment.Reductions(byIteration, 7, 0.5); len(got) != 0 {
		t.Errorf("a region that was never spared: reductions %v, want none", got)
	}
	if got := experiment.Reductions(byIteration, 0, 0.25); len(got) != 0 {
		t.Errorf("a speed-up that was never tried: reductions %v, want none", got)
	}
}

// The points of one plan are distinguished.
func TestIterationsOfEachPoint(t *testing.T) {
	experiments := []experiment.Experiment{
		{Arm: experiment.Arm{Speedup: 0, Spared: experiment.SparesNone}, Passages: []experiment.Passage{{Visits: 10, Effective: 100}, {Visits: 0, Effective: 100}}},
		{Arm: experiment.Arm{Speedup: 0, Spared: experiment.SparesNone}, Passages: []experiment.Passage{{Visits: 20, Effective: 100}, {Visits: 4, Effective: 100}}},
		{Arm: experiment.Arm{Speedup: 0.5, Spared: experiment.SparesNone}, Passages: []experiment.Passage{{Visits: 5, Effective: 100}, {Visits: 2, Effective: 100}}},
	}
	first, second := experiment.IterationsOf(experiments, 0)[0], experiment.IterationsOf(experiments, 1)[0]
	if first.None != (experiment.Total{Time: 200, Visits: 30}) || first.All[0.5].Period() != 20 {
		t.Errorf("the first point: %+v", first)
	}
	if second.None.Period() != 25 || second.All[0.5].Period() != 50 {
		t.Errorf("the second point: %+v", second)
	}
}

// profileOf is the profile of a run that has measured a model.
func profileOf(t *testing.T, iterations int, m model, lines ...string) profile.Profile {
	t.Helper()
	p := mustParse(t, lines...)
	r, err := engine.NewRun(p, engine.Settings{Caps: wide, Breaker: deaf, Allowed: plan.DefaultAllowed()}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.times {
		r.Regions = append(r.Regions, profile.Region{Scope: "scope", Name: "r" + string(rune('0'+i))})
	}
	var speedups []float64
	for _, s := range p.Grid.Speedups {
		if s > 0 {
			speedups = append(speedups, s/100)
		}
	}
	for i := range iterations {
		r.Experiments = append(r.Experiments, m.experiments(i, speedups)...)
	}
	r.Iterations = iterations
	profile := r.Profile(func() {})
	profile.Finish()
	return profile
}

func TestProfileOfModels(t *testing.T) {
	for _, m := range models() {
		p := profileOf(t, 6, m)
		if len(p.Curves) != len(m.times) {
			t.Fatalf("%s: %d curves, want %d", m.name, len(p.Curves), len(m.times))
		}
		last := math.Inf(1)
		for _, c := range p.Curves {
			r := int(c.Region.Name[1] - '0')
			if want := time.Duration(m.period(m.times) * float64(time.Millisecond)); (c.BasePeriod - want).Abs() > 1 {
				t.Errorf("%s: base period %v, want %v", m.name, c.BasePeriod, want)
			}
			if len(c.Effects) != 3 {
				t.Fatalf("%s: %d effects, want 3", m.name, len(c.Effects))
			}
			for i, s := range []float64{0.1, 0.25, 0.5} {
				e := c.Effects[i]
				want := profile.Effect{Speedup: s, Reduction: m.truth(r, s), Lo: m.truth(r, s) - stats.ModelError, Hi: m.truth(r, s) + stats.ModelError, Samples: 6}
				if diff := cmp.Diff(want, e, near, cmpopts.IgnoreFields(profile.Effect{}, "Reductions", "ThroughputGain", "Verdict")); diff != "" {
					t.Errorf("%s: region %d differs, -want +got:\n%s", m.name, r, diff)
				}
			}
			if strongest := c.Effects[2].Reduction; strongest > last+1e-9 {
				t.Errorf("%s: curves are not ordered by strength", m.name)
			} else {
				last = strongest
			}
		}
		if strings.Contains(m.name, "no span covers") != (len(p.Notes) > 0) {
			t.Errorf("%s: notes %q", m.name, p.Notes)
		}
	}
}

// An empty profile says why: the complaint against profilers of this kind.
func TestProfileSaysWhatIsMissing(t *testing.T) {
	m := models()[1]
	none := profileOf(t, 0, m, `regions: [{span: "r?"}, {scope: db, span: query}]`, "progress: [{span: a, type: throughput}, {span: b, type: throughput}]")
	want := []string{
		`no span seen that matches region "db:query"`,
		`no experiment with a visit of progress point "a" yet`,
		`no experiment with a visit of progress point "b" yet`,
	}
	if diff := cmp.Diff(want, none.Notes); diff != "" || len(none.Curves) != 0 {
		t.Errorf("%d curves; notes differ, -want +got:\n%s", len(none.Curves), diff)
	}
	few := profileOf(t, 2, m)
	for _, c := range few.Curves {
		for _, e := range c.Effects {
			if want := (profile.Effect{Speedup: e.Speedup, Samples: 2, Verdict: profile.VerdictWithheld, Withheld: profile.Withheld{Code: withheldcode.Iterations, Count: 2, Need: 5}, Reductions: e.Reductions}); !cmp.Equal(e, want) || len(e.Reductions) != 2 {
				t.Errorf("%v: effect %+v, want %+v", c.Region, e, want)
			}
		}
	}
	var table strings.Builder
	if err := few.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	if strings.Count(table.String(), "note: 2 iterations measured, 5 are needed\n") != 1 {
		t.Errorf("the table does not say, once, why there are no numbers:\n%s", &table)
	}
	enough := profileOf(t, 5, m)
	for _, e := range enough.Curves[0].Effects {
		if !e.Known() || len(e.Warnings) != 1 || e.Samples != 5 {
			t.Errorf("of five iterations: %+v, want a number and a warning", e)
		}
	}
}
