package replay

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// contended records two goroutines that take turns in a lock for 2 ms, and wait for 1 ms outside of
// it: every 2 ms there is a visit.
func contended(t *testing.T) *trace.Recording { t.Helper(); return contending(t, true) }

// contending is contended whose spans end before the lock is given back, or behind that.
func contending(t *testing.T, within bool) *trace.Recording {
	t.Helper()
	const ms, cycles = 1_000_000, 200
	b := trace.NewRecorder(0, 2)
	b.R.Sites = append(b.R.Sites,
		trace.Site{Frames: []trace.Frame{{Func: "time.Sleep"}, {Func: "main.work", File: "/src/work.go", Line: 9}}},
		trace.Site{Frames: []trace.Frame{{Func: "sync.(*Mutex).Lock"}, {Func: "main.work", File: "/src/work.go", Line: 7}}})
	lock := func(g int64, what mark.Op, at int64) { b.Operate(at, g, what, 77, 0) }
	asks := func(at, g int64) { // and waits
		lock(g, 'L', at)
		b.Add(trace.Event{Kind: trace.EvWait, At: at, G: b.Goroutine(g), By: trace.NoWaker, Site: 2, Arg: trace.WaitMutex})
	}
	wakes := func(at, g int64) {
		b.Ready(at, g, -1)
		b.Start(at, g, g)
	}
	b.Running(0, 0)
	b.Running(0, 1)
	lock(0, 'l', 0)
	b.Open(0, 0, 1, 0, trace.Region{Name: "locked"})
	b.Wait(0, 0, 1)
	asks(0, 1)
	at := int64(0)
	for i := range int64(cycles) {
		holder, other := i%2, 1-i%2
		if i > 0 { // it has waited outside meanwhile
			wakes(at+ms, other)
			asks(at+ms, other)
		}
		at += 2 * ms
		wakes(at, holder)
		if within {
			b.Close(at, holder, uint64(i+1))
		}
		lock(holder, 'u', at)
		b.Ready(at, other, holder)
		if !within {
			b.Close(at, holder, uint64(i+1))
		}
		b.Visit(at, holder, "done")
		b.Wait(at, holder, 1)
		b.Start(at, other, other)
		lock(other, 'l', at)
		b.Open(at, other, uint64(i+2), 0, trace.Region{Name: "locked"})
		b.Wait(at, other, 1)
	}
	return recorded(t, b, at)
}

func TestQuestion(t *testing.T) {
	r := contended(t)
	locked := trace.Region{Name: "locked"}
	for _, tt := range []struct {
		q       Question
		text    string
		least   float64 // of the period, ms
		most    float64
		unasked bool
	}{
		{Question{Procs: 1}, "1 processors", 2, 2, false},
		{Question{Free: "main.work"}, "no wait for the lock at main.work", 1.5, 1.5, false},
		{Question{Free: "main.work:7"}, "no wait for the lock at main.work:7", 1.5, 1.5, false},
		{Question{Free: "work.go:7"}, "no wait for the lock at work.go:7", 1.5, 1.5, false},
		{Question{Free: "work.go:9"}, "no wait for the lock at work.go:9", 2, 2, true},
		{Question{Split: "main.*", Number: 64}, "the lock at main.* split in 64", 1.5, 1.6, false},
		{Question{Capacity: "main.work", Number: 9}, "the channel at main.work with room for 9", 2, 2, true},
		{Question{Faster: []Speedup{{locked, 0.5}}}, "locked 50 % faster", 1, 1.01, false},
		{Question{Faster: []Speedup{{locked, -0.5}}}, "locked 50 % slower", 3, 3, false},
		{Question{Faster: []Speedup{{locked, 0.5}, {trace.Region{Name: "other"}, 0.5}}}, "locked 50 % faster and other 50 % faster", 2, 2, true},
	} {
		if got := tt.q.String(); got != tt.text {
			t.Errorf("%+v: %q, want %q", tt.q, got, tt.text)
		}
		p := infer.NewProgram(r, true)
		sim.Simulate(p, sim.Change{}, r.End-r.Start) // leaves its memory to the next
		x, c, ok := tt.q.on(p)
		if ok == tt.unasked {
			t.Errorf("%s: in the program: %v, want %v", tt.q, ok, !tt.unasked)
		}
		if !ok {
			continue
		}
		o := sim.Simulate(x, c, r.End-r.Start)
		if got := doubt.Period(o.Visits[0], r.End-r.Start) / 1e6; !(got > tt.least-0.02 && got < tt.most+0.02) {
			t.Errorf("%s: period %.3f ms, want %v to %v", tt.q, got, tt.least, tt.most)
		}
		again := sim.Simulate(p, sim.Change{}, r.End-r.Start)
		if got := doubt.Period(again.Visits[0], r.End-r.Start) / 1e6; !isNear(got, 2, 0.02) {
			t.Errorf("%s has changed the program: period %.3f ms, want 2", tt.q, got)
		}
	}
}

