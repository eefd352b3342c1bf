package replay

import (
	"math"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// computing records goroutines on one processor that compute in turn for so long, with a visit each
// ms, until a time. The program stands still for a while in the middle.
func computing(t *testing.T, n int64, slice, still, until int64) *trace.Recording {
	t.Helper()
	b := trace.NewRecorder(0, 1)
	for g := range n {
		b.Runnable(0, g)
	}
	stood := still == 0
	for at, g := int64(0), int64(0); at < until; g = (g + 1) % n {
		b.Start(at, g, 0)
		for end := at + slice; at < end && at < until; {
			at += ms
			if at > until/2 && !stood {
				stood = true
				at += still
				end += still
			}
			b.Visit(at, g, "done")
		}
		b.Yield(at, g)
	}
	rec := recorded(t, b, until)
	return rec
}

// TestStalls distinguishes the time in which a program stood still from that in which it computed.
func TestStalls(t *testing.T) {
	rec := computing(t, 3, 10*ms, 100*ms, 1000*ms)
	gaps := rec.Stalls()
	if len(gaps) != 1 || gaps[0].To-gaps[0].From != 101*ms {
		t.Fatalf("stalls %v, want one of 101 ms", gaps)
	}
	moving := rec.Moving()
	if moving.End != 899*ms {
		t.Errorf("without it the recording ends at %d ms, want 899", moving.End/ms)
	}
	for i := range moving.Events[1:] {
		if d := moving.Events[i+1].At - moving.Events[i].At; d < 0 || d > ms {
			t.Fatalf("%d ns between events %d and %d, want at most 1 ms", d, i, i+1)
		}
	}
	if rec.Events[len(rec.Events)-1].At != 1000*ms {
		t.Error("the recording itself has changed")
	}
	for name, rec := range map[string]*trace.Recording{
		"none":            computing(t, 3, 10*ms, 0, 1000*ms),
		"long operations": steps(t, 100*ms),
	} {
		if r := rec.Moving(); r != nil {
			t.Errorf("%s: %v are taken for stalls", name, rec.Stalls())
		}
	}
}

// steps records a goroutine that does nothing but compute for so long, again and again.
func steps(t *testing.T, long int64) *trace.Recording {
	t.Helper()
	b := trace.NewRecorder(0, 1)
	b.Running(0, 1)
	b.Start(0, 1, 0)
	for i := range int64(30) {
		b.Visit((i+1)*long, 1, "done")
	}
	rec := recorded(t, b, 31*long)
	return rec
}

// TestSlices takes from the recording for how long goroutines are let run while others wait.
func TestSlices(t *testing.T) {
	for _, test := range []struct{ recorded, want int64 }{{40 * ms, 40 * ms}, {10 * ms, 10 * ms}, {2 * ms, sim.Slice}} {
		p := infer.NewProgram(computing(t, 3, test.recorded, 0, 2000*ms), true)
		s := &sim.Simulation{P: p}
		s.Reset(sim.Change{})
		for range 3 {
			if got := s.Slice(); got != test.want {
				t.Errorf("goroutines that had their processor for %d ms have it for %d ms, want %d", test.recorded/ms, got/ms, test.want/ms)
			}
		}
	}
}

// TestOverdue has a goroutine that sleeps for 3 ms, and finds the processor taken for 2 ms more.
func TestOverdue(t *testing.T) {
	for name, test := range map[string]struct {
		procs int
		want  int64
	}{"one processor": {1, 3 * ms}, "two, one of them idle": {2, 5 * ms}} {
		t.Run(name, func(t *testing.T) {
			b := trace.NewRecorder(0, test.procs)
			b.Runnable(0, 1)
			b.Runnable(0, 2)
			at := int64(0)
			sleep := func(g, until int64) {
				b.Wait(at, g, 1)
				b.R.Events[len(b.R.Events)-1].Arg = trace.WaitTimer
				at = until
				b.Ready(at, g, -1)
				b.R.Events[len(b.R.Events)-1].Arg = 1
			}
			for i := range 40 {
				b.Start(at, 1, 0)
				if i%4 == 0 { // the other one does not compute, and the timer is looked at at once
					sleep(1, at+3*ms)
					b.Start(at, 1, 0)
				}
				b.Wait(at, 1, 1)
				b.R.Events[len(b.R.Events)-1].Arg = trace.WaitTimer
				b.Start(at, 2, 0)
				at += 5 * ms
				b.Yield(at, 2)
				b.Ready(at, 1, -1)
				b.R.Events[len(b.R.Events)-1].Arg = 1
			}
			rec := recorded(t, b, at)
			p := infer.NewProgram(rec, true)
			waits := 0
			for _, o := range p.Lists[0].Ops {
				if o.Kind != model.OpOut {
					continue
				}
				waits++
				if o.D != 3*ms && o.D != test.want {
					t.Errorf("a wait of %d ns, want 3 ms or %d", o.D, test.want)
				}
			}
			if waits != 50 {
				t.Errorf("%d waits, want 50", waits)
			}
		})
	}
}

// TestStarved has a program that computes all the time, and has a processor for a part of it:
// intervals become wider, and then there are bounds alone.
func TestStarved(t *testing.T) {
	width := 0.0
	for _, test := range []struct {
		cpu  time.Duration // of each second
		want float64
		why  Withheld
	}{{0, 0, WithheldNone}, {1100 * time.Millisecond, 0, WithheldNone}, {950 * time.Millisecond, 0.05, WithheldNone}, {700 * time.Millisecond, 0.3, WithheldStarved}, {400 * time.Millisecond, 0.6, WithheldStarved}} {
		s, err := NewStudy(StudyConfig{Speedups: []float64{0.5}})
		if err != nil {
			t.Fatal(err)
		}
		for range doubt.LeastWindows {
			b := trace.NewRecorder(0, 1)
			b.Running(0, 1)
			b.Start(0, 1, 0)
			for i := range uint64(100) {
				at := int64(i) * 10 * ms
				b.Open(at, 1, i+1, 0, trace.Region{Scope: "test", Name: "half"})
				b.Close(at+5*ms, 1, i+1)
				b.Visit(at+10*ms, 1, "done")
			}
			rec := recorded(t, b, 1000*ms)
			rec.Ran(trace.Machine{CPU: test.cpu, Others: 2 * time.Second, Stolen: 30 * time.Millisecond})
			if err := s.Add(t.Context(), rec); err != nil {
				t.Fatal(err)
			}
		}
		r := s.Result()
		if math.Abs(r.Starved-test.want) > 1e-9 || r.Machine.CPU != doubt.LeastWindows*test.cpu || r.Machine.Others != doubt.LeastWindows*2*time.Second {
			t.Errorf("%v of a second: starved %v and %+v, want %v", test.cpu, r.Starved, r.Machine, test.want)
		}
		for _, a := range r.Answers {
			if a.Point != "done" || a.Metric != Throughput {
				continue
			}
			if a.Withheld != WithheldNone || a.Doubt != test.why {
				t.Errorf("%v of a second: withheld %d, doubt %d, want none and %d", test.cpu, a.Withheld, a.Doubt, test.why)
			}
			if test.why != WithheldNone && (a.Lo > 0 || a.Hi < 0.25) {
				t.Errorf("%v of a second: %v to %v, want from nothing to what the spans take", test.cpu, a.Lo, a.Hi)
			}
			if test.why == WithheldNone {
				if a.Lo > 0.25 || a.Hi < 0.25 || (a.Hi-a.Lo < width) || test.want > 0 && a.Hi-a.Lo < width+0.006 {
					t.Errorf("%v of a second: %v to %v, want 0.25 within, wider where it had no processor", test.cpu, a.Lo, a.Hi)
				}
				width = a.Hi - a.Lo
			}
		}
	}
}

// TestHarm has bounds alone at a progress point where a faster region made the replay much slower,
// unless all waits are known.
func TestHarm(t *testing.T) {
	for _, c := range []struct {
		harm, ordered float64
		stock         bool
		want          Withheld
	}{
		{0.04, 0, true, WithheldNone},
		{0.3, 0, true, WithheldSlower},
		{0.3, 0.2, false, WithheldSlower},
		{0.3, 0, false, WithheldNone}, // what is waited for is known, so that the program does become slower
	} {
		region := trace.Region{Scope: "test", Name: "query"}
		q := question{ask: ask{region: region, speedup: 0.5}, point: "done", metric: Throughput}
		s := &Study{}
		for range doubt.LeastWindows {
			s.windows = append(s.windows, &window{
				checks: map[string]doubt.Check{"done": {Point: "done", Visits: 100, Period: 10 * ms, Replayed: 10 * ms}},
				stock:  c.stock, ordered: c.ordered,
				harm: map[string]float64{"done": c.harm}, asked: map[ask]bool{{region: region, speedup: 0.5}: true},
				effects: map[question]sample{q: {before: 10 * ms, after: 8 * ms, least: math.NaN(), most: math.NaN(), visits: 100}},
			})
		}
		a := s.Result().Answers[0]
		if a.Withheld != WithheldNone || a.Doubt != c.want {
			t.Errorf("%+v: withheld %d, doubt %d, want none and %d", c, a.Withheld, a.Doubt, c.want)
		}
		if c.want != WithheldNone && (a.Lo > -c.harm || a.Hi < 0.5) {
			t.Errorf("%+v: %v to %v, want from that harm to all that a region saves", c, a.Lo, a.Hi)
		}
	}
}
