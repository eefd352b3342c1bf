package replay

import (
	"context"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestSteps bounds what is asked of a window: what matters most has its answers first, and all have
// them in the end.
func TestSteps(t *testing.T) {
	rec := loops(t, 400)
	speedups := []float64{0.1, 0.5, 0.95}
	s, err := NewStudy(StudyConfig{Speedups: speedups, Steps: 1})
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= len(speedups)*doubt.LeastWindows; n++ {
		if err := s.Add(context.Background(), rec); err != nil {
			t.Fatal(err)
		}
		if got := len(s.windows[n-1].asked); got != 1 {
			t.Fatalf("window %d was simulated with %d changes, want 1", n, got)
		}
		known := map[float64]bool{}
		for _, a := range s.Result().Answers {
			if a.Withheld != WithheldNone && a.Withheld != WithheldWindows {
				t.Errorf("window %d: speed-up %v is withheld for reason %d, want %d", n, a.Speedup, a.Withheld, WithheldWindows)
			}
			if a.Withheld == WithheldNone {
				known[a.Speedup] = true
			}
		}
		want := n / doubt.LeastWindows
		if n%doubt.LeastWindows >= FewestWindows {
			want++
		}
		if len(known) != want {
			t.Errorf("after %d windows %d answers are known, want %d", n, len(known), want)
		}
		if n >= doubt.LeastWindows && !known[0.5] {
			t.Errorf("after %d windows a speed-up by a half is not known", n)
		}
	}
}

// TestWorkIsBounded simulates goroutines that start each other without time passing.
func TestWorkIsBounded(t *testing.T) {
	b := trace.NewRecorder(0, 1)
	b.Running(0, 1)
	b.Create(1, 2, 1)
	b.Start(2, 2, 0)
	b.Create(3, 2, 2) // damage: it starts itself
	b.Visit(4, 2, "done")
	b.End(5, 2)
	rec := recorded(t, b, 1<<50)
	for _, inferring := range []bool{true, false} {
		p := infer.NewProgram(rec, inferring)
		if o := sim.Simulate(p, sim.Change{}, rec.End); o.Work > sim.LeastWork+sim.WorkPerOp*p.Ops+sim.MaxAtOnce+1 {
			t.Errorf("simulation did %d ops, for a recording of %d", o.Work, p.Ops)
		}
	}
}

// TestSimulationsAlike uses the memory of one simulation for the next one.
func TestSimulationsAlike(t *testing.T) {
	rec := loops(t, 50)
	p := infer.NewProgram(rec, true)
	d := rec.End - rec.Start
	first := sim.Simulate(p, sim.Change{}, d)
	sim.Simulate(p, sim.Change{Factors: map[int32]float64{0: 0.25}, Procs: 7}, d)
	if again := sim.Simulate(p, sim.Change{}, d); doubt.Period(again.Visits[0], d) != doubt.Period(first.Visits[0], d) || again.Steps != first.Steps || again.Work != first.Work {
		t.Errorf("the same simulation took %d steps to a period of %v, then %d to %v", first.Steps, doubt.Period(first.Visits[0], d), again.Steps, doubt.Period(again.Visits[0], d))
	}
	if n := testing.AllocsPerRun(10, func() { sim.Simulate(p, sim.Change{}, d) }); n > 40 {
		t.Errorf("a simulation allocates %v times, want at most 40: it has the memory of the one before", n)
	}
}

// TestMissedWindows asks nothing of windows that the replay of nothing changed misses: here it has
// one processor for what two did.
func TestMissedWindows(t *testing.T) {
	b := trace.NewRecorder(0, 1)
	for g := int64(1); g <= 2; g++ {
		b.Running(0, g)
	}
	for i := range int64(400) {
		for g := range int64(2) {
			id := uint64(2*i + g)
			b.Open(i*ms+1, g+1, id, 0, trace.Region{Name: "work"})
			b.Close((i+1)*ms, g+1, id)
		}
	}
	rec := recorded(t, b, 400*ms)
	s, err := NewStudy(StudyConfig{Speedups: []float64{0.25, 0.5}, Steps: 1, Structure: true})
	if err != nil {
		t.Fatal(err)
	}
	for range doubt.LeastWindows {
		if err := s.Add(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
	}
	if !s.Missed() {
		t.Fatalf("nothing changed was met: %+v", s.Result().Checks)
	}
	answers := s.Result().Answers
	for _, a := range answers {
		why := a.Withheld
		if a.Metric == Throughput && a.Bounded { // by what needs no replay
			why = a.Doubt
		}
		if why != WithheldDeviation || a.Windows != doubt.LeastWindows {
			t.Errorf("%s at %v: withheld for reason %d after %d windows, want %d after %d", a.Region, a.Speedup, a.Withheld, a.Windows, WithheldDeviation, doubt.LeastWindows)
		}
	}
	if want := 2 * 4; len(answers) < want { // of each speed-up, throughput and three quantiles
		t.Errorf("%d answers, want %d at least", len(answers), want)
	}
}
