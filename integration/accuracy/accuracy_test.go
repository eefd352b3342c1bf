package main

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/accuracy/workloads"
	"github.com/otelprof/otelprof/spans"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && (os.Args[1] == "-"+workloads.PeerFlag || os.Args[1] == "-"+workloads.WebPeerFlag) { // of TestServe and TestWorkloads
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

func TestSummarize(t *testing.T) {
	around := func(v float64) span { return span{v, v - 0.5, v + 0.5} }
	cells := []cell{
		{Mode: profile.ModeOverlap, Predicted: 10, Lo: 9, Hi: 11, Actual: around(10.5)},
		{Mode: profile.ModeOverlap, Predicted: 20, Lo: 19, Hi: 21, Actual: span{21.3, 20.4, 22.2}}, // not covered, but agrees: 1.3 < √(1²+0.9²)
		{Mode: profile.ModeOverlap, Predicted: 30, Lo: 29, Hi: 31, Actual: around(27)},             // no
		{Mode: profile.ModeOverlap, Withheld: "too little"},
		{Mode: profile.ModeOverlap, Predicted: 90, Unclaimed: true},
		{Mode: profile.ModeDilation, Predicted: 80},
	}
	want := summary{cells: 4, withheld: 1, meanAbsError: (0.5 + 1.3 + 3) / 3, worst: 3, coverage: 1. / 3, agreement: 2. / 3}
	got := summarize(cells, profile.ModeOverlap)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(summary{}), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("summarize differs, -want +got:\n%s", diff)
	}
	line := "accuracy SUMMARY mode=overlap cells=4 mean_abs_error=1.60 worst=3.00 coverage=0.33 withheld=1"
	if got := got.line("mode=overlap"); got != line {
		t.Errorf("line = %q, want %q", got, line)
	}
}

func TestSummarizeNothing(t *testing.T) {
	got := summarize([]cell{{Mode: profile.ModeOverlap, Withheld: "no"}}, profile.ModeOverlap)
	if got.cells != 1 || got.withheld != 1 || !math.IsNaN(got.meanAbsError) || !math.IsNaN(got.worst) || !math.IsNaN(got.coverage) {
		t.Errorf("summarize = %+v, want NaN without a number", got)
	}
}

// TestModes has each mode claim what it is right for, and each class of programs summed up.
func TestModes(t *testing.T) {
	for _, w := range append(workloads.Designed(), plainWorkloads()...) {
		l := newLab(w, thorough())
		if l.unclaimed(profile.ModeDilation) || l.unclaimed(profile.ModeReplay) || l.unclaimed(modeRuntime) || l.unclaimed(profile.ModeOverlap) != w.Withholds {
			t.Errorf("%s: only overlap may leave a program out", w.Name)
		}
		if !slices.Contains(classes, w.Class) {
			t.Errorf("%s: class %q: must be one of %q", w.Name, w.Class, classes)
		}
	}
	var out strings.Builder
	o := options{settings: settings{modes: []profile.Mode{profile.ModeDilation}}}
	o.sumUp(&out, []cell{
		{Mode: profile.ModeDilation, Class: workloads.Outside, Predicted: 10, Lo: 9, Hi: 11, Actual: span{12, 11, 13}},
		{Mode: profile.ModeDilation, Class: workloads.Crowded, Predicted: 20, Lo: 19, Hi: 21, Actual: span{20, 19, 21}},
		{Mode: profile.ModeDilation, Class: workloads.Crowded, Withheld: "too little"},
		{Mode: profile.ModeDilation, Class: workloads.Contended, Predicted: 90, Unclaimed: true},
	})
	want := []string{
		"accuracy SUMMARY mode=dilation cells=3 mean_abs_error=1.00 worst=2.00 coverage=0.50 withheld=1",
		"accuracy SUMMARY mode=dilation class=outside cells=1 mean_abs_error=2.00 worst=2.00 coverage=0.00 withheld=0",
		"accuracy SUMMARY mode=dilation class=saturated cells=2 mean_abs_error=0.00 worst=0.00 coverage=1.00 withheld=1",
		"# dilation: coverage is 0.50 if the interval of the actual value is allowed for",
	}
	if diff := cmp.Diff(want, strings.Split(out.String(), "\n")[:len(want)]); diff != "" {
		t.Errorf("the summary differs, -want +got:\n%s", diff)
	}
}

