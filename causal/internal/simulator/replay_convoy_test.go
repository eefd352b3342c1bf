package simulator

import (
	"math"
	"testing"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/replay"
)

// convoys are programs in which goroutines come to a lock faster than it can be handed over, once the region is faster: each then waits for a
// processor that has to be woken up, each time.
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

// TestReplayConvoy has intervals hold the truth where locks come to be handed over by waking up processors.
func TestReplayConvoy(t *testing.T) {
	for _, p := range convoys {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			speedups := []float64{.5, .95}
			study, err := replay.NewStudy(replay.StudyConfig{Speedups: speedups})
			if err != nil {
				t.Fatal(err)
			}
			truth := make([]float64, len(speedups))
			for seed := range uint64(replay.LeastWindows) {
				x := &Experiment{Program: p.run, Config: Config{Seed: seed, Jitter: .05, CPUs: p.cpus, Wake: 90 * us, Go: true}, Warm: 200 * p.period, End: 6000 * p.period}
				rec, _, err := x.Recorded(false)
				if err != nil {
					t.Fatal(err)
				}
				if err := study.Add(t.Context(), rec); err != nil {
					t.Fatal(err)
				}
				for i, s := range speedups {
					truth[i] += x.Shortened(ledger.Hypothesis{Region: Region, Speedup: s}) / replay.LeastWindows
				}
			}
			answers := 0
			for _, a := range study.Result().Answers {
				if a.Region != RegionName(Region) || a.Point != Progress || a.Metric != replay.Throughput {
					continue
				}
				answers++
				for i, s := range speedups {
					switch {
					case a.Speedup != s:
					case a.Withheld != replay.WithheldNone:
						t.Errorf("%.2f: withheld: %v", s, a.Withheld)
					case !(a.Lo <= truth[i] && truth[i] <= a.Hi):
						t.Errorf("%.2f: %.1f in %.1f .. %.1f, want the truth in it, %.1f", s, points(a.Reduction), points(a.Lo), points(a.Hi), points(truth[i]))
					case p.known && math.Abs(a.Reduction-truth[i]) > .05:
						t.Errorf("%.2f: %.1f, want %.1f", s, points(a.Reduction), points(truth[i]))
					}
				}
			}
			if answers != len(speedups) {
				t.Errorf("%d answers, want %d", answers, len(speedups))
			}
		})
	}
}
