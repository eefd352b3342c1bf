package replay

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A second process has a clock of its own.
type foreign struct {
	*trace.Recorder
	offset int64
	drift  float64 // by which part it is fast
}

// on is what the clock shows at a time of the first process.
func (f *foreign) on(at int64) int64 { return at + f.offset + int64(math.Round(f.drift*float64(at))) }

// twoServices record clients of one process who render for 2 ms, and then ask a service of another
// one, which selects for 4 ms. Each has a goroutine and a connection in either. Goroutines have the
// same numbers in both, and call stacks, as in two processes of one binary.
type twoServices struct {
	shop, stock foreign
	all         script
	ids         uint64
	// There is which of the requests come before the service is done with the one before; 0 for
	// none.
	there, asked, watchers int64
	// computing is for how long the service computes when it has selected, ns.
	computing int64
}

const (
	carts     = 2
	onTheWay  = 40_000
	rendering = 2 * ms
	selecting = 4 * ms
)

func newTwoServices(offset int64, drift float64) *twoServices {
	a := &twoServices{}
	for _, p := range []*foreign{&a.shop, &a.stock} {
		if p == &a.stock {
			p.offset, p.drift = offset, drift
		}
		p.Recorder = trace.NewRecorder(p.on(0), 2)
		for _, frames := range [][]trace.Frame{
			{{Func: "internal/poll.(*FD).Read"}, {Func: "net.(*netFD).Read"}, {Func: "main.serve"}},
			{{Func: "time.Sleep"}, {Func: "main.work"}},
			{{Func: "internal/poll.(*FD).Read"}, {Func: "net.(*netFD).Read"}, {Func: "main.call"}},
		} {
			p.R.Sites = append(p.R.Sites, trace.Site{Frames: frames})
		}
	}
	for g := range int64(carts) {
		a.shop.Running(a.shop.on(0), g)
		a.stock.Waiting(a.stock.on(0), g)
	}
	return a
}

// wait has a goroutine of a process wait until something outside ends that.
func (a *twoServices) wait(p *foreign, at, until, g int64, site, reason int32) {
	a.all.add(at, func(at int64) {
		p.Add(trace.Event{Kind: trace.EvWait, At: p.on(at), G: p.Goroutine(g), By: trace.NoWaker, Site: site, Arg: reason})
	})
	a.goesOn(p, until, g)
}

func (a *twoServices) goesOn(p *foreign, at, g int64) {
	a.all.add(at, func(at int64) { p.Ready(p.on(at), g, -1) })
	a.all.add(at+1000, func(at int64) { p.Start(p.on(at), g, g%2) })
}

// span has a span of a process on a goroutine, below another one of it, or of another process.
func (a *twoServices) span(p *foreign, at, until, g int64, name string, parent, remote uint64) (id uint64) {
	a.ids++
	id = a.ids
	a.all.add(at, func(at int64) {
		p.Open(p.on(at), g, id, parent, trace.Region{Scope: "shop", Name: name})
		s := &p.R.Spans[len(p.R.Spans)-1]
		s.ID, s.Remote = id, remote
	})
	a.all.add(until, func(at int64) { p.Close(p.on(at), g, id) })
	return id
}

// served has a goroutine of the service begin with a request, and end it when that is answered and
// it has nothing to do any more. A watcher of the connection is started for each, and ends with it,
// as in net/http.
func (a *twoServices) served(from, answered, idle, g int64) {
	const siteWatch, siteEnd = 4, 5
	p := &a.stock
	a.watchers++
	watcher := carts + a.watchers
	a.all.add(from, func(at int64) { p.Create(p.on(at), watcher, g) })
	a.all.add(from+5500, func(at int64) {
		p.Start(p.on(at), watcher, g%2)
		p.Wait(p.on(at+500), watcher, siteWatch)
	})
	if idle > answered {
		a.wait(p, answered, idle, g, 2, trace.WaitTimer)
	}
	a.all.add(idle+1500, func(at int64) {
		p.Ready(p.on(at), watcher, g)
		p.Wait(p.on(at+200), g, siteEnd)
		p.Start(p.on(at+400), watcher, g%2)
		p.Ready(p.on(at+600), g, watcher)
		p.End(p.on(at+800), watcher)
		p.Start(p.on(at+1000), g, g%2)
	})
}

