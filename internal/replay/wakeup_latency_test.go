package replay

import (
	"math"
	"slices"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestRousing: processors that are woken up count by visit, and against those with nothing changed.
func TestRousing(t *testing.T) {
	visits := func(n int) [][]int64 { return [][]int64{make([]int64, n)} }
	base, changed := sim.Outcome{Visits: visits(100), Roused: 20}, sim.Outcome{Visits: visits(200), Roused: 240}
	if got := changed.Rousing(&base, 0); got != 1 {
		t.Errorf("rousing() = %g, want 1.2 a visit less 0.2", got)
	}
	if got := base.Rousing(&base, 0); got != 0 {
		t.Errorf("rousing() of nothing changed = %g", got)
	}

	for name, tc := range map[string]struct{ roused, soon, late, below, above float64 }{
		"as many":          {0, math.NaN(), math.NaN(), 0.01, 0.01},
		"fewer":            {-0.5, math.NaN(), math.NaN(), 0.01, 0.06}, // half a wake-up of 100 µs in 1 ms is 5 points, beside the 1 of the model
		"more":             {0.5, 0.6, 0.3, 0.21, 0.11},
		"more, no matter":  {0.5, 0.5, 0.5, 0.01, 0.01},
		"more, one-sided ": {0.5, 0.7, 0.6, 0.01, 0.21},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Study{}
			sampled := sample{before: 1e6, after: 0.5e6, least: math.NaN(), most: math.NaN(), visits: 100, roused: tc.roused, soon: tc.soon, late: tc.late}
			q := question{point: "done", metric: Throughput}
			for range doubt.LeastWindows {
				s.windows = append(s.windows, &window{
					checks:  map[string]doubt.Check{"done": {Visits: 100, Period: 1e6, Replayed: 1e6}},
					effects: map[question]sample{q: sampled}, asked: map[ask]bool{{}: true},
				})
			}
			a := s.answer(q)
			if below, above := a.Reduction-a.Lo, a.Hi-a.Reduction; math.Abs(below-tc.below) > 1e-6 || math.Abs(above-tc.above) > 1e-6 {
				t.Errorf("answer %.3f in %.3f .. %.3f, want %.3f less and %.3f more: %v", a.Reduction, a.Lo, a.Hi, tc.below, tc.above, a.Withheld)
			}
		})
	}
}

// TestLags keeps the times at even parts of all, those of disturbed wake-ups as the usual one.
func TestLags(t *testing.T) {
	var all []model.Lateness
	for i := range int64(100) {
		all = append(all, model.Lateness{Ns: 50_000 + 1000*i})
	}
	all[99].Ns = 2_000_000
	few := model.SurvivalOf(slices.Clone(all[:model.LeastRoused-1]))
	if got := few.Quantiles(4, 60_000); got != nil {
		t.Errorf("quantiles() of few = %v", got)
	}
	v := model.SurvivalOf(all)
	got := v.Quantiles(model.LagsKept, 100_000)
	if n := len(got); n != model.LagsKept || got[0] != 50_000 || got[n/2] < 98_000 || got[n/2] > 102_000 || got[n-1] != 100_000 {
		t.Errorf("quantiles() = %v", got)
	}
	s := &sim.Simulation{P: &model.Program{Cross: 7, Lags: got}}
	var taken []int64
	for range model.LagsKept {
		taken = append(taken, s.Lag())
		s.Out.Roused++
	}
	slices.Sort(taken)
	if want := slices.Sorted(slices.Values(got)); !slices.Equal(taken, want) {
		t.Errorf("%v were taken, want each once: %v", taken, want)
	}
	if s = (&sim.Simulation{P: &model.Program{Cross: 70}, Change: sim.Change{Lag: 1.5}}); s.Lag() != 105 {
		t.Errorf("lag() = %d, want half as long again as the usual 70", s.Lag())
	}
}

// TestLagOfOneProcessor: what something outside wakes on a processor that is awake says nothing
// about one that sleeps, so that what a few wake-ups of that one take is simulated from 5 to 200
// µs.
func TestLagOfOneProcessor(t *testing.T) {
	for procs, want := range map[int]int64{1: 50_000, 2: 2_500} {
		b := &model.Builder{P: &model.Program{Rec: &trace.Recording{Procs: procs}}}
		for i := range int64(31) {
			b.Outside = append(b.Outside, model.Lateness{Ns: 1_000 + 100*i})
		}
		b.Settle()
		if b.P.Cross != want {
			t.Errorf("%d processors: idle ones take %d ns, want %d", procs, b.P.Cross, want)
		}
		for i, want := range []float64{model.LeastRouse, model.MostRouse} {
			if got := sim.OtherLags(b.P)[i] * float64(b.P.Cross); procs == 1 && math.Abs(got-want) > 1 {
				t.Errorf("and %.0f ns, want %.0f", got, want)
			}
		}
	}
}

// TestSystemCallsReturnAtOnce: behind a system call no processor has to wake up, as its thread has
// one. With nothing else recorded that would take 5 µs.
func TestSystemCallsReturnAtOnce(t *testing.T) {
	b := trace.NewRecorder(0, 1)
	b.Running(0, 1)
	b.Start(0, 1, 0)
	at := int64(0)
	for range 1000 {
		b.Add(trace.Event{Kind: trace.EvSyscall, At: at, G: b.Goroutine(1), By: trace.NoWaker})
		at += 100_000
		b.Add(trace.Event{Kind: trace.EvReturn, At: at, G: b.Goroutine(1), By: trace.NoWaker})
		at += 10_000
		b.Visit(at, 1, "done")
	}
	o := sim.Simulate(infer.NewProgram(recorded(t, b, at), true), sim.Change{}, at)
	if got := doubt.Period(o.Visits[0], at); !isNear(got, 110_000, 100) {
		t.Errorf("a visit each %.0f ns, want 110,000", got)
	}
}
