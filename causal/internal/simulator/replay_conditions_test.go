package simulator

import (
	"cmp"
	"testing"

	"github.com/otelprof/otelprof/causal/internal/ledger"
)

// conditionPrograms wait for condition variables, each for something else.
var conditionPrograms = []struct {
	name string
	run  func(w *World)
	most float64 // points that an answer may be off by; 0 for 3
}{
	{"queue, the slower side is the consumer", queueByConditions(5*ms, Other, 7*ms, Region), 0},
	{"queue, the slower side is the producer", queueByConditions(7*ms, Region, 5*ms, Other), 0},
	{"queue, the faster side", queueByConditions(5*ms, Region, 7*ms, Other), 0},
	{"semaphore", semaphoreByCondition, 0},
	{"news, the slower side is who writes", newsByCondition(8*ms, Region, 3*ms, Other), 0},
	{"barrier, the longer piece", barrierByCondition(Region, Other), 0},
	{"barrier, the others", barrierByCondition(Other, Region), 0},
	{"in order, the numbers", inOrder(Region, Other), 0},
	{"in order, the work", inOrder(Other, Region), 0},
	// No rule has the number of uses: a load that is faster is for as many as it was, by chance.
	{"loaded for eight uses, the load", loadedForAll(8, 0, Region, Other), 6},
	{"loaded for eight uses, the use", loadedForAll(8, 0, Other, Region), 0},
	{"loaded for 20 ms, the load", loadedForAll(1<<30, 20*ms, Region, Other), 0},
	{"loaded for 20 ms, the use", loadedForAll(1<<30, 20*ms, Other, Region), 0},
}

// TestReplayConditions holds replay against the truth of programs with condition variables.
func TestReplayConditions(t *testing.T) {
	var all []replayed
	for _, p := range conditionPrograms {
		x := &Experiment{Program: p.run, Config: Config{Seed: 1, Jitter: .3, CPUs: 8, Wake: 20 * us, Go: true}, Warm: 200 * ms, End: 3 * Second}
		r := replayOf(t, p.name, x, false)
		check(t, p.name+": nothing changed", r.base, 2)
		check(t, p.name, r.worst(), cmp.Or(p.most, 3))
		all = append(all, r)
	}
	t.Log("\n" + table(all))
}

// queueByConditions has two producers, three places and two consumers, whose pieces of work are the
// progress.
func queueByConditions(produce int64, producing ledger.RegionID, consume int64, consuming ledger.RegionID) func(w *World) {
	return func(w *World) {
		var lock Mutex
		notFull, notEmpty := Cond{L: &lock}, Cond{L: &lock}
		items := 0
		for range 2 {
			w.Go(func(g *Goroutine) {
				for {
					g.Span(producing, func() { g.IO(produce) })
					lock.Lock(g)
					for items == 3 {
						notFull.Wait(g)
					}
					items++
					notEmpty.Signal(g)
					lock.Unlock(g)
				}
			})
			w.Go(func(g *Goroutine) {
				for {
					lock.Lock(g)
					for items == 0 {
						notEmpty.Wait(g)
					}
					items--
					notFull.Signal(g)
					lock.Unlock(g)
					g.Span(consuming, func() { g.IO(consume) })
					g.Start(Point).End(g)
				}
			})
		}
	}
}

// semaphoreByCondition lets two of five goroutines at a time into the region.
func semaphoreByCondition(w *World) {
	var lock Mutex
	free := Cond{L: &lock}
	inside := 0
	for range 5 {
		w.Go(func(g *Goroutine) {
			for {
				g.Span(Other, func() { g.IO(6 * ms) })
				lock.Lock(g)
				for inside == 2 {
					free.Wait(g)
				}
				inside++
				lock.Unlock(g)
				g.Span(Region, func() { g.IO(5 * ms) })
				lock.Lock(g)
				inside--
				free.Signal(g)
				lock.Unlock(g)
				g.Start(Point).End(g)
			}
		})
	}
}

// newsByCondition has one goroutine write, and three that read the latest of it.
func newsByCondition(write int64, writing ledger.RegionID, read int64, reading ledger.RegionID) func(w *World) {
	return func(w *World) {
		var lock Mutex
		written := Cond{L: &lock}
		issue := 0
		w.Go(func(g *Goroutine) {
			for {
				g.Span(writing, func() { g.IO(write) })
				lock.Lock(g)
				issue++
				written.Broadcast(g)
				lock.Unlock(g)
			}
		})
		for range 3 {
			w.Go(func(g *Goroutine) {
				for known := 0; ; {
					lock.Lock(g)
					for issue == known {
						written.Wait(g)
					}
					known = issue
					lock.Unlock(g)
					g.Span(reading, func() { g.IO(read) })
					g.Start(Point).End(g)
				}
			})
		}
	}
}

// barrierByCondition has three goroutines wait for each other after each piece of work, one of
// which is longer.
func barrierByCondition(longer, others ledger.RegionID) func(w *World) {
	return func(w *World) {
		var lock Mutex
		all := Cond{L: &lock}
		there, round := 0, 0
		for i := range 3 {
			region, d := others, int64(4*ms)
			if i == 0 {
				region, d = longer, 5*ms
			}
			w.Go(func(g *Goroutine) {
				for {
					g.Span(region, func() { g.IO(d) })
					lock.Lock(g)
					if there++; there == 3 {
						there, round = 0, round+1
						all.Broadcast(g)
						g.Start(Point).End(g)
					} else {
						for mine := round; mine == round; {
							all.Wait(g)
						}
					}
					lock.Unlock(g)
				}
			})
		}
	}
}

// inOrder has three goroutines take numbers with a lock, work, and go on in the order of their
// numbers.
func inOrder(number, work ledger.RegionID) func(w *World) {
	return func(w *World) {
		var numbers, output Mutex
		turn := Cond{L: &output}
		taken, written := 0, 0
		for range 3 {
			w.Go(func(g *Goroutine) {
				for {
					numbers.Lock(g)
					n := taken
					taken++
					g.Span(number, func() { g.IO(2 * ms) })
					numbers.Unlock(g)
					g.Span(work, func() { g.IO(1*ms + g.Rand().Int64N(10*ms)) })
					output.Lock(g)
					for written != n {
						turn.Wait(g)
					}
					written++
					turn.Broadcast(g)
					output.Unlock(g)
					g.Start(Point).End(g)
				}
			})
		}
	}
}

// loadedForAll has five goroutines use what one of them loads, once it has been used so often or is
// so old.
func loadedForAll(uses int, lasts int64, loading, using ledger.RegionID) func(w *World) {
	return func(w *World) {
		var lock Mutex
		loaded := Cond{L: &lock}
		busy, left, since := false, 0, int64(0)
		for range 5 {
			w.Go(func(g *Goroutine) {
				for {
					lock.Lock(g)
					for left == 0 || lasts > 0 && g.Now()-since > lasts {
						if busy {
							loaded.Wait(g)
							continue
						}
						busy = true
						lock.Unlock(g)
						g.Span(loading, func() { g.IO(6 * ms) })
						lock.Lock(g)
						busy, left, since = false, uses, g.Now()
						loaded.Broadcast(g)
					}
					left--
					lock.Unlock(g)
					g.Span(using, func() { g.IO(4 * ms) })
					g.Start(Point).End(g)
				}
			})
		}
	}
}
