package replay

import (
	"cmp"
	"slices"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// limited records workers that ask a rate limiter before they work for about so long, and returns
// the recording and the time between visits in it.
func limited(t *testing.T, work float64, interval int64, burst int32) (rec *trace.Recording, period float64) {
	t.Helper()
	const workers, end = 6, 3000 * ms
	b := trace.NewRecorder(0, 8)
	for _, f := range []string{"main.limit", "main.work", "main.begin"} {
		b.R.Sites = append(b.R.Sites, trace.Site{Frames: []trace.Frame{{Func: "time.Sleep"}, {Func: f}}})
	}
	var events []trace.Event
	note := func(at, g int64, e trace.Event) {
		e.At, e.G, e.By = at, b.Goroutine(g), trace.NoWaker
		events = append(events, e)
	}
	sleeps := func(at, until, g int64, site int32) {
		note(at, g, trace.Event{Kind: trace.EvWait, Site: site, Arg: trace.WaitTimer})
		note(until, g, trace.Event{Kind: trace.EvReady})
		note(until+500, g, trace.Event{Kind: trace.EvStart, Arg: int32(g)})
	}
	spanned := func(at, until, g int64, name string) {
		ref := int32(len(b.R.Spans))
		b.R.Spans = append(b.R.Spans, trace.Span{Region: b.RegionOf(trace.Region{Name: name}), Parent: -1})
		note(at, g, trace.Event{Kind: trace.EvOpen, Ref: ref})
		note(until, g, trace.Event{Kind: trace.EvClose, Ref: ref})
	}
	random := uint64(1)
	x := model.Pace{Interval: interval, Burst: burst}
	now := make([]int64, workers)
	for g := range int64(workers) {
		b.Running(0, g)
		now[g] = 1000 * (g + 1)
	}
	first, last, n := int64(0), int64(0), 0
	for slices.Min(now) < end {
		g := int64(slices.Index(now, slices.Min(now)))
		at := now[g]
		spanned(at, at+1000, g, "begin")
		at += 2000
		if until := x.Ask(at); until > at {
			late := int64(random>>40) % ms
			sleeps(at, until+late, g, 1)
			at = until + late + 1000
		}
		random = random*6364136223846793005 + 1442695040888963407
		d := int64(work * (0.5 + float64(random>>33)/(1<<31)))
		spanned(at+1000, at+d+4000, g, "work")
		sleeps(at+2000, at+2000+d, g, 2)
		at += d + 5000
		note(at, g, trace.Event{Kind: trace.EvVisit, Ref: b.PointOf("done")})
		if at > end/10 && at < end {
			if n == 0 {
				first = at
			}
			first, last = min(first, at), max(last, at)
			n++
		}
		now[g] = at + 1000
	}
	slices.SortStableFunc(events, func(a, b trace.Event) int { return cmp.Compare(a.At, b.At) })
	for _, e := range events {
		if e.At < end {
			b.Add(e)
		}
	}
	return recorded(t, b, end), float64(last-first) / float64(n-1)
}

// TestPaces has faster goroutines wait for a rate limiter that they seldom waited for, and
// goroutines that waited wait for longer.
func TestPaces(t *testing.T) {
	for name, tc := range map[string]struct {
		work     float64 // on average, ns
		interval int64
		burst    int32
	}{
		"seldom":            {work: 24 * ms, interval: 4 * ms, burst: 5},
		"often":             {work: 22 * ms, interval: 4 * ms, burst: 3},
		"always":            {work: 10 * ms, interval: 4 * ms, burst: 1},
		"seldom, at a time": {work: 25 * ms, interval: 4 * ms, burst: 1},
	} {
		t.Run(name, func(t *testing.T) {
			rec, before := limited(t, tc.work, tc.interval, tc.burst)
			_, after := limited(t, tc.work/2, tc.interval, tc.burst)
			p := infer.NewProgram(rec, true)
			if !slices.ContainsFunc(p.Objects, func(o model.ObjectInfo) bool { return o.Kind == model.ObjectPace }) {
				t.Error("no limiter was found")
			}
			d := rec.End - rec.Start
			base := sim.Simulate(p, sim.Change{}, d)
			if missed := doubt.Misses(p, &base, d); missed > doubt.MaxDeviation {
				t.Errorf("nothing changed misses the recording by %.1f %%", 100*missed)
			}
			a, b := Predict(rec, "done", Speedup{trace.Region{Name: "work"}, 0.5})
			if got, want := 1-b/a, 1-after/before; !isNear(got, want, 0.02) {
				t.Errorf("half the work: %.3f less time between visits, want %.3f", got, want)
			}
		})
	}
}

// TestOrdinarySleepsAreNoPace leaves alone goroutines that sleep side by side, for one time or for
// others.
func TestOrdinarySleepsAreNoPace(t *testing.T) {
	const workers = 5
	for name, vary := range map[string]int64{"all alike": 0, "about alike": ms / 2, "otherwise each time": 4 * ms} {
		t.Run(name, func(t *testing.T) {
			b := trace.NewRecorder(0, 8)
			b.R.Sites = append(b.R.Sites, trace.Site{Frames: []trace.Frame{{Func: "main.work"}}})
			random, wakes := uint64(1), make([]int64, workers)
			for g := range int64(workers) {
				b.Running(0, g)
				wakes[g] = (g + 1) * ms
			}
			for i := range 600 {
				g := int64(slices.Index(wakes, slices.Min(wakes)))
				at := wakes[g]
				if i >= workers {
					b.Ready(at, g, -1)
					b.Start(at+10, g, g)
				}
				b.Visit(at+20, g, "done")
				b.Add(trace.Event{Kind: trace.EvWait, At: at + 30, G: b.Goroutine(g), By: trace.NoWaker, Site: 1, Arg: trace.WaitTimer})
				random = random*6364136223846793005 + 1442695040888963407
				wakes[g] = at + 5*ms + int64(random>>40)%(ms/2+vary) // timers are late
				for slices.ContainsFunc(wakes, func(x int64) bool { return x != wakes[g] && max(x-wakes[g], wakes[g]-x) < 100 }) {
					wakes[g] += 100
				}
			}
			for _, o := range infer.NewProgram(recorded(t, b, slices.Max(wakes)), true).Objects {
				if o.Kind == model.ObjectPace {
					t.Error("sleeps are taken for waits for a rate limiter")
				}
			}
		})
	}
}
