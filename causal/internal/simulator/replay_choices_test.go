package simulator

import (
	"testing"

	"github.com/otelprof/otelprof/causal/internal/ledger"
)

// choicePrograms have select statements that end in other ways when a region is faster.
var choicePrograms = []struct {
	name string
	run  func(w *World)
}{
	{"asked again, the server", askedAgain(Region, Other)},
	{"asked twice, the replica", askedTwice(Region, Other)},
	{"asked twice, the client", askedTwice(Other, Region)},
	{"batches, what is written", batched(Region, Other)},
	{"batches, what comes in", batched(Other, Region)},
	{"urgent ones first, these", urgentFirst(Region, Other)},
	{"urgent ones first, the others", urgentFirst(Other, Region)},
}

// TestReplayChoices holds replay against the truth of programs with timeouts and with workers of
// several channels.
func TestReplayChoices(t *testing.T) {
	var all []replayed
	for _, p := range choicePrograms {
		x := &Experiment{Program: p.run, Config: Config{Seed: 1, Jitter: .4, CPUs: 8, Wake: 20 * us, Go: true}, Warm: 200 * ms, End: 4 * Second / scale}
		r := replayOf(t, p.name, x, false)
		check(t, p.name+": nothing changed", r.base, scale*3)
		check(t, p.name, r.worst(), scale*4)
		all = append(all, r)
	}
	t.Log("\n" + table(all))
}

// askedAgain is four clients of two servers, which ask again if there is no answer in time. Some
// answers take long.
func askedAgain(serve, think ledger.RegionID) func(w *World) {
	return func(w *World) {
		asks := NewChan[*Chan[int]](4)
		for range 2 {
			w.Go(func(g *Goroutine) {
				for {
					answer, _ := asks.Receive(g)
					d := int64(3 * ms)
					if g.Rand().IntN(6) == 0 {
						d = 14 * ms
					}
					g.Span(serve, func() { g.IO(d) })
					answer.Send(g, 1)
				}
			})
		}
		for range 4 {
			w.Go(func(g *Goroutine) {
				for {
					g.Span(think, func() { g.IO(8 * ms) })
					for late := true; late; {
						answer := NewChan[int](1)
						asks.Send(g, answer)
						_, late = answer.ReceiveWithin(g, 10*ms)
					}
					g.Start(Point).End(g)
				}
			})
		}
	}
}

// askedTwice (hedged requests) is four clients that ask another replica as well if the first one
// takes long, and take the first answer.
func askedTwice(replica, use ledger.RegionID) func(w *World) {
	return func(w *World) {
		for range 4 {
			w.Go(func(g *Goroutine) {
				for {
					answers := NewChan[int](2)
					ask := func() {
						g.GoPlain(func(g *Goroutine) {
							g.Span(replica, func() { g.IO(1*ms + g.Rand().Int64N(9*ms)) })
							answers.Send(g, 1)
						})
					}
					ask()
					if _, late := answers.ReceiveWithin(g, 5*ms); late {
						ask()
						answers.Receive(g)
					}
					g.Start(Point).End(g)
					g.Span(use, func() { g.IO(3 * ms) })
				}
			})
		}
	}
}

// batched is six clients that wait until a batch with their item is written: four items, or what
// comes in 4 ms.
func batched(write, prepare ledger.RegionID) func(w *World) {
	return func(w *World) {
		items := NewChan[*Chan[int]](6)
		w.Go(func(g *Goroutine) {
			for {
				first, _ := items.Receive(g)
				batch, began := []*Chan[int]{first}, g.Now()
				for late := false; len(batch) < 4 && !late; {
					var next *Chan[int]
					if next, late = items.ReceiveWithin(g, max(0, 4*ms-g.Now()+began)); !late {
						batch = append(batch, next)
					}
				}
				g.Span(write, func() { g.IO(5 * ms) })
				for i, written := range batch {
					written.Send(g, i)
				}
			}
		})
		for range 6 {
			w.Go(func(g *Goroutine) {
				for written := NewChan[int](1); ; {
					g.Span(prepare, func() { g.IO(4 * ms) })
					items.Send(g, written)
					written.Receive(g)
					g.Start(Point).End(g)
				}
			})
		}
	}
}

// urgentFirst is two workers that take the urgent jobs of three clients before those of four
// others.
func urgentFirst(first, second ledger.RegionID) func(w *World) {
	type job struct {
		region ledger.RegionID
		d      int64
		done   *Chan[int]
	}
	return func(w *World) {
		urgent, others := NewChan[job](8), NewChan[job](8)
		for range 2 {
			w.Go(func(g *Goroutine) {
				for {
					j, ok := urgent.TryReceive(g)
					if !ok {
						j, _, _ = Select(g, urgent, others)
					}
					g.Span(j.region, func() { g.IO(j.d) })
					j.done.Send(g, 1)
				}
			})
		}
		for i := range 7 {
			w.Go(func(g *Goroutine) {
				for done := NewChan[int](1); ; {
					g.IO(6 * ms)
					if i < 3 {
						urgent.Send(g, job{first, 2 * ms, done})
						done.Receive(g)
						continue
					}
					others.Send(g, job{second, 3 * ms, done})
					done.Receive(g)
					g.Start(Point).End(g)
				}
			})
		}
	}
}
