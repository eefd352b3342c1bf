package replay

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// turns has a goroutine work for 1 to 4 ms in each turn, and then wait for a timer: until the next
// multiple of 6 ms, or for 3 ms. The first wait may be ended by another goroutine.
func turns(t *testing.T, multiples, stopped bool) *trace.Recording {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	b := trace.NewRecorder(0, 2)
	b.Waiting(0, 1)
	b.Running(0, 2)
	at := int64(6 * ms)
	for i := range uint64(300) {
		jitter, by := random.Int64N(100_000), int64(-1)
		if stopped && i == 1 {
			by = 2
		}
		b.Ready(at+jitter, 1, by)
		b.Start(at+jitter+1000, 1, 0)
		b.Open(at+jitter+1000, 1, i+1, 0, trace.Region{Name: "work"})
		began := at + jitter + 1000 + ms + random.Int64N(3*ms)
		b.Close(began, 1, i+1)
		b.Visit(began, 1, "done")
		b.Wait(began, 1, 1)
		b.R.Events[len(b.R.Events)-1].Arg = trace.WaitTimer
		if at += 6 * ms; !multiples {
			at = began + 3*ms
		}
	}
	rec := recorded(t, b, at)
	return rec
}

// TestTimetable asks about the work of a goroutine that waits until its next turn is due: nothing
// is won. Where it waits for a fixed time instead, its work counts.
func TestTimetable(t *testing.T) {
	for name, tc := range map[string]struct {
		multiples, stopped bool
		want               float64
	}{
		"until a multiple": {true, false, 0},
		"stopped at first": {true, true, 0},
		"for a fixed time": {false, false, 0.5 * 2.5 / 5.55},
	} {
		t.Run(name, func(t *testing.T) {
			rec := turns(t, tc.multiples, tc.stopped)
			base, faster := Predict(rec, "done", Speedup{trace.Region{Name: "work"}, 0.5})
			if recorded := float64(rec.End) / 300; math.Abs(base/recorded-1) > 0.01 {
				t.Errorf("replayed with %v ns between visits, want %v", base, recorded)
			}
			if got := 1 - faster/base; !isNear(got, tc.want, 0.02) {
				t.Errorf("work twice as fast brings %.3f, want %.3f", got, tc.want)
			}
		})
	}
}

// TestWhatHasComeIsNotWaitedFor: a goroutine keeps its processor where a tick or a request has come
// before it, while another one that computes for 5 ms is ready.
func TestWhatHasComeIsNotWaitedFor(t *testing.T) {
	for name, wait := range map[string]model.Op{
		"tick":    {Kind: model.OpDue, Reason: trace.WaitReceive},
		"request": {Kind: model.OpOut, Reason: trace.WaitNetwork, Arrives: true, At: ms},
	} {
		p := program(
			1, model.ObjectMutex,
			[]model.Op{{Kind: model.OpRun, D: 2 * ms}, wait, {Kind: model.OpVisit}},
			[]model.Op{{Kind: model.OpRun, D: 5 * ms}},
		)
		p.Tables = []model.Timetable{{Times: []int64{ms}, Span: 100 * ms}}
		o := sim.Simulate(p, sim.Change{}, 100*ms)
		if got := o.Visits[0]; len(got) != 1 || got[0] != 2*ms {
			t.Errorf("%s: visits at %d, want one at 2 ms", name, got)
		}
	}
}

// TestTicksAreDropped: a goroutine that comes to a ticker after 3.5 ms finds one tick there, and
// then has those of 4 and 5 ms; a loop that sleeps until its next turn makes up for three.
func TestTicksAreDropped(t *testing.T) {
	for name, tc := range map[string]struct {
		reason uint8
		want   []int64
	}{
		"ticker": {trace.WaitReceive, []int64{3.5 * ms, 4 * ms, 5 * ms}},
		"sleep":  {trace.WaitTimer, []int64{3.5 * ms, 3.5 * ms, 3.5 * ms}},
	} {
		ops := []model.Op{{Kind: model.OpRun, D: 3.5 * ms}}
		for range tc.want {
			ops = append(ops, model.Op{Kind: model.OpDue, Reason: tc.reason}, model.Op{Kind: model.OpVisit})
		}
		p := program(1, model.ObjectMutex, ops)
		p.Tables = []model.Timetable{{Times: []int64{ms, 2 * ms, 3 * ms, 4 * ms, 5 * ms}, Span: 5 * ms}}
		o := sim.Simulate(p, sim.Change{}, 100*ms)
		if diff := cmp.Diff(tc.want, o.Visits[0]); diff != "" {
			t.Errorf("%s: visits (-want +got):\n%s", name, diff)
		}
	}
}

// TestEven distinguishes intervals that are even from times that only seem so.
func TestEven(t *testing.T) {
	const interval = 3 * ms
	random := rand.New(rand.NewPCG(3, 4))
	jitter := func() float64 { return math.Abs(random.NormFloat64()) * 50_000 }
	for name, tc := range map[string]struct {
		next func(i int, last float64) (at, waited float64)
		want bool
	}{
		"ticker": {func(i int, _ float64) (float64, float64) {
			return float64(i)*interval + jitter(), interval * random.Float64()
		}, true},
		"ticker, some of them missing": {func(i int, _ float64) (float64, float64) {
			return float64(i+i/7)*interval + jitter(), interval * random.Float64()
		}, true},
		"ticker, now and then late": {func(i int, _ float64) (float64, float64) {
			late := 0.
			if i%11 == 5 {
				late = interval / 2.5
			}
			return float64(i)*interval + jitter() + late, interval * random.Float64()
		}, true},
		"sleep, nothing else": {func(_ int, last float64) (float64, float64) {
			d := interval + jitter()
			return last + d, d
		}, false},
		"sleep, and work that differs": {func(_ int, last float64) (float64, float64) {
			d := interval/2 + jitter()
			return last + d + interval/2*random.Float64(), d
		}, false},
		"sleep after work that a ticker begins": {func(i int, _ float64) (float64, float64) {
			d := interval/3 + jitter()
			return float64(i)*interval + interval/20*random.Float64() + d, d
		}, false},
		"random times": {func(_ int, last float64) (float64, float64) {
			d := interval * random.ExpFloat64()
			return last + d, d
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{cond.LeastTimes, 1000} {
				times, lengths := make([]int64, n), make([]float64, n)
				last := 0.
				for i := range times {
					last, lengths[i] = tc.next(i, last)
					times[i] = int64(last)
				}
				got, ok := cond.Even(times, lengths)
				if ok != tc.want {
					t.Errorf("%d times: even is %v, want %v", n, ok, tc.want)
				}
				if ok && math.Abs(got/interval-1) > 0.002 {
					t.Errorf("%d times: interval %v, want %v", n, got, interval)
				}
			}
		})
	}
}
