package causal

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var (
	near      = approx(1e-6)
	estimates = cmp.AllowUnexported(estimate{})
)

func approx(margin float64) cmp.Option { return cmpopts.EquateApprox(0, margin) }

func TestSummarize(t *testing.T) {
	const alike = "one sample resembles the next: the interval may be too narrow"
	const normal = "the interval assumes a normal distribution: fewer than 6 iterations"
	for _, tt := range []struct {
		name   string
		values []float64
		want   estimate
	}{
		// Squares of deviations 9 4 1 0 1 4 9, their sum 28; 28/6 = 4.6667, its root by
		// that of 7. Ranks 1 and 7 bound the median with 1-2/128, 2 and 6 with 1-16/128.
		{"one to seven", []float64{4, 2, 6, 1, 7, 3, 5}, estimate{median: 4, stdErr: 0.81649658, lo: 1, hi: 7, samples: 7}},
		// Ranks 2 and 9: 1-22/1024.
		{"one to ten", []float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, estimate{median: 5.5, stdErr: 0.95742711, lo: 2, hi: 9, samples: 10, warnings: []string{alike}}},
		// Deviations 0 0 .1 .1 .2 .2 40: their median .1, so 50 is out, 9.8 and 10.2 are
		// not. What is kept: squares .1, by 5, root .141421, by root of 6. The interval is of all.
		{"an outlier", []float64{10, 10.1, 9.9, 10, 10.2, 9.8, 50}, estimate{median: 10, stdErr: 0.05773503, lo: 9.8, hi: 50, samples: 7, outliers: 1}},
		// Deviations 0 1 1 1 1 3 3.01: their median 1, so -3 is kept and 3.01 is not. What
		// is kept: mean -.5, squares 11.5, by 5, root 1.516575, by root of 6.
		{"at three deviations", []float64{-3, -1, -1, 0, 1, 1, 3.01}, estimate{median: 0, stdErr: 0.61913919, lo: -3, hi: 3.01, samples: 7, outliers: 1}},
		{"six", []float64{1, 2, 3, 4, 5, 6}, estimate{median: 3.5, stdErr: 0.76376262, lo: 1, hi: 6, samples: 6}},
		// Student's t with 2 degrees of freedom is 4.302653 at 97.5 %.
		{"three", []float64{1, 2, 3}, estimate{median: 2, stdErr: 0.57735027, lo: 2 - 2.4841377, hi: 2 + 2.4841377, samples: 3, warnings: []string{normal}}},
		{"two", []float64{1, 3}, estimate{median: 2, stdErr: 1, lo: 2 - 12.7062047, hi: 2 + 12.7062047, samples: 2, warnings: []string{normal}}},
		{"one", []float64{0.3}, estimate{median: 0.3, lo: 0.3, hi: 0.3, samples: 1, warnings: []string{normal}}},
		{"constant", []float64{.25, .25, .25, .25, .25, .25}, estimate{median: .25, lo: .25, hi: .25, samples: 6}},
		{"three times the same", []float64{.25, .25, .25}, estimate{median: .25, lo: .25, hi: .25, samples: 3, warnings: []string{normal}}},
		{"most the same", []float64{1, 1, 1, 1, 1, 1, 1.001, 0.999}, estimate{median: 1, lo: 0.999, hi: 1, samples: 8, outliers: 2}},
		{"negative", []float64{-3, -1, -2, -4, -6, -5}, estimate{median: -3.5, stdErr: 0.76376262, lo: -6, hi: -1, samples: 6}},
	} {
		given := append([]float64{}, tt.values...)
		got := summarize(tt.values)
		if diff := cmp.Diff(tt.want, got, near, estimates); diff != "" {
			t.Errorf("%s: summarize(%v) differs, -want +got:\n%s", tt.name, given, diff)
		}
		if !cmp.Equal(given, tt.values) {
			t.Errorf("%s: summarize changes its argument from %v to %v", tt.name, given, tt.values)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 9, 2}, 3}} {
		if got := median(tt.values); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("median(%v) = %g, want %g", tt.values, got, tt.want)
		}
	}
}

