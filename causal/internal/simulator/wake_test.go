package simulator

import "github.com/otelprof/otelprof/causal/internal/ledger"

// wakeUps are programs whose steps are not much longer than it takes to wake up. With a faster
// region other goroutines wait than without, and each of these waits ends that much later.
var wakeUps = []struct {
	name   string
	run    func(w *World)
	period int64
}{
	{"2 blocks in order, random", twoBlocks(Region, Other), 350 * us},
	{"2 blocks in order, encode", twoBlocks(Other, Region), 350 * us},
	{"mutex, in it, 2", briefMutex(2, Other, Region, 200*us, 100*us), 150 * us},
	{"mutex, in it, 3", briefMutex(3, Other, Region, 400*us, 200*us), 200 * us},
	{"mutex, before it, 2", briefMutex(2, Region, Other, 400*us, 150*us), 275 * us},
	{"mutex, before it, 3", briefMutex(3, Region, Other, 600*us, 150*us), 250 * us},
	{"pipeline, producer", briefStages(2, Region, Other, 400*us, 300*us), 400 * us},
	{"pipeline, consumer", briefStages(2, Other, Region, 300*us, 400*us), 400 * us},
	{"pipeline, producer, no buffer", briefStages(0, Region, Other, 400*us, 300*us), 400 * us},
	{"pipeline, consumer, no buffer", briefStages(0, Other, Region, 300*us, 400*us), 400 * us},
	{"join, longer branch", briefJoin(Region, Other, 400*us, 300*us), 400 * us},
	{"join, own branch is longer", briefJoin(Other, Region, 300*us, 400*us), 400 * us},
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
