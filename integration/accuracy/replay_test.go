package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/exp/trace"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/accuracy/workloads"
	"github.com/otelprof/otelprof/integration/internal/answers"
)

func TestReplayFlags(t *testing.T) {
	o, err := parseFlags([]string{"-mode", "replay", "-types", "plain"}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{0.25, 0.5, 0.75, 0.95}; !slices.Equal(o.speedups, want) || o.recordings < answers.LeastWindows {
		t.Errorf("speed-ups %v in %d windows, want %v in %d at least", o.speedups, o.recordings, want, answers.LeastWindows)
	}
	slower, err := parseFlags([]string{"-mode", "replay", "-slower"}, &bytes.Buffer{})
	if want := []float64{-0.25, -0.5}; err != nil || !slices.Equal(slower.speedups, want) {
		t.Errorf("-slower: speed-ups %v, %v, want %v", slower.speedups, err, want)
	}
	for _, args := range [][]string{{"-slower"}, {"-mode", "overlap", "-slower"}, {"-mode", "replay", "-structure", "-slower"}} {
		if _, err := parseFlags(args, &bytes.Buffer{}); err == nil {
			t.Errorf("%q: no error, want one", args)
		}
	}
	names := map[string]bool{}
	for _, w := range o.workloads() {
		if w.Types != workloads.PlainTypes || !slices.Contains(classes, w.Class) || len(w.Regions) == 0 || names[w.Name] {
			t.Errorf("%s: types %q, class %q, regions %q: must be plain, known, some, and once", w.Name, w.Types, w.Class, w.Regions)
		}
		names[w.Name] = true
	}
	for _, name := range []string{
		"join", "mutex_io", "mutex_cpu", "pipeline", "fanout", "serial", "randmutex", "fasta", "netpoll", "saturated",
		"fanin", "pool", "tiny_lock", "transfers", "lru", "errgroup", "batches", "oversubscribed", "open",
	} {
		if !names[name] {
			t.Errorf("no program %q", name)
		}
	}
}

func TestReplayLines(t *testing.T) {
	const program = "build=go types=plain"
	ask := func(class workloads.Class, workload, region string, predicted, lo, hi, actual float64) cell {
		return cell{
			Workload: workload, Mode: profile.ModeReplay, Program: program, Class: class, Region: region, Speedup: 0.5,
			Predicted: predicted, Lo: lo, Hi: hi, Actual: span{actual, actual - 1, actual + 1},
		}
	}
	latency := ask(workloads.Outside, "a", "x", 8, 6, 12, 10)
	latency.Metric = profile.MetricLatencyP90
	unknown := ask(workloads.Contended, "b", "y", 0, 0, 0, 40)
	unknown.Withheld = "too few"
	cells := []cell{
		ask(workloads.Outside, "a", "x", 10, 8, 12, 11), ask(workloads.Outside, "a", "y", 1, 0, 2, 0), latency,
		ask(workloads.Contended, "b", "x", 10, 9, 11, 20), unknown,
		ask(workloads.Crowded, "c", "x", 30, 29, 31, 30), // nothing to rank
	}
	var out strings.Builder
	sumUpReplay(&out, cells)
	want := []string{
		"accuracy SUMMARY mode=replay build=go types=plain cells=5 mean_abs_error=3.00 worst=10.00 coverage=0.75 median_width=2.00 withheld=1 first_ranked=1/2",
		"accuracy SUMMARY mode=replay build=go types=plain class=outside cells=2 mean_abs_error=1.00 worst=1.00 coverage=1.00 median_width=3.00 withheld=0 first_ranked=1/1",
		"accuracy SUMMARY mode=replay build=go types=plain class=contended cells=2 mean_abs_error=10.00 worst=10.00 coverage=0.00 median_width=2.00 withheld=1 first_ranked=0/1",
		"accuracy SUMMARY mode=replay build=go types=plain class=saturated cells=1 mean_abs_error=0.00 worst=0.00 coverage=1.00 median_width=2.00 withheld=0 first_ranked=0/0",
	}
	if diff := cmp.Diff(want, strings.Split(out.String(), "\n")[:len(want)]); diff != "" {
		t.Errorf("the summary differs, -want +got:\n%s", diff)
	}
	line := "accuracy a mode=replay build=go types=plain region=x metric=latency_p90 speedup=0.50 predicted=8.00 lo=6.00 hi=12.00 actual=10.00 error=-2.00 actual_lo=9.00 actual_hi=11.00"
	if got := latency.line(); got != line {
		t.Errorf("line = %q, want %q", got, line)
	}
}

func TestNamesBest(t *testing.T) {
	inf := math.Inf(-1)
	for _, tc := range []struct {
		regions map[string]strength
		ok      bool
		decided bool
	}{
		{map[string]strength{"a": {20, 21, 1}, "b": {10, 9, 1}}, true, true},
		{map[string]strength{"a": {20, 9, 1}, "b": {10, 21, 1}}, false, true},
		{map[string]strength{"a": {20, 20.5, 1}, "b": {10, 21, 1}}, true, false}, // they differ by less than matters
		{map[string]strength{"a": {20, 19, 2}, "b": {10, 21, 1}}, true, false},   // they differ by less than was measured
		{map[string]strength{"a": {inf, 21, 1}, "b": {10, 9, 1}}, false, true},
		{map[string]strength{"a": {inf, 21, 1}, "b": {inf, 9, 1}}, false, true},
	} {
		if ok, decided := namesBest(tc.regions); ok != tc.ok || decided != tc.decided {
			t.Errorf("namesBest(%v) = %v, %v, want %v, %v", tc.regions, ok, decided, tc.ok, tc.decided)
		}
	}
}

func TestShrunk(t *testing.T) {
	var before, faster []time.Duration
	for i := range 100 {
		before = append(before, time.Duration(i+1)*ms)
		faster = append(faster, time.Duration(i+1)*ms/2)
	}
	faster[98] = 99 * ms // the 99th percentile, and no other, is as it was
	pairs := []requests{{before, faster}, {before, faster}}
	got := map[profile.Metric]span{}
	for m, q := range quantiles {
		got[m] = shrunk(pairs, q)
	}
	want := map[profile.Metric]span{profile.MetricLatencyP50: {50, 50, 50}, profile.MetricLatencyP90: {50, 50, 50}, profile.MetricLatencyP99: {50, 50, 50}}
	want[profile.MetricLatencyP99] = span{100 - 100*50./99, 100 - 100*50./99, 100 - 100*50./99}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("shrunk differs, -want +got:\n%s", diff)
	}
	if got := shrunk(nil, 0.5); !math.IsNaN(got.Value) {
		t.Errorf("shrunk(nil) = %v, want NaN", got)
	}
}