func TestEffect(t *testing.T) {
	want := Effect{Speedup: 0.25, Samples: 2, Withheld: "2 iterations measured, 5 are needed", Reductions: []float64{0.1, 0.1}}
	if diff := cmp.Diff(want, effectOf(0.25, []float64{0.1, 0.1}, nil)); diff != "" {
		t.Errorf("effect of two values differs, -want +got:\n%s", diff)
	}
	want = Effect{Speedup: 0.25, Samples: 6, Reduction: 0.2, Lo: 0.2 - modelError, Hi: 0.2 + modelError, ThroughputGain: 0.25, Reductions: []float64{.2, .2, .2, .2, .2, .2}}
	if diff := cmp.Diff(want, effectOf(0.25, []float64{.2, .2, .2, .2, .2, .2}, nil), near); diff != "" {
		t.Errorf("effect of six values differs, -want +got:\n%s", diff)
	}
}

func TestGain(t *testing.T) {
	for _, tt := range []struct{ reduction, want float64 }{
		{0, 0}, {0.2, 0.25}, {0.5, 1}, {-1, -0.5}, {0.99, 99}, {1, 99}, {7, 99},
	} {
		if got := gain(tt.reduction); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("gain(%g) = %g, want %g", tt.reduction, got, tt.want)
		}
	}
}

// A model gives the period of a system from how long each of its regions takes. It is of
// degree one: if all take twice as long, so does it, unless there is uncovered time.
type model struct {
	name   string
	times  []float64 // ms, by region
	period func(x []float64) float64
}

