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

// refreshed is a client that takes 3 ms, then waits 2 ms for a lock that another goroutine, which
// comes each 6 ms or so, has, and then takes 1 ms. The trace is one of stock Go.
func refreshed(t *testing.T) *trace.Recording {
	t.Helper()
	const client, refresher, atLock, atTimer = 1, 2, 1, 2
	b := trace.NewRecorder(0, 2)
	b.Running(0, client)
	b.Waiting(0, refresher)
	outside := trace.Region{Scope: "shop", Name: "outside"}
	last := func() *trace.Event { return &b.R.Events[len(b.R.Events)-1] }
	next := int64(0)
	for turn := range int64(100) {
		at := next
		next = at + 6*ms + (turn*turn*7%11-5)*ms/20 // nothing is on a timetable
		b.Open(at+1000, client, uint64(turn+1), 0, outside)
		b.Wait(at+2000, client, atTimer)
		last().Arg = trace.WaitTimer
		b.Ready(at+3*ms, client, -1)
		b.Start(at+3*ms+1000, client, 0)
		b.Close(at+3*ms+2000, client, uint64(turn+1))
		b.Wait(at+3*ms+3000, client, atLock)
		last().Arg = trace.WaitMutex
		b.Ready(at+5*ms, refresher, -1)
		b.Start(at+5*ms+1000, refresher, 1)
		b.Ready(at+5*ms+2000, client, refresher)
		last().Site = 3
		b.Start(at+5*ms+3000, client, 0)
		b.Wait(at+5*ms+4000, refresher, atTimer)
		last().Arg = trace.WaitTimer
		b.Wait(at+5*ms+5000, client, atTimer)
		last().Arg = trace.WaitTimer
		b.Ready(next-2000, client, -1)
		b.Start(next-1000, client, 0)
		b.Visit(next-500, client, "done")
	}
	b.Place(3)
	b.R.Sites[atLock].Frames = []trace.Frame{{Func: "sync.(*Mutex).Lock"}, {Func: "main.client"}}
	b.R.Sites[atTimer].Frames = []trace.Frame{{Func: "time.Sleep"}, {Func: "main.wait"}}
	b.R.Sites[3].Frames = []trace.Frame{{Func: "sync.(*Mutex).Unlock"}, {Func: "main.refresh"}}
	rec := recorded(t, b, next)
	return rec
}

// TestBounds bounds an answer from both sides where it is not known which lock a goroutine waits
// for: with the recorded order kept the client would wait for the refresher just the same; for as
// long as it did, it would have 1.5 of 6 ms less.
func TestBounds(t *testing.T) {
	study, err := NewStudy(StudyConfig{Speedups: []float64{0.5}})
	if err != nil {
		t.Fatal(err)
	}
	for range doubt.LeastWindows {
		if err := study.Add(t.Context(), refreshed(t)); err != nil {
			t.Fatal(err)
		}
	}
	found := false
	for _, a := range study.Result().Answers {
		if a.Metric != Throughput || a.Point != "done" {
			continue
		}
		found = true
		if a.Withheld != WithheldNone || math.Abs(a.Reduction) > 0.02 || a.Lo > 0 || a.Hi < 0.25 || a.Hi > 0.3 {
			t.Errorf("%+v, want about 0 between 0 and 0.25", a)
		}
	}
	if !found {
		t.Error("no answer")
	}
}

// TestUnsignaled has the client wait for a condition that fits no rule: of its 6 ms it waits 2. With
// waits of that length 1.5 ms less are a quarter, and without them they are 1.5 of 4 ms.
func TestUnsignaled(t *testing.T) {
	p := infer.NewProgram(refreshed(t), false)
	for _, o := range p.All() {
		if o.Kind == model.OpWait {
			o.Reason = model.WaitSignal
		}
	}
	x := otherWorld{rec: p.Rec, p: p, w: &window{}}
	x.unsignal()
	if len(x.found) != 2 {
		t.Fatalf("%d programs, want 2", len(x.found))
	}
	outside := int32(slices.IndexFunc(p.Rec.Regions, func(r trace.Region) bool { return r.Name == "outside" }))
	d := p.Rec.End - p.Rec.Start
	for i, want := range []float64{0.25, 0.375} {
		other := &x.found[i]
		o := sim.Simulate(other.P, sim.Change{Factors: map[int32]float64{outside: 0.5}}, d)
		if got := 1 - doubt.Period(o.Visits[0], d)/doubt.Period(other.Base.Visits[0], d); math.Abs(got-want) > 0.01 {
			t.Errorf("program %d: %.3f less time between visits, want %.3f", i, got, want)
		}
	}
}