// play records until a time of the first process.
func (a *twoServices) play(t *testing.T, end int64) []*trace.Recording {
	t.Helper()
	for g := range int64(carts) {
		late := false // the service takes the request when it is done with the one before
		for at := g*ms + 10_000; at < end; {
			asks := at + rendering + 10_000
			came := asks + 5000 + onTheWay
			if late {
				came += 20_000
			}
			selected := came + 10_000 + selecting
			answered := selected + a.computing
			back := answered + 10_000 + onTheWay
			cart := a.span(&a.shop, at, back+10_000, g, "GET /cart", 0, 0)
			a.wait(&a.shop, at+2000, at+2000+rendering, g, 2, trace.WaitTimer)
			call := a.span(&a.shop, asks, back+5000, g, "HTTP GET", cart, 0)
			a.wait(&a.shop, asks+5000, back, g, 3, trace.WaitNetwork)
			items := a.span(&a.stock, came+3000, answered+5000, g, "GET /items", 0, call)
			a.span(&a.stock, came+5000, selected+3000, g, "SELECT items", items, 0)
			if !late {
				a.goesOn(&a.stock, came, g)
			}
			a.wait(&a.stock, came+7000, selected, g, 2, trace.WaitTimer)
			a.asked++
			late = a.there > 0 && a.asked%a.there == 0
			at = back + 20_000
			idle := answered + 6000
			if late {
				idle = at + rendering + onTheWay + 30_000
			}
			if a.there > 0 {
				a.served(came+2000, answered+6000, idle, g)
			}
			if !late {
				a.all.add(answered+9000, func(at int64) {
					a.stock.Add(trace.Event{Kind: trace.EvWait, At: a.stock.on(at), G: a.stock.Goroutine(g), By: trace.NoWaker, Site: 1, Arg: trace.WaitNetwork})
				})
			}
		}
	}
	for i, x := range a.all {
		if x.at > end {
			a.all[i].do = func(int64) {}
		}
	}
	a.all.play()
	return []*trace.Recording{recorded(t, a.shop.Recorder, a.shop.on(end)), recorded(t, a.stock.Recorder, a.stock.on(end))}
}

// TestJoin asks what a region of one process is worth to another one.
func TestJoin(t *testing.T) {
	for _, tc := range []struct {
		offset int64
		drift  float64
	}{{0, 0}, {-7 * 1e9, 0}, {3600 * 1e9, 80e-6}, {123, -400e-6}} {
		a := newTwoServices(tc.offset, tc.drift)
		rec, err := trace.Join([]string{"shop", "stock"}, a.play(t, 2e9))
		if err != nil {
			t.Fatal(err)
		}
		p := rec.Processes[1]
		// True is by how much the stock's clock is behind at its own time.
		for _, at := range []int64{0, 1e9, 2e9} {
			here := a.stock.on(at)
			mapped := here + p.Clock.Offset + int64(p.Clock.Drift*float64(here-p.Clock.Origin))
			if off := mapped - at; off < -p.Clock.Bound-2 || off > p.Clock.Bound+2 {
				t.Errorf("offset %d, drift %g: %d is mapped to %d, off by %d: more than the bound of %d", tc.offset, tc.drift, at, mapped, off, p.Clock.Bound)
			}
		}
		if p.Clock.Bound > 2*onTheWay || p.Clock.Bound < onTheWay/2 {
			t.Errorf("offset %d, drift %g: bound %d, want about %d, the time on the way", tc.offset, tc.drift, p.Clock.Bound, onTheWay)
		}
		got := map[string]float64{}
		for _, x := range answersOf(t, rec, 0.5) {
			if x.Metric != Throughput || x.Point != "GET /cart" {
				continue
			}
			if x.Withheld != WithheldNone {
				t.Errorf("%v: withheld: %v", x.Region, x.Withheld)
			}
			got[x.Region.Name] = x.Reduction
		}
		if v := got["SELECT items"]; math.Abs(v-0.33) > 0.01 {
			t.Errorf("offset %d, drift %g: SELECT items half as long brings %.3f of the time between carts, want 0.33; of %v", tc.offset, tc.drift, v, got)
		}
	}
}