func models() []model {
	const workers = 8
	return []model{
		{"serial c, o and 3 ms that no span covers", []float64{2, 5}, func(x []float64) float64 { return x[0] + x[1] + 3 }},
		{"serial, all covered", []float64{2, 5, 0.1}, func(x []float64) float64 { return x[0] + x[1] + x[2] }},
		{"mutex of 8, C and W", []float64{2, 10}, func(x []float64) float64 { return max(x[1]+x[0], workers*x[0]) }},
		{"join", []float64{20, 16}, func(x []float64) float64 { return max(x[0], x[1]) }},
		{"pipeline of 10 and 7 with two workers, and a consumer", []float64{20, 14, 1}, func(x []float64) float64 { return max(x[0]/2, x[1]/2, x[2]) }},
		{"fan-out a, b1, b2, e", []float64{2, 10, 7, 2}, func(x []float64) float64 { return x[0] + max(x[1], x[2]) + x[3] }},
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
func (m model) experiments(iteration int, speedups []float64) (all []experiment) {
	const visits = 1e6
	measure := func(a arm, x []float64) {
		all = append(all, experiment{
			arm:       a,
			iteration: iteration,
			passages:  []passage{{visits, time.Duration(math.Round(m.period(x) * visits * float64(time.Millisecond)))}},
		})
	}
	measure(arm{0, sparesNone}, m.times)
	for _, s := range speedups {
		longer := make([]float64, len(m.times))
		for i, x := range m.times {
			longer[i] = x * (1 + arm{speedup: s}.factor())
		}
		measure(arm{s, sparesNone}, longer)
		for r := range m.times {
			measure(arm{s, r}, with(longer, r, m.times[r]))
		}
	}
	return all
}

func TestReductionsAreExact(t *testing.T) {
	speedups := []float64{0.1, 0.25, 0.5, 0.75, 0.8}
	for _, m := range models() {
		var experiments []experiment
		for i := range leastSamples {
			experiments = append(experiments, m.experiments(i, speedups)...)
		}
		byIteration := periodsOf(experiments, 0)
		for r := range m.times {
			for _, s := range speedups {
				got := reductions(byIteration, r, s)
				if len(got) != leastSamples {
					t.Fatalf("%s: %d reductions, want %d", m.name, len(got), leastSamples)
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
		byIteration := periodsOf(tt.m.experiments(0, []float64{tt.s}), 0)
		if got := reductions(byIteration, tt.r, tt.s)[0]; math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: region %d faster by %g: reduction %.10f, want %.10f", tt.m.name, tt.r, tt.s, got, tt.want)
		}
	}
}

func TestCoverages(t *testing.T) {
	for i, want := range []float64{0.7, 1, 1, 1, 1, 1} {
		m := models()[i]
		for _, got := range coverages(periodsOf(m.experiments(0, []float64{0.1, 0.5}), 0)) {
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
		{[]float64{8, 8, 8}, "done: stretching all spans by x makes the period 8.0 x longer: some spans wait for others, and are stretched with them; wrap such waits in causal.Blocked"},
	} {
		if got := coverageNote("done", tt.coverages); got != tt.want {
			t.Errorf("coverageNote(%v) = %q, want %q", tt.coverages, got, tt.want)
		}
	}
}

// An arm that is missing leaves out its iteration, and nothing else.
func TestReductionsWithGaps(t *testing.T) {
	m := models()[1]
	var experiments []experiment
	for i := range 4 {
		for _, e := range m.experiments(i, []float64{0.5}) {
			lacks := i == 0 && e.speedup == 0 || i == 1 && e.speedup > 0 && e.spared == sparesNone || i == 2 && e.spared == 0
			if lacks {
				e.passages = []passage{{}}
			}
			experiments = append(experiments, e)
		}
	}
	byIteration := periodsOf(experiments, 0)
	for r, want := range []int{1, 2, 2} {
		if got := reductions(byIteration, r, 0.5); len(got) != want {
			t.Errorf("region %d: reductions %v, want %d of them", r, got, want)
		}
	}
	if got := reductions(byIteration, 7, 0.5); len(got) != 0 {
		t.Errorf("a region that was never spared: reductions %v, want none", got)
	}
	if got := reductions(byIteration, 0, 0.25); len(got) != 0 {
		t.Errorf("a speed-up that was never tried: reductions %v, want none", got)
	}
}

// The points of one plan are told apart.
func TestPeriodsOfEachPoint(t *testing.T) {
	experiments := []experiment{
		{arm: arm{0, sparesNone}, passages: []passage{{10, 100}, {0, 100}}},
		{arm: arm{0, sparesNone}, passages: []passage{{20, 100}, {4, 100}}},
		{arm: arm{0.5, sparesNone}, passages: []passage{{5, 100}, {2, 100}}},
	}
	first, second := periodsOf(experiments, 0)[0], periodsOf(experiments, 1)[0]
	if !cmp.Equal(first.none, []float64{10, 5}) || first.all[0.5] != 20 {
		t.Errorf("the first point: %+v", first)
	}
	if !cmp.Equal(second.none, []float64{25}) || second.all[0.5] != 50 {
		t.Errorf("the second point: %+v", second)
	}
}

// profileOf is the profile of a run that has measured a model.
func profileOf(t *testing.T, iterations int, m model, lines ...string) Profile {
	t.Helper()
	p := mustParse(t, lines...)
	r, err := newRun(p, config{enabled: true, caps: wide}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.times {
		r.regions = append(r.regions, RegionKey{Scope: "scope", Span: "r" + string(rune('0'+i))})
	}
	var speedups []float64
	for _, s := range p.Grid.Speedups {
		if s > 0 {
			speedups = append(speedups, s/100)
		}
	}
	for i := range iterations {
		r.experiments = append(r.experiments, m.experiments(i, speedups)...)
	}
	r.iterations = iterations
	profile := r.profile()
	finish(&profile)
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
			r := int(c.Region.Span[1] - '0')
			if want := time.Duration(m.period(m.times) * float64(time.Millisecond)); (c.BasePeriod - want).Abs() > 1 {
				t.Errorf("%s: base period %v, want %v", m.name, c.BasePeriod, want)
			}
			if len(c.Effects) != 3 {
				t.Fatalf("%s: %d effects, want 3", m.name, len(c.Effects))
			}
			for i, s := range []float64{0.1, 0.25, 0.5} {
				e := c.Effects[i]
				want := Effect{Speedup: s, Reduction: m.truth(r, s), Lo: m.truth(r, s) - modelError, Hi: m.truth(r, s) + modelError, ThroughputGain: gain(m.truth(r, s)), Samples: 6}
				if diff := cmp.Diff(want, e, near, cmpopts.IgnoreFields(Effect{}, "Reductions")); diff != "" {
					t.Errorf("%s: region %d differs, -want +got:\n%s", m.name, r, diff)
				}
			}
			if s := c.strength(); s > last+1e-9 {
				t.Errorf("%s: curves are not ordered by strength", m.name)
			} else {
				last = s
			}
		}
		if strings.Contains(m.name, "no span covers") != (len(p.Notes) > 0) {
			t.Errorf("%s: notes %q", m.name, p.Notes)
		}
	}
}