// TestQuestionsOfRegions: a region that is slower, or faster, has one answer, whether it is asked
// about as one of all regions or by a question.
func TestQuestionsOfRegions(t *testing.T) {
	limited, _ := limitedService{workers: 4, room: 5, tick: 2 * ms, work: 7 * ms}.record(t)
	for name, rec := range map[string]*trace.Recording{"alone": loops(t, 200), "a lock": contended(t), "a token bucket": limited} {
		t.Run(name, func(t *testing.T) {
			speedups := []float64{-0.5, 0.5}
			var questions []Question
			asked := map[string]ask{}
			for _, r := range rec.Regions {
				for _, by := range speedups {
					q := Question{Faster: []Speedup{{r, by}}}
					questions = append(questions, q)
					asked[q.String()] = ask{region: r, speedup: by}
				}
			}
			s, err := NewStudy(StudyConfig{Speedups: speedups, Questions: questions})
			if err != nil {
				t.Fatal(err)
			}
			for w := range rec.Windows(doubt.LeastWindows) {
				if err := s.Add(t.Context(), w); err != nil {
					t.Fatal(err)
				}
			}
			regions, changes := map[question]Answer{}, map[question]Answer{}
			for _, a := range s.Result().Answers {
				all, of := regions, ask{region: a.Region, speedup: a.Speedup}
				if a.Region.Scope == QuestionScope {
					all, of = changes, asked[a.Region.Name]
				}
				a.Region, a.Speedup = of.region, of.speedup
				all[question{ask: of, point: a.Point, metric: a.Metric}] = a
			}
			if diff := cmp.Diff(regions, changes, cmpopts.EquateNaNs()); diff != "" || len(regions) < 2 {
				t.Errorf("%d answers about regions; those to questions differ, -want +got:\n%s", len(regions), diff)
			}
		})
	}
}

func TestWaited(t *testing.T) {
	if diff := cmp.Diff([]string{"main.work:7"}, contended(t).Waited()); diff != "" {
		t.Errorf("names differ, -want +got:\n%s", diff)
	}
}

// TestPools has three clients of a pool of two, which is then larger and smaller.
func TestPools(t *testing.T) {
	for _, tt := range []struct {
		room     int
		count    int32 // that are free at first: one is taken
		owed     int32
		producer bool // a goroutine that only gives, so that it is no pool
	}{
		{room: 5, count: 4},
		{room: 2, count: 1},
		{room: 1, count: 0},
		{room: 0, count: 0, owed: 1},
		{room: 5, count: 1, producer: true},
	} {
		p := &model.Program{
			Rec:     &trace.Recording{Sites: []trace.Site{{}, {Frames: []trace.Frame{{Func: "main.client", Line: 3}}}}},
			Objects: []model.ObjectInfo{{Kind: model.ObjectChan, Capacity: model.Unlimited, Count: 1}}, // of two elements
		}
		take, run, give := model.Op{Kind: model.OpReceive, Site: 1}, model.Op{Kind: model.OpRun, D: 1}, model.Op{Kind: model.OpSend}
		p.Lists = append(p.Lists, model.List{Ops: []model.Op{run, give, take, run, give, take}}) // it has one at first
		for range 2 {
			p.Lists = append(p.Lists, model.List{Ops: []model.Op{take, run, give}})
		}
		if tt.producer {
			p.Lists = append(p.Lists, model.List{Ops: []model.Op{{Kind: model.OpSend}, {Kind: model.OpSend}}})
		}
		x, ok := doubt.Roomier(p, "main.client", tt.room)
		if !ok {
			t.Fatal("no channel found")
		}
		if o := x.Objects[0]; o.Capacity != int32(tt.room) || o.Count != tt.count || o.Owed != tt.owed {
			t.Errorf("with room for %d: %+v, want %d and %d owed", tt.room, o, tt.count, tt.owed)
		}
		if p.Objects[0].Capacity != model.Unlimited || p.Objects[0].Count != 1 {
			t.Error("the program itself has changed")
		}
	}
}