// TestJoinByClocksThatAreOff has a service that computes for longer than requests are on their way:
// its clock seems to be ahead, so that answers come before they were sent. They are joined with the
// waits for them all the same, and not with those of the next requests.
func TestJoinByClocksThatAreOff(t *testing.T) {
	a := newTwoServices(0, 0)
	a.computing = 300_000
	rec, err := trace.Join([]string{"shop", "stock"}, a.play(t, 2e9))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range answersOf(t, rec, 0.5) {
		if x.Metric != Throughput || x.Point != "GET /cart" || x.Region.Name != "SELECT items" {
			continue
		}
		t.Logf("%.3f (%.3f to %.3f), clock off by up to %d ns", x.Reduction, x.Lo, x.Hi, rec.ClockError())
		if math.Abs(x.Reduction-0.31) > 0.02 {
			t.Errorf("SELECT items half as long brings %.3f of the time between carts, want 0.31", x.Reduction)
		}
		return
	}
	t.Error("no answer")
}

// TestJoinTakesWhatIsThere has every third request come before the service is done with the one
// before. It is taken all the same, and what the service starts for it goes with it: whoever does
// its work in the replay would wait for that for ever.
func TestJoinTakesWhatIsThere(t *testing.T) {
	a := newTwoServices(0, 0)
	a.there = 3
	rec, err := trace.Join([]string{"shop", "stock"}, a.play(t, 2e9))
	if err != nil {
		t.Fatal(err)
	}
	p := infer.NewProgram(rec, true)
	items := int32(slices.Index(rec.Regions, trace.Region{Scope: "shop", Name: "GET /items"}))
	requests := 0
	for _, l := range p.Lists {
		taken, started := false, false
		for _, o := range l.Ops {
			switch {
			case o.Kind == model.OpReceive && o.Head:
				taken, started = true, false
			case o.Kind == model.OpSpawn && taken:
				started = true
			case o.Kind == model.OpOpen && rec.Spans[o.Arg].Region == items:
				if requests++; !started {
					t.Fatalf("request %d: taken %v, and behind that its watcher is started %v; want both", requests, taken, started)
				}
				taken, started = false, false
			}
		}
	}
	if requests < 500 {
		t.Errorf("%d requests, want one for each 4 ms", requests)
	}
}

// TestJoinLeavesOut has a client that does not wait for one answer of hundreds, or notes a request
// late: the clock is that of all others.
func TestJoinLeavesOut(t *testing.T) {
	for _, tc := range []struct{ opened, closed int64 }{
		{-1_900_000, -1_800_000}, // by more than a rate may make it; it waits for a connection first
		{-1_900_000, -500_000},
		{600_000, 0},
	} {
		a := newTwoServices(123, 50e-6)
		recs := a.play(t, 2e9)
		var calls []int32
		for i, s := range recs[0].Spans {
			if recs[0].Regions[s.Region].Name == "HTTP GET" {
				calls = append(calls, int32(i))
			}
		}
		cancelled := calls[len(calls)/3]
		for i := range recs[0].Events {
			e := &recs[0].Events[i]
			switch {
			case e.Kind == trace.EvOpen && e.Ref == cancelled:
				e.At += tc.opened
			case e.Kind == trace.EvClose && e.Ref == cancelled:
				e.At += tc.closed
			}
		}
		rec, err := trace.Join([]string{"shop", "stock"}, recs)
		if err != nil {
			t.Fatalf("%+v: %v", tc, err)
		}
		p := rec.Processes[1]
		here := a.stock.on(1e9)
		mapped := here + p.Clock.Offset + int64(p.Clock.Drift*float64(here-p.Clock.Origin))
		if off := mapped - 1e9; p.Clock.LeftOut != 1 || max(off, -off) > p.Clock.Bound || p.Clock.Bound > 200_000 || p.Lag < 0 {
			t.Errorf("%+v: %d messages left out, mapped %d ns off, within %d", tc, p.Clock.LeftOut, off, p.Clock.Bound)
		}
	}
}

