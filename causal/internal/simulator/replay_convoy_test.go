package simulator

import (
	"math"
	"testing"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/replay"
)

// convoys are programs in which goroutines come to a lock faster than it can be handed over, once
// the region is faster: each then waits for a processor that has to be woken up, each time.
var convoys = []struct {
	name   string
	run    func(w *World)
	cpus   int
	period int64
	known  bool // recordings tell how long processors take to come back
}{
	{"2 that take turns", briefMutex(2, Region, Other, 210*us, 100*us), 2, 155 * us, true},
	{"2, brief", briefMutex(2, Region, Other, 60*us, 25*us), 2, 45 * us, true},
	{"3 on 3", briefMutex(3, Region, Other, 500*us, 120*us), 3, 210 * us, true},
	{"3 on 2", briefMutex(3, Region, Other, 300*us, 100*us), 2, 200 * us, true},
	{"two locks", briefLocks(Region, Other, 200*us, 80*us), 2, 180 * us, false},
	{"2 that write", briefWriters(Region, Other, 210*us, 100*us), 2, 155 * us, true},
}

// briefLocks is two goroutines that take one lock after the other.
func briefLocks(outside, inside ledger.RegionID, before, with int64) func(w *World) {
	return func(w *World) {
		var first, second Mutex
		for range 2 {
			w.Go(func(g *Goroutine) {
				for {
					g.Span(Point, func() { g.Span(outside, func() { g.Work(before) }) })
					for _, m := range []*Mutex{&first, &second} {
						m.Lock(g)
						g.Span(inside, func() { g.Work(with) })
						m.Unlock(g)
					}
				}
			})
		}
	}
}

// briefWriters is briefMutex for two with an RWMutex.
func briefWriters(outside, inside ledger.RegionID, before, with int64) func(w *World) {
	return func(w *World) {
		var m RWMutex
		for range 2 {
			w.Go(func(g *Goroutine) {
				for {
					g.Span(Point, func() { g.Span(outside, func() { g.Work(before) }) })
					m.Lock(g)
					g.Span(inside, func() { g.Work(with) })
					m.Unlock(g)
				}
			})
		}
	}
}

// TestReplayConvoy has intervals hold the truth where locks come to be handed over by waking up
// processors.
func TestReplayConvoy(t *testing.T) {
	for _, p := range convoys {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			x := Experiment{Program: p.run, Config: Config{Jitter: .05, CPUs: p.cpus, Wake: 90 * us, Go: true}, Warm: 200 * p.period, End: 6000 * p.period}
			for _, b := range boundsOf(t, x, false, []float64{.5, .95}, 0) {
				switch a := b.answer; {
				case a.Withheld != replay.WithheldNone:
					t.Errorf("%.2f: withheld: %v", a.Speedup, a.Withheld)
				case !(a.Lo <= b.truth && b.truth <= a.Hi):
					t.Errorf("%.2f: %.1f in %.1f .. %.1f, want the truth in it, %.1f", a.Speedup, points(a.Reduction), points(a.Lo), points(a.Hi), points(b.truth))
				case p.known && math.Abs(a.Reduction-b.truth) > .05:
					t.Errorf("%.2f: %.1f, want %.1f", a.Speedup, points(a.Reduction), points(b.truth))
				}
			}
		})
	}
}
