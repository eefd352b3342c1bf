package replay

import (
	"math"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// handingOver records two goroutines that take turns at one processor, which is never idle: each
// computes for 2 ms, half of it in a region, and rests for 2 ms.
func handingOver(t *testing.T, length int64, m trace.Machine) *trace.Recording {
	t.Helper()
	b := trace.NewRecorder(0, 1)
	b.Runnable(0, 0)
	b.Waiting(0, 1)
	b.Start(0, 0, 0)
	for at, g := int64(0), int64(0); at < length; g = 1 - g {
		b.Open(at, g, uint64(at)+1, 0, trace.Region{Scope: "test", Name: "half"})
		b.Close(at+ms, g, uint64(at)+1)
		at += 2 * ms
		b.Visit(at, g, "done")
		b.Wait(at, g, 1)
		b.Ready(at, 1-g, -1)
		b.Start(at, 1-g, 0)
	}
	rec := recorded(t, b, length)
	rec.Ran(m)
	return rec
}

// TestAsleep has a processor sleep in the replay that was never idle in the recording, beside
// programs that others wait for, that took a part of its time, and none.
func TestAsleep(t *testing.T) {
	const length = 1000 * ms
	// Each goroutine then computes for 1.05 ms, and rests for 2: two visits in 3.05 ms in place of
	// 4.
	const quiet = 1 - 3.05/4
	const late = 1 - 3.25/4 // by the time in which a processor comes back
	for name, test := range map[string]struct {
		machine trace.Machine
		lo, hi  float64
	}{
		"nothing else":        {trace.Machine{CPU: length, Waited: length / 100}, late, quiet},
		"nothing is known":    {trace.Machine{}, late, quiet},
		"others wait":         {trace.Machine{CPU: length, Waited: length}, 1 - 5.05/4, quiet},
		"others had a part":   {trace.Machine{CPU: length, Others: length / 5}, 1 - 5.05/4, quiet},
		"others took a tenth": {trace.Machine{CPU: length * 9 / 10, Waited: length / 100}, late, 1 - 2.945/4},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := NewStudy(StudyConfig{Speedups: []float64{0.95}})
			if err != nil {
				t.Fatal(err)
			}
			for range doubt.LeastWindows {
				if err := s.Add(t.Context(), handingOver(t, length, test.machine)); err != nil {
					t.Fatal(err)
				}
			}
			for _, a := range s.Result().Answers {
				if a.Point != "done" || a.Metric != Throughput {
					continue
				}
				// The model's own error, and that of starved recordings.
				margin := doubt.ModelError + 0.015
				if a.Withheld != WithheldNone || math.Abs(a.Reduction-quiet) > 0.005 || math.Abs(a.Lo-test.lo) > margin || math.Abs(a.Hi-test.hi) > margin {
					t.Errorf("%.3f (%.3f to %.3f), withheld %d, want %.3f (%.3f to %.3f)", a.Reduction, a.Lo, a.Hi, a.Withheld, quiet, test.lo, test.hi)
				}
			}
		})
	}
}

// TestLeaves: others have the time that a faster program leaves, up to as much as they took, unless
// there was time enough for them before.
func TestLeaves(t *testing.T) {
	const d = 1000 * ms
	w := &window{Conditions: trace.Conditions{Starved: 0.1}}
	p := &model.Program{Rec: &trace.Recording{Procs: 2}}
	for _, test := range []struct {
		base, changed int64 // ms of both processors
		procs         int
		want          float64
	}{{2000, 1000, 0, 0.1}, {2000, 1900, 0, 0.05}, {2000, 2000, 0, 0}, {1900, 1000, 0, 0.1 * 90 / 190}, {1000, 500, 0, 0}, {1000, 1200, 0, 0}, {2000, 1000, 1, 0}} {
		base, changed := &sim.Outcome{Ran: test.base * ms}, &sim.Outcome{Ran: test.changed * ms}
		if got := w.leaves(p, sim.Change{Procs: test.procs}, base, changed, d); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%d ms, and %d before: %v, want %v", test.changed, test.base, got, test.want)
		}
	}
}

// TestAwakened: where processors slept in the recording, its waits have how late goroutines are
// there.
func TestAwakened(t *testing.T) {
	slept := func(n int) *sim.Outcome { return &sim.Outcome{Woken: 100, Asleep: n} }
	for _, test := range []struct {
		base, changed int
		want          float64
	}{{0, 0, 0}, {0, 50, 1}, {10, 50, 0.6}, {30, 50, 0}, {50, 90, 0}} {
		if got := slept(test.changed).Awakened(slept(test.base)); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%d of 100 and %d before: %v, want %v", test.changed, test.base, got, test.want)
		}
	}
}

// TestTheLastToBecomeIdleWakesUp: a goroutine is back 10 µs after its processor became idle, which
// looks for work still, beside one that has slept for 4 ms and takes 1 ms longer to come back.
func TestTheLastToBecomeIdleWakesUp(t *testing.T) {
	o := sim.Simulate(program(
		2, model.ObjectMutex,
		[]model.Op{{Kind: model.OpRun, D: ms}, {Kind: model.OpOut, D: 20 * ms}},
		[]model.Op{{Kind: model.OpRun, D: 5 * ms}, {Kind: model.OpOut, D: 10_000}, {Kind: model.OpVisit}},
	), sim.Change{Back: ms}, 10*ms)
	if got := o.Visits[0]; len(got) != 1 || got[0] != 5*ms+10_000 || o.Asleep != 0 {
		t.Errorf("visits at %d, and %d processors slept, want one at 5.01 ms and none", got, o.Asleep)
	}
}