// A pattern is matched against each site once, however many ops wait there.
func TestObjectsAtMatchesSites(t *testing.T) {
	p := &model.Program{
		Rec: &trace.Recording{Sites: []trace.Site{{}, {Frames: []trace.Frame{{Func: "main.client", Line: 3}}}, {Frames: []trace.Frame{{Func: "main.other"}}}}},
	}
	ops := make([]model.Op, 10_000)
	for i := range ops {
		ops[i] = model.Op{Kind: model.OpReceive, Site: int32(1 + i%2), Arg: int32(i % 4)}
	}
	p.Lists = []model.List{{Ops: ops}}
	var at map[int32]bool
	allocs := testing.AllocsPerRun(1, func() { at = p.ObjectsAt("main.client:*") })
	if diff := cmp.Diff(map[int32]bool{0: true, 2: true}, at); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if allocs > 100 {
		t.Errorf("%v allocations for 10,000 ops at two sites, want 100 at most", allocs)
	}
}

// TestStructure asks by itself about processors and the lock.
func TestStructure(t *testing.T) {
	s, err := NewStudy(StudyConfig{Speedups: []float64{0.5}, Structure: true})
	if err != nil {
		t.Fatal(err)
	}
	for w := range contended(t).Windows(doubt.LeastWindows) {
		if err := s.Add(context.Background(), w); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]float64{}
	for _, a := range s.Result().Answers {
		if a.Region.Scope == QuestionScope && a.Point == "done" && a.Metric == Throughput {
			if a.Withheld != WithheldNone || !(a.Lo <= a.Reduction && a.Reduction <= a.Hi) {
				t.Errorf("%s: %+v", a.Region, a)
			}
			got[a.Region.Name] = a.Reduction
		}
	}
	if len(got) != 2 || !isNear(got["4 processors"], 0, 0.01) || !isNear(got["no wait for the lock at main.work:7"], 0.25, 0.02) {
		t.Errorf("answers %v, want 4 processors 0 and the lock 0.25", got)
	}
}

// TestFewerProcessors asks a recording whose goroutines had no processor for a fifth of the time
// that they ran about one processor: other programs may leave that one alone.
func TestFewerProcessors(t *testing.T) {
	const ms = 1_000_000
	b := trace.NewRecorder(0, 2)
	b.Running(0, 0)
	b.Running(0, 1)
	at := int64(0)
	for range 1000 {
		at += ms
		b.Visit(at, 0, "done")
		b.Visit(at, 1, "done")
	}
	r := recorded(t, b, at)
	r.Ran(trace.Machine{CPU: time.Duration(2*at) * 4 / 5})
	s, err := NewStudy(StudyConfig{Questions: []Question{{Procs: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	for w := range r.Windows(doubt.LeastWindows) {
		if err := s.Add(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range s.Result().Answers {
		if a.Region.Scope != QuestionScope || a.Metric != Throughput {
			continue
		}
		if a.Withheld != WithheldNone || math.Abs(a.Reduction+1) > 0.05 || a.Lo < -1.2 || a.Hi < -0.6 || a.Hi > -0.5 {
			t.Errorf("one processor: %.2f (%.2f .. %.2f), withheld %d, want -1 and up to the -0.6 of one that computes a fifth faster", a.Reduction, a.Lo, a.Hi, a.Withheld)
		}
		return
	}
	t.Error("no answer")
}

// TestOwnTime has a span of 8 ms with another one of 6 ms within, each 10 ms: a region is its own
// time, which for the outer one is 1 ms before the other and 1 ms behind.
func TestOwnTime(t *testing.T) {
	outer, inner := trace.Region{Name: "outer"}, trace.Region{Name: "inner"}
	b := trace.NewRecorder(0, 1)
	b.Running(0, 1)
	at := int64(0)
	for i := range uint64(100) {
		b.Open(at, 1, 2*i+1, 0, outer)
		b.Open(at+ms, 1, 2*i+2, 0, inner)
		b.Close(at+7*ms, 1, 2*i+2)
		b.Close(at+8*ms, 1, 2*i+1)
		b.Visit(at+10*ms, 1, "done")
		at += 10 * ms
	}
	r := recorded(t, b, at)
	for region, want := range map[trace.Region]float64{outer: 9, inner: 7} {
		if base, got := Predict(r, "done", Speedup{region, 0.5}); !isNear(base/ms, 10, 0.01) || !isNear(got/ms, want, 0.01) {
			t.Errorf("%s half as long: %.2f ms in place of %.2f, want %.2f in place of 10", region, got/ms, base/ms, want)
		}
	}
}