// TestBoundsOfWaitsWithoutMarks has the same program do one operation with a mark, which has
// nothing to do with the wait: the answer is bounded still.
func TestBoundsOfWaitsWithoutMarks(t *testing.T) {
	study, err := NewStudy(StudyConfig{Speedups: []float64{0.5}})
	if err != nil {
		t.Fatal(err)
	}
	for range doubt.LeastWindows {
		rec := refreshed(t)
		locks := rec.Events[2]
		locks.Kind, locks.What, locks.Ref = trace.EvOperate, 'l', 0
		unlocks := locks
		unlocks.What = 'u'
		rec.Events, rec.Objects = slices.Insert(rec.Events, 3, locks, unlocks), 1
		if err := study.Add(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range study.Result().Answers {
		if a.Metric == Throughput && a.Point == "done" && (a.Lo > 0 || a.Hi < 0.25) {
			t.Errorf("%+v, want at least from 0 to 0.25", a)
		}
	}
}

// TestBoundsOfContradiction leaves out what an order says that was kept only since waits were given
// up.
func TestBoundsOfContradiction(t *testing.T) {
	q := question{point: "done", metric: Throughput}
	w := &window{effects: map[question]sample{q: {before: 10, after: 5, least: math.NaN(), most: math.NaN(), visits: 20}}}
	visits := func(period int64) [][]int64 {
		var v []int64
		for i := range int64(20) {
			v = append(v, i*period)
		}
		return [][]int64{v}
	}
	other := &doubt.Alternative{Base: sim.Outcome{Visits: visits(10), Durations: [][]int64{nil}}}
	o := sim.Outcome{Visits: visits(8), Durations: [][]int64{nil}, Broken: 1}
	w.bound(q, other, &o, 0, 200, 0.5)
	if x := w.effects[q]; !math.IsNaN(x.least) || !math.IsNaN(x.most) {
		t.Errorf("%+v, want no bounds", x)
	}
	o.Broken = 0
	w.bound(q, other, &o, 0, 200, 0.5)
	if x := w.effects[q]; math.Abs(x.least-0.2) > 1e-9 || math.Abs(x.most-0.2) > 1e-9 {
		t.Errorf("%+v, want bounds of 0.2", x)
	}
}

// TestAnswersHaveNoOrder counts no wait for what a goroutine that serves does for the request,
// where each operation is recorded.
func TestAnswersHaveNoOrder(t *testing.T) {
	for name, tc := range map[string]struct {
		operated, serves bool
		want             float64
	}{
		"an answer":                  {true, true, 0},
		"another goroutine":          {true, false, 0.5},
		"an answer, as far as known": {false, true, 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			rec := &trace.Recording{End: 10 * ms}
			if tc.operated {
				rec.Events = []trace.Event{{Kind: trace.EvOperate}}
			}
			serves := int32(trace.None)
			if tc.serves {
				serves = 0
			}
			p := model.Program{Rec: rec, Tokens: 1, Lists: []model.List{
				{Ops: []model.Op{{Kind: model.OpWait, D: 5 * ms, Reason: trace.WaitReceive}}, Serves: trace.None},
				{Ops: []model.Op{{Kind: model.OpWake}}, Serves: serves},
			}}
			if got := orderedIn(&p); got != tc.want {
				t.Errorf("ordered() = %v, want %v", got, tc.want)
			}
		})
	}
}