// TestRewind: after that, the same random numbers come again.
func TestRewind(t *testing.T) {
	p := &workloads.Program{}
	draw := func(seed uint64) (all []time.Duration) {
		p.Rewind(seed)
		for range 5 {
			all = append(all, p.Lengths(1, 0.5).Of(ms))
		}
		return all
	}
	first := p.Lengths(1, 0.5)
	first.Of(ms)
	one, other := draw(1), draw(2)
	if again := draw(1); !slices.Equal(one, again) || slices.Equal(one, other) {
		t.Errorf("seeds 1, 2, 1 give %v, %v, %v; want the third as the first only", one, other, again)
	}
	p.Rewind(1)
	if got := first.Of(ms); got != one[0] {
		t.Errorf("after rewind: %v, want %v", got, one[0])
	}
	for _, d := range one {
		if d < ms/2 || d > 3*ms/2 {
			t.Errorf("a length of %v, want between %v and %v", d, ms/2, 3*ms/2)
		}
	}
}

// A small round of one workload, with regions that are faster, and slower. What comes out is not
// judged, see TestMeasure.
func TestMeasureReplay(t *testing.T) {
	for _, by := range []float64{0.5, -0.5} {
		t.Run(fmt.Sprint(by), func(t *testing.T) { measureReplay(t, by) })
	}
}

func measureReplay(t *testing.T, by float64) {
	s := settings{modes: []profile.Mode{profile.ModeReplay}}.replayed(true)
	s.speedups, s.pairs, s.window, s.settle, s.recording = []float64{by}, 1, 50*ms, 10*ms, 100*ms
	i := slices.IndexFunc(workloads.ReplayedWorkloads(workloads.CausalTypes), func(w workloads.Workload) bool { return w.Request != "" })
	r, err := newLab(workloads.ReplayedWorkloads(workloads.CausalTypes)[i], s).measure()
	if err != nil {
		t.Fatal(err)
	}
	if want := 2 * 4; len(r.Cells) != want { // two regions, throughput and three quantiles
		t.Errorf("%d cells, want %d", len(r.Cells), want)
	}
	for _, c := range r.Cells {
		t.Log(c.line())
		if math.IsNaN(c.Actual.Value) || c.Withheld == "" && math.IsNaN(c.Predicted) {
			t.Errorf("%s: no number, and no reason", c.line())
		}
	}
}

// TestRecord writes a small corpus: traces that can be read, and a truth for each question.
func TestRecord(t *testing.T) {
	s := settings{}.replayed(true)
	s.speedups, s.pairs, s.window, s.settle, s.recordings, s.recording = []float64{0.5}, 1, 50*ms, 10*ms, 1, 100*ms
	l := newLab(workloads.ReplayedWorkloads(workloads.PlainTypes)[0], s)
	dir := filepath.Join(t.TempDir(), l.folder())
	if err := l.record(dir); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "w1.trace"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := trace.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadEvent(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "truth.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nprogress done\n", "\nclass outside\n", "\na 0.50 ", "\nb 0.50 ", "\n# a/a throughput "} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestCorpusRun: a corpus has no summary, and need have no programs.
func TestCorpusRun(t *testing.T) {
	err := run(context.Background(), []string{"-mode", "replay", "-corpus", t.TempDir(), "-only", "no such program"}, &bytes.Buffer{}, &bytes.Buffer{})
	if err != nil {
		t.Error(err)
	}
}