// TestJoinCollections has garbage collected in both processes, before the recording too, and a
// goroutine of the second one help to its end.
func TestJoinCollections(t *testing.T) {
	a := newTwoServices(3600*1e9, 80e-6)
	recs := a.play(t, 1e9)
	goroutines := recs[0].Count
	recs[0].Marking = []trace.Interval{{From: 1e8, To: 2e8}}
	recs[1].Marking = []trace.Interval{{From: a.stock.on(-2e8), To: a.stock.on(-1e8)}, {From: a.stock.on(3e8), To: a.stock.on(4e8)}}
	recs[1].Assists = []trace.Assist{{G: 1, Interval: trace.Interval{From: a.stock.on(5e8), To: 1 << 62}}}
	rec, err := trace.Join([]string{"shop", "stock"}, recs)
	if err != nil {
		t.Fatal(err)
	}
	first, second := rec.Processes[0].Marking, rec.Processes[1].Marking
	near := func(a, b int64) bool { return max(a-b, b-a) <= rec.Processes[1].Clock.Bound+2 }
	if rec.Marking != nil || !slices.Equal(first, []trace.Interval{{From: 1e8, To: 2e8}}) {
		t.Errorf("garbage was collected at %v of both, %v of the first process, want no time and 100 to 200 ms", rec.Marking, first)
	}
	if len(second) != 1 || !near(second[0].From, 3e8) || !near(second[0].To, 4e8) {
		t.Errorf("garbage was collected in the second process at %v, want 300 to 400 ms", second)
	}
	if h := rec.Assists; len(h) != 1 || h[0].G != goroutines+1 || !near(h[0].From, 5e8) || h[0].To != rec.End {
		t.Errorf("goroutines helped at %v, want number %d from 500 ms to %d", h, goroutines+1, rec.End)
	}
}

// TestJoinRefuses has recordings that cannot be joined.
func TestJoinRefuses(t *testing.T) {
	two := func() []*trace.Recording { return newTwoServices(0, 0).play(t, 1e9) }
	for name, tc := range map[string]struct {
		recs func() []*trace.Recording
		want string
	}{
		"no span in common": {func() []*trace.Recording {
			recs := two()
			for i := range recs[0].Spans {
				recs[0].Spans[i].ID = 0
			}
			return recs
		}, "clock of stock: not known: must have spans"},
		"a clock that was set": {func() []*trace.Recording {
			recs := two()
			for i := range recs[1].Events {
				if e := &recs[1].Events[i]; e.At > 5e8 {
					e.At += 5e7
				}
			}
			return recs
		}, "clocks of shop and stock: must agree with"},
		"another time": {func() []*trace.Recording {
			recs := two()
			recs[1].Start = recs[1].End - 5e7
			return recs
		}, "must have 100ms in common, have 49.9"},
	} {
		_, err := trace.Join([]string{"shop", "stock"}, tc.recs())
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
		if errors.Is(err, trace.ErrTooLarge) {
			t.Errorf("%s: is not too large", name)
		}
	}
}

// TestJoinProcessors has a process whose processors are all busy beside one that is idle: the
// second one does not compute for the first.
func TestJoinProcessors(t *testing.T) {
	a := newTwoServices(0, 0)
	rec, err := trace.Join([]string{"shop", "stock"}, a.play(t, 1e9))
	if err != nil {
		t.Fatal(err)
	}
	if rec.Procs != 4 || len(rec.Processes) != 2 {
		t.Errorf("%d processors of %d processes, want 4 of 2", rec.Procs, len(rec.Processes))
	}
	homes := rec.Homes()
	for i := range rec.Events {
		e := &rec.Events[i]
		if home := homes[e.G]; e.Kind == trace.EvStart && e.Arg/2 != home {
			t.Fatalf("goroutine %d of process %d starts on processor %d", e.G, home, e.Arg)
		}
	}
	if n := len(slices.Collect(rec.Windows(doubt.LeastWindows))); n != doubt.LeastWindows {
		t.Errorf("%d windows", n)
	}
}