func TestCellLine(t *testing.T) {
	c := cell{Workload: "join", Mode: profile.ModeOverlap, Region: "a", Speedup: 0.25, Predicted: 24.9, Lo: 24.7, Hi: 25.1, Actual: span{25, 24.8, 25.2}}
	want := "accuracy join mode=overlap region=a speedup=0.25 predicted=24.90 lo=24.70 hi=25.10 actual=25.00 error=-0.10 actual_lo=24.80 actual_hi=25.20"
	if got := c.line(); got != want {
		t.Errorf("line = %q, want %q", got, want)
	}
	about := cell{Workload: "pool", Mode: profile.ModeReplay, Program: "build=go types=plain", Question: "pool to=6", Predicted: 18, Lo: 17, Hi: 19, Actual: span{17.5, 17, 18.25}}
	other := "accuracy pool mode=replay build=go types=plain question=pool to=6 predicted=18.00 lo=17.00 hi=19.00 actual=17.50 error=+0.50 actual_lo=17.00 actual_hi=18.25"
	if got := about.line(); got != other {
		t.Errorf("line = %q, want %q", got, other)
	}
	c.Withheld = `too "few"`
	want = `accuracy join mode=overlap region=a speedup=0.25 withheld="too \"few\""`
	if got := c.line(); got != want {
		t.Errorf("line = %q, want %q", got, want)
	}
}

func TestSpanOf(t *testing.T) {
	for _, tc := range []struct {
		values []float64
		want   span
	}{
		{[]float64{3}, span{3, 3, 3}},
		{[]float64{5, 1, 3, 2}, span{2.5, 1, 5}},
		{[]float64{6, 5, 4, 3, 2, 1}, span{3.5, 1, 6}},
		{[]float64{9, 8, 7, 6, 5, 4, 3, 2, 1}, span{5, 2, 8}}, // 96 %
	} {
		if got := spanOf(tc.values); got != tc.want {
			t.Errorf("spanOf(%v) = %v, want %v", tc.values, got, tc.want)
		}
	}
	if got := spanOf(nil); !math.IsNaN(got.Value) {
		t.Errorf("spanOf(nil) = %v, want NaN", got)
	}
}

func TestBurnScales(t *testing.T) {
	workloads.Calibrate()
	if workloads.PerSecond < 1e6 {
		t.Errorf("%g steps a second, want more than a million", workloads.PerSecond)
	}
}

// A small round of one workload. What comes out is not judged: it would take
// longer, and a machine that does nothing else.
func TestMeasure(t *testing.T) {
	s := thorough()
	s.modes = []profile.Mode{profile.ModeOverlap}
	s.speedups, s.rounds, s.overlap, s.pairs, s.window, s.patience = []float64{0.5}, 1, 1, 1, 50*ms, 0
	w := workloads.Designed()[0]
	r, err := newLab(w, s).measure()
	if err != nil {
		t.Fatal(err)
	}
	if want := len(w.Regions); len(r.Cells) != want {
		t.Errorf("%d cells, want %d", len(r.Cells), want)
	}
	for _, c := range r.Cells {
		t.Log(c.line())
		if math.IsNaN(c.Actual.Value) || c.Withheld == "" && math.IsNaN(c.Predicted) {
			t.Errorf("%s: no number, and no reason", c.line())
		}
	}
	var out bytes.Buffer
	r.print(&out, w)
	for _, want := range []string{"accuracy CONTROL name=a/a workload=join actual=", "# join: windows: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no line %q in\n%s", want, &out)
		}
	}
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{{"-mode", "none"}, {"-only", "("}, {"surplus"}, {"-lab", "none"}, {"-types", "plain"}, {"-mode", "replay", "-types", "none"}, {"-corpus", "x"}, {"-mode", "slowdown", "-corpus", "x", "-only", "none"}, {"-structure"}, {"-mode", "replay", "-structure", "-corpus", "x"}} {
		if err := run(context.Background(), args, &bytes.Buffer{}, &bytes.Buffer{}); err == nil {
			t.Errorf("run(%q) = nil, want an error", args)
		}
	}
	o, err := parseFlags([]string{"-quick", "-mode", "overlap", "-only", "join"}, &bytes.Buffer{})
	if err != nil || len(o.modes) != 1 || o.modes[0] != profile.ModeOverlap || len(o.speedups) >= len(thorough().speedups) {
		t.Errorf("parseFlags = %+v, %v; want overlap only, and fewer speed-ups", o, err)
	}
}

