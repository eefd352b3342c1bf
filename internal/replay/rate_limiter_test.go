package replay

import (
	"cmp"
	"slices"
	"testing"
)

// limited records workers that ask a rate limiter before they work for about so long, and returns the recording and the time between
// visits in it.
func limited(t *testing.T, work float64, interval int64, burst int32) (rec *Recording, period float64) {
	t.Helper()
	const workers, end = 6, 3000 * ms
	b := NewRecorder(0, 8)
	for _, f := range []string{"main.limit", "main.work", "main.begin"} {
		b.r.sites = append(b.r.sites, Site{[]Frame{{Func: "time.Sleep"}, {Func: f}}})
	}
	var events []event
	note := func(at, g int64, e event) {
		e.at, e.g, e.by = at, b.goroutine(g), noWaker
		events = append(events, e)
	}
	sleeps := func(at, until, g int64, site int32) {
		note(at, g, event{kind: evWait, site: site, arg: waitTimer})
		note(until, g, event{kind: evReady})
		note(until+500, g, event{kind: evStart, arg: int32(g)})
	}
	spanned := func(at, until, g int64, name string) {
		ref := int32(len(b.r.spans))
		b.r.spans = append(b.r.spans, span{region: b.regionOf(Region{Name: name}), parent: -1})
		note(at, g, event{kind: evOpen, ref: ref})
		note(until, g, event{kind: evClose, ref: ref})
	}
	random := uint64(1)
	x := pace{interval: interval, burst: burst}
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
		if until := x.ask(at); until > at {
			late := int64(random>>40) % ms
			sleeps(at, until+late, g, 1)
			at = until + late + 1000
		}
		random = random*6364136223846793005 + 1442695040888963407
		d := int64(work * (0.5 + float64(random>>33)/(1<<31)))
		spanned(at+1000, at+d+4000, g, "work")
		sleeps(at+2000, at+2000+d, g, 2)
		at += d + 5000
		note(at, g, event{kind: evVisit, ref: b.pointOf("done")})
		if at > end/10 && at < end {
			if n == 0 {
				first = at
			}
			first, last = min(first, at), max(last, at)
			n++
		}
		now[g] = at + 1000
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	for _, e := range events {
		if e.at < end {
			b.add(e)
		}
	}
	return recorded(t, b, end), float64(last-first) / float64(n-1)
}

// TestPaces has faster goroutines wait for a rate limiter that they seldom waited for, and goroutines that waited wait for longer.
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
			p := newProgram(rec, true)
			if !slices.ContainsFunc(p.objects, func(o objectInfo) bool { return o.kind == objectPace }) {
				t.Error("no limiter was found")
			}
			d := rec.End - rec.Start
			base := simulate(p, change{}, d)
			if missed := p.misses(&base, d); missed > MaxDeviation {
				t.Errorf("nothing changed misses the recording by %.1f %%", 100*missed)
			}
			a, b := rec.Predict("done", Speedup{Region{Name: "work"}, 0.5})
			if got, want := 1-b/a, 1-after/before; !isNear(got, want, 0.02) {
				t.Errorf("half the work: %.3f less time between visits, want %.3f", got, want)
			}
		})
	}
}

// TestOrdinarySleepsAreNoPace leaves alone goroutines that sleep side by side, for one time or for others.
func TestOrdinarySleepsAreNoPace(t *testing.T) {
	const workers = 5
	for name, vary := range map[string]int64{"all alike": 0, "about alike": ms / 2, "otherwise each time": 4 * ms} {
		t.Run(name, func(t *testing.T) {
			b := NewRecorder(0, 8)
			b.r.sites = append(b.r.sites, Site{[]Frame{{Func: "main.work"}}})
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
				b.add(event{kind: evWait, at: at + 30, g: b.goroutine(g), by: noWaker, site: 1, arg: waitTimer})
				random = random*6364136223846793005 + 1442695040888963407
				wakes[g] = at + 5*ms + int64(random>>40)%(ms/2+vary) // timers are late
				for slices.ContainsFunc(wakes, func(x int64) bool { return x != wakes[g] && max(x-wakes[g], wakes[g]-x) < 100 }) {
					wakes[g] += 100
				}
			}
			for _, o := range newProgram(recorded(t, b, slices.Max(wakes)), true).objects {
				if o.kind == objectPace {
					t.Error("sleeps are taken for waits for a rate limiter")
				}
			}
		})
	}
}
