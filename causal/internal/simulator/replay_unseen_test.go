package simulator

import (
	"testing"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/replay"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/testutil/thorough"
)

// A bounded is an answer of replay about a program's throughput, and the truth.
type bounded struct {
	answer   replay.Answer
	truth    float64
	speedup  float64
	question bool
}

// boundsOf has five recordings of a program asked about its region and, if procs is not 0, about as
// many processors.
func boundsOf(t *testing.T, x Experiment, stock bool, speedups []float64, procs int) []bounded {
	t.Helper()
	c := replay.StudyConfig{Speedups: speedups}
	if procs > 0 {
		c.Questions = []replay.Question{{Procs: procs}}
	}
	study, err := replay.NewStudy(c)
	if err != nil {
		t.Fatal(err)
	}
	var all []bounded
	for _, s := range speedups {
		all = append(all, bounded{speedup: s})
	}
	if procs > 0 {
		all = append(all, bounded{question: true})
	}
	for seed := range uint64(doubt.LeastWindows) {
		y := x
		y.Config.Seed = seed
		rec, _ := y.Recorded(stock)
		if err := study.Add(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
		for i := range all {
			truth := 0.
			if all[i].question {
				changed := y.Config
				changed.CPUs = procs
				truth = y.effect(changed)
			} else {
				truth = y.Shortened(ledger.Hypothesis{Region: Region, Speedup: all[i].speedup})
			}
			all[i].truth += truth / doubt.LeastWindows
		}
	}
	found := 0
	for _, a := range study.Result().Answers {
		if a.Point != Progress || a.Metric != replay.Throughput || a.Region != RegionName(Region) && a.Region.Scope != replay.QuestionScope {
			continue
		}
		for i := range all {
			if all[i].question == (a.Region.Scope == replay.QuestionScope) && all[i].speedup == a.Speedup {
				all[i].answer = a
				found++
			}
		}
	}
	if found != len(all) {
		t.Errorf("%d answers, want %d", found, len(all))
	}
	return all
}

// holds reports the answers that are given and whose interval does not have the truth.
func holds(t *testing.T, all []bounded) {
	t.Helper()
	for _, b := range all {
		a := b.answer
		t.Logf("%s %.2f: %.1f (%.1f .. %.1f), in truth %.1f, withheld %d", a.Region.Name, a.Speedup, points(a.Reduction), points(a.Lo), points(a.Hi), points(b.truth), a.Withheld)
		if a.Withheld == replay.WithheldNone && !(a.Lo <= b.truth && b.truth <= a.Hi) {
			t.Errorf("%s %.2f: %.1f (%.1f .. %.1f), want the truth in it, %.1f", a.Region.Name, a.Speedup, points(a.Reduction), points(a.Lo), points(a.Hi), points(b.truth))
		}
	}
}

// computing has n goroutines that compute outside of a lock and inside of it.
func computing(n int, outside, inside int64) func(w *World) {
	return func(w *World) {
		var m Mutex
		for range n {
			w.Go(func(g *Goroutine) {
				for {
					g.Span(Point, func() { g.Span(Other, func() { g.Work(outside) }) })
					m.Lock(g)
					g.Span(Region, func() { g.Work(inside) })
					m.Unlock(g)
				}
			})
		}
	}
}

// computingPipeline has goroutines that compute and pass elements on.
func computingPipeline(room int, first, second int64) func(w *World) {
	return func(w *World) {
		c := NewChan[int](room)
		w.Go(func(g *Goroutine) {
			for i := 0; ; i++ {
				g.Span(Region, func() { g.Work(first) })
				c.Send(g, i)
			}
		})
		w.Go(func(g *Goroutine) {
			for {
				c.Receive(g)
				g.Span(Other, func() { g.Work(second) })
				g.Start(Point).End(g)
			}
		})
	}
}

// computingAlone has goroutines that compute and share nothing.
func computingAlone(n int, work int64) func(w *World) {
	return func(w *World) {
		for range n {
			w.Go(func(g *Goroutine) {
				for {
					g.Span(Point, func() { g.Span(Region, func() { g.Work(work) }) })
				}
			})
		}
	}
}

// beside adds a goroutine that computes all the time, and for which no other waits.
func beside(run func(w *World)) func(w *World) {
	return func(w *World) {
		run(w)
		w.Go(func(g *Goroutine) {
			for {
				g.Work(300 * us)
			}
		})
	}
}

// TestReplayMoreProcessors asks recordings made on few processors about more of them.
func TestReplayMoreProcessors(t *testing.T) {
	for _, p := range []struct {
		name     string
		run      func(w *World)
		from, to int
		long     bool // runs with -long
	}{
		{"2 under a lock, a third of the time", computing(2, 200*us, 100*us), 1, 2, false},
		{"4 under a lock, a third of the time", computing(4, 200*us, 100*us), 1, 4, true},
		{"4 under a lock, half of the time", computing(4, 200*us, 200*us), 1, 4, false},
		{"8 under a lock, a fifth of the time, from 2", computing(8, 400*us, 100*us), 2, 8, true},
		{"8 under a lock, a twentieth of the time, from 2", computing(8, 950*us, 50*us), 2, 8, true},
		{"16 under a lock, a tenth of the time, from 2 to 16", computing(16, 900*us, 100*us), 2, 16, true},
		{"32 under a lock, a twentieth of the time, from 2 to 32", computing(32, 950*us, 50*us), 2, 32, true},
		{"8 under a lock, a third of the time, from 2, beside another", beside(computing(8, 200*us, 100*us)), 2, 4, false},
		{"pipeline, even, no room", computingPipeline(0, 300*us, 300*us), 1, 2, false},
		{"pipeline, even, room", computingPipeline(16, 300*us, 300*us), 1, 2, true},
		{"pipeline, uneven", computingPipeline(2, 300*us, 150*us), 1, 2, false},
		{"alone", computingAlone(4, 300*us), 1, 2, false},
		{"alone, from 2", computingAlone(8, 300*us), 2, 4, true},
	} {
		if p.long && !*thorough.Rounds {
			continue
		}
		for _, build := range []string{"stock", "otelprof"} {
			t.Run(p.name+", "+build, func(t *testing.T) {
				t.Parallel()
				x := Experiment{Program: p.run, Config: Config{Jitter: .3, CPUs: p.from, Wake: 20 * us, Go: true}, Warm: 200 * ms, End: 2 * Second}
				holds(t, boundsOf(t, x, build == "stock", nil, p.to))
			})
		}
	}
}

// apart has n workers that hold a lock for a part of each turn, and begin apart, so that they never
// meet at it.
func apart(n int, inside, outside ledger.RegionID, with, without int64) func(w *World) {
	return func(w *World) {
		var m Mutex
		for i := range n {
			w.Go(func(g *Goroutine) {
				g.Sleep(int64(i) * (with + without) / int64(n))
				for {
					g.Span(Point, func() {
						m.Lock(g)
						g.Span(inside, func() { g.IO(with) })
						m.Unlock(g)
						g.Span(outside, func() { g.IO(without) })
					})
				}
			})
		}
	}
}

// TestReplayNeverMet has workers that take turns at a lock for which none of them ever waited.
func TestReplayNeverMet(t *testing.T) {
	for _, p := range []struct {
		name   string
		run    func(w *World)
		jitter float64
	}{
		{"2 for 40 %, outside", apart(2, Other, Region, 4*ms, 6*ms), 0},
		{"2 for 40 %, inside", apart(2, Region, Other, 4*ms, 6*ms), 0},
		{"3 for 30 %, outside", apart(3, Other, Region, 3*ms, 7*ms), 0},
		{"2 for 40 %, outside, some jitter", apart(2, Other, Region, 4*ms, 6*ms), .01},
		{"4 for 20 %, outside, some jitter", apart(4, Other, Region, 2*ms, 8*ms), .01},
	} {
		for _, build := range []string{"stock", "otelprof"} {
			t.Run(p.name+", "+build, func(t *testing.T) {
				t.Parallel()
				x := Experiment{Program: p.run, Config: Config{Jitter: p.jitter, CPUs: 8, Go: true}, Warm: 200 * ms, End: 3 * Second}
				holds(t, boundsOf(t, x, build == "stock", []float64{.25, .5, .75, .95}, 0))
			})
		}
	}
}