// TestServe has another process as the clients. It ends when the server does.
func TestServe(t *testing.T) {
	p := workloads.Start(workloads.Workload{Run: workloads.Serve}, idle(t))
	if got := p.Visits.Next(p.Visits.Latest()); got.Count == 0 {
		t.Error("no request was answered")
	}
	if err := p.End(); err != nil {
		t.Error(err)
	}
}

// idle is a hook that does nothing.
func idle(t *testing.T) spans.Hook {
	t.Helper()
	c, err := causal.NewController()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c.Hook()
}

// TestFail has a workload that cannot work: the error reaches the end of the program.
func TestFail(t *testing.T) {
	want := errors.New("no")
	p := workloads.Start(workloads.Workload{Run: func(_ context.Context, p *workloads.Program) { p.Fail(want) }}, idle(t))
	if err := p.End(); !errors.Is(err, want) {
		t.Errorf("end = %v, want %v", err, want)
	}
}

// TestWorkloads runs each program for some units of work.
func TestWorkloads(t *testing.T) {
	workloads.Calibrate()
	for name, all := range map[string][]workloads.Workload{
		"runtime": plainWorkloads(), "causal": workloads.ReplayedWorkloads(workloads.CausalTypes), "plain": workloads.ReplayedWorkloads(workloads.PlainTypes),
	} {
		for _, w := range all {
			t.Run(name+"/"+w.Name, func(t *testing.T) {
				p := workloads.Start(w, idle(t))
				for last := (workloads.Visit{}); last.Count < 3; {
					next := p.Visits.Next(last)
					if next.Count == last.Count {
						t.Error("no unit of work is done")
						break
					}
					last = next
				}
				if err := p.End(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestCalm has disturbed pairs count only where there are too few others.
func TestCalm(t *testing.T) {
	for _, tc := range []struct {
		all  []reading
		want []float64
	}{
		{nil, nil},
		{[]reading{{1, 0}, {9, 1.2}, {2, 0.5}, {3, 1}}, []float64{1, 2, 3}},
		{[]reading{{1, 0}, {9, 1.2}, {8, 5}, {2, 0.5}}, []float64{1, 2, 9}},
		{[]reading{{9, 3}, {8, 2}}, []float64{8, 9}},
	} {
		if diff := cmp.Diff(tc.want, calm(tc.all)); diff != "" {
			t.Errorf("calm(%v) differs, -want +got:\n%s", tc.all, diff)
		}
	}
}

// TestKnown has truths measured again where their pairs differ.
func TestKnown(t *testing.T) {
	q := question{"a", 0.1}
	l := lab{
		null:   []reading{{-3, 0}, {3, 0}, {0, 0}, {1, 0}},
		actual: map[question][]reading{q: {{8, 0}, {11, 0}, {9, 0}, {10, 0}, {70, 2}}},
	}
	if l.known(question{}) || !l.known(q) {
		t.Errorf("known: of alike arms %v, of %v %v; want false, true", l.known(question{}), q, l.known(q))
	}
}
