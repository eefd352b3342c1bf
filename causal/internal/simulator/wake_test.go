package simulator

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/causal/internal/ledger"
)

// wakeUps are programs whose steps are not much longer than it takes to wake up. With a faster region
// other goroutines wait than without, and each of these waits ends that much later. Bound is how far virtual
// time may be off, points.
var wakeUps = []struct {
	name   string
	run    func(w *World)
	period int64
	bound  float64
}{
	{"2 blocks in order, random", twoBlocks(Region, Other), 350 * us, gate},
	{"2 blocks in order, encode", twoBlocks(Other, Region), 350 * us, 6},
	{"mutex, in it, 2", briefMutex(2, Other, Region, 200*us, 100*us), 150 * us, gate},
	{"mutex, in it, 3", briefMutex(3, Other, Region, 400*us, 200*us), 200 * us, 6},
	{"mutex, before it, 2", briefMutex(2, Region, Other, 400*us, 150*us), 275 * us, 6},
	{"mutex, before it, 3", briefMutex(3, Region, Other, 600*us, 150*us), 250 * us, 6},
	{"pipeline, producer", briefStages(2, Region, Other, 400*us, 300*us), 400 * us, gate},
	{"pipeline, consumer", briefStages(2, Other, Region, 300*us, 400*us), 400 * us, gate},
	{"pipeline, producer, no buffer", briefStages(0, Region, Other, 400*us, 300*us), 400 * us, 4},
	{"pipeline, consumer, no buffer", briefStages(0, Other, Region, 300*us, 400*us), 400 * us, 4},
	{"join, longer branch", briefJoin(Region, Other, 400*us, 300*us), 400 * us, gate},
	{"join, own branch is longer", briefJoin(Other, Region, 300*us, 400*us), 400 * us, gate},
}

// TestWakeUps holds virtual time against the truth where goroutines take 30 and 75 µs to wake up, and
// prints how far it is off.
func TestWakeUps(t *testing.T) {
	var b strings.Builder
	b.WriteString("Largest error of virtual time, points:\n\n| program | 30 µs | 75 µs |\n|---|---|---|\n")
	for _, p := range wakeUps {
		t.Run(p.name, func(t *testing.T) {
			fmt.Fprintf(&b, "| %s |", p.name)
			for _, wake := range []int64{30 * us, 75 * us} {
				x := &Experiment{Program: p.run, Config: Config{Seed: 1, Jitter: .3, Wake: wake}, Warm: 100 * p.period, End: 3000 / scale * p.period}
				all := hypotheses(Region)
				virtual, _, err := x.Virtual(all)
				if err != nil {
					t.Fatal(err)
				}
				worst := 0.
				for k, h := range all {
					if h.Speedup == .25 || h.Speedup == .5 || h.Speedup == .75 {
						truth := x.Shortened(h)
						t.Logf("%d µs, s = %.2f: %6.2f %% in truth, %6.2f virtual", wake/us, h.Speedup, points(truth), points(virtual[k]))
						worst = larger(worst, points(virtual[k]-truth))
					}
				}
				if math.Abs(worst) > scale*p.bound {
					t.Errorf("%d µs: off by %.2f points, want at most %g", wake/us, worst, p.bound)
				}
				fmt.Fprintf(&b, " %.1f |", tenths(worst))
			}
			b.WriteString("\n")
		})
	}
	t.Log(b.String())
}

// twoBlocks is examples/fasta: two workers, on a processor each.
func twoBlocks(random, encode ledger.RegionID) func(w *World) {
	return func(w *World) {
		source, output := Mutex{Barging: true}, Mutex{Barging: true}
		turn := Cond{L: &output}
		taken, written := 0, 0
		for range 2 {
			w.Go(func(g *Goroutine) {
				for {
					source.Lock(g)
					n := taken
					taken++
					g.Span(random, func() { g.Work(217 * us) })
					source.Unlock(g)
					g.Span(encode, func() { g.Work(480 * us) })
					output.Lock(g)
					for written != n {
						turn.Wait(g)
					}
					g.Span(Point, func() { g.Work(2 * us) })
					written++
					turn.Broadcast(g)
					output.Unlock(g)
				}
			})
		}
	}
}

// briefMutex is n goroutines that compute before they need a lock, and with it.
func briefMutex(n int, outside, inside ledger.RegionID, before, with int64) func(w *World) {
	return func(w *World) {
		m := Mutex{Barging: true}
		for range n {
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

func briefStages(buffer int, first, second ledger.RegionID, produce, consume int64) func(w *World) {
	return stages(buffer, func(g *Goroutine) {
		g.Span(first, func() { g.Work(produce) })
	}, func(g *Goroutine) {
		g.Span(Point, func() { g.Span(second, func() { g.Work(consume) }) })
	})
}

// briefJoin waits for another goroutine after its own branch.
func briefJoin(other, own ledger.RegionID, others, owns int64) func(w *World) {
	return func(w *World) {
		w.Go(func(g *Goroutine) {
			for {
				g.Span(Point, func() {
					var wg WaitGroup
					wg.Add(g, 1)
					g.Go(func(g *Goroutine) {
						g.Span(other, func() { g.Work(others) })
						wg.Done(g)
					})
					g.Span(own, func() { g.Work(owns) })
					wg.Wait(g)
				})
			}
		})
	}
}
