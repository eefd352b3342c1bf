package simulator

import (
	"github.com/otelprof/otelprof/causal/internal/ledger"
)

const (
	us = Microsecond
	ms = Millisecond
)

// program is one that predictions are held against the truth with.
type program struct {
	name   string
	run    func(w *World)
	period int64 // about, ns
	// exact is the truth without jitter, nil if there is no formula for it.
	exact func(s float64) float64
	pay   Payment
}

// gate is how far a prediction may be off, points.
const gate = 2

// programs are those of which all predictions must be right.
var programs = []program{
	{"1 join, longer branch", join(Region, Other), 10 * ms, longer, Timer},
	{"1 join, shorter branch", join(Other, Region), 10 * ms, nothing, Timer},
	{"2 mutex, wait outside spans", mutexes(8, 10*ms, 2*ms, false), 2 * ms, lockEffect, Timer},
	{"2 mutex, wait inside a span", mutexes(8, 10*ms, 2*ms, true), 2 * ms, lockEffect, Timer},
	{"3 pipeline, producer", pipeline(4, Region, Other), 10 * ms, longer, Timer},
	{"3 pipeline, consumer", pipeline(4, Other, Region), 10 * ms, nothing, Timer},
	{"3 pipeline, producer, no buffer", pipeline(0, Region, Other), 10 * ms, longer, Timer},
	{"3 pipeline, consumer, no buffer", pipeline(0, Other, Region), 10 * ms, nothing, Timer},
	{"4 fan-out, one client", fanOut(1, false), 14 * ms, fanEffect, Timer},
	{"4 fan-out, one client, implied", fanOut(1, true), 14 * ms, fanEffect, Timer},
	{"4 fan-out, six clients", fanOut(6, false), 14 * ms / 6, fanEffect, Timer},
	{"4 fan-out, six clients, implied", fanOut(6, true), 14 * ms / 6, fanEffect, Timer},
	{"6 calls to one worker", calls(8, 10*ms, 2*ms), 2 * ms, lockEffect, Timer},
	{"7 random numbers under a lock", mutexes(16, 200*us, 20*us, false), 20 * us, randomEffect, Spin},
	{"8 blocks in order, random", blocks(Region, Other, Other), 3 * ms, nil, Timer},
	{"8 blocks in order, encode", blocks(Other, Region, Other), 3 * ms, nil, Timer},
	{"8 blocks in order, write", blocks(Other, Other, Region), 3 * ms, nil, Timer},
	{"readers and a writer", readers, 3 * ms, nil, Timer},
	{"a goroutine for each item", spawner, 20 * ms / 3, spawnEffect, Timer},
	{"recursion", recursion, 10 * ms, serialEffect, Timer},
	{"region twice on a goroutine", twice, 10 * ms, serialEffect, Timer},
	{"region without end", endless, 10 * ms, serialEffect, Timer},
	{"two loops of one parent", siblings, 5 * ms, siblingEffect, Timer},
	{"spans that end elsewhere", elsewhere, 10 * ms, elsewhereEffect, Timer},
}

func longer(s float64) float64 { return 1 - max(10*(1-s), 7)/10 }

func nothing(float64) float64 { return 0 }

// lockEffect is for 8 goroutines, 10 ms outside of the lock and 2 ms inside.
func lockEffect(s float64) float64 { return 1 - max(12-2*s, 16*(1-s))/16 }

// randomEffect is for 16 goroutines, 200 µs outside of the lock and 20 µs inside.
func randomEffect(s float64) float64 { return 1 - max(220-20*s, 320*(1-s))/320 }

func spawnEffect(s float64) float64 { return 1 - max(5, 20*(1-s)/3)/(20./3) }

func serialEffect(s float64) float64 { return .6 * s }

// siblingEffect is for two loops of 10 ms, the region being 8 ms of one.
func siblingEffect(s float64) float64 { return 1 - 2/(1+10/(10-8*s)) }

func elsewhereEffect(s float64) float64 { return 1 - max(10*(1-s), 3)/10 }

func fanEffect(s float64) float64 { return 1 - (4+max(10*(1-s), 7))/14 }

// join is a loop that waits for two branches side by side.
func join(a, b ledger.RegionID) func(w *World) {
	return func(w *World) {
		w.Go(func(g *Goroutine) {
			for {
				sp := g.Start(Point)
				var wg WaitGroup
				wg.Add(g, 1)
				g.Go(func(g *Goroutine) {
					g.Span(a, func() { g.IO(10 * ms) })
					wg.Done(g)
				})
				g.Span(b, func() { g.IO(7 * ms) })
				wg.Wait(g)
				sp.End(g)
			}
		})
	}
}

// mutexes are n goroutines that need a lock now and then.
func mutexes(n int, outside, inside int64, within bool) func(w *World) {
	return func(w *World) {
		var m Mutex
		for i := range n {
			w.Go(func(g *Goroutine) {
				g.Sleep(int64(i) * outside / int64(n))
				for {
					sp := g.Start(Point)
					g.Span(Other, func() { g.IO(outside) })
					if !within {
						sp.End(g)
					}
					m.Lock(g)
					g.Span(Region, func() { g.IO(inside) })
					m.Unlock(g)
					if within {
						sp.End(g)
					}
				}
			})
		}
	}
}

// pipeline has two stages, the first of which is slower.
func pipeline(buffer int, first, second ledger.RegionID) func(w *World) {
	return stages(buffer, func(g *Goroutine) {
		g.Span(first, func() { g.IO(10 * ms) })
	}, func(g *Goroutine) {
		g.Span(Point, func() { g.Span(second, func() { g.IO(7 * ms) }) })
	})
}

// stages do one thing for each element, first one and then the other.
func stages(buffer int, first, second func(g *Goroutine)) func(w *World) {
	return func(w *World) {
		c := NewChan[int](buffer)
		w.Go(func(g *Goroutine) {
			for {
				first(g)
				c.Send(g, 0)
			}
		})
		w.Go(func(g *Goroutine) {
			for {
				c.Receive(g)
				second(g)
			}
		})
	}
}

// fanOut are clients whose requests have two branches. Plain ones do not tell of the wait.
func fanOut(clients int, plain bool) func(w *World) {
	return func(w *World) {
		for i := range clients {
			w.Go(func(g *Goroutine) {
				g.Sleep(int64(i) * 14 * ms / int64(clients))
				for {
					sp := g.Start(Point)
					g.Span(Other, func() { g.IO(2 * ms) })
					wg := WaitGroup{Plain: plain}
					wg.Add(g, 2)
					branch := func(region ledger.RegionID, ns int64) func(g *Goroutine) {
						return func(g *Goroutine) {
							child := g.StartBelow(sp, region)
							g.IO(ns)
							child.End(g)
							wg.Done(g)
						}
					}
					if plain {
						g.GoPlain(branch(Region, 10*ms))
						g.GoPlain(branch(Other, 7*ms))
					} else {
						g.Go(branch(Region, 10*ms))
						g.Go(branch(Other, 7*ms))
					}
					wg.Wait(g)
					g.Span(Other, func() { g.IO(2 * ms) })
					sp.End(g)
				}
			})
		}
	}
}

// calls are n clients of a server that does one thing at a time.
func calls(n int, think, serve int64) func(w *World) {
	return func(w *World) {
		requests := NewChan[*Chan[int]](n)
		w.Go(func(g *Goroutine) {
			for {
				reply, _ := requests.Receive(g)
				g.Span(Region, func() { g.IO(serve) })
				reply.Send(g, 0)
			}
		})
		for i := range n {
			w.Go(func(g *Goroutine) {
				g.Sleep(int64(i) * think / int64(n))
				reply := NewChan[int](1)
				for {
					g.Span(Point, func() {
						g.Span(Other, func() { g.IO(think) })
						requests.Send(g, reply)
						reply.Receive(g)
					})
				}
			})
		}
	}
}

// blocks are made of random numbers, which come from one source, are encoded side by side, and
// written in order.
func blocks(random, encode, write ledger.RegionID) func(w *World) {
	return func(w *World) {
		var source, output Mutex
		turn := Cond{L: &output}
		taken, written := 0, 0
		for range 4 {
			w.Go(func(g *Goroutine) {
				for {
					source.Lock(g)
					n := taken
					taken++
					g.Span(random, func() { g.IO(3 * ms) })
					source.Unlock(g)
					g.Span(encode, func() { g.IO(6 * ms) })
					output.Lock(g)
					for written != n {
						turn.Wait(g)
					}
					g.Span(Point, func() { g.Span(write, func() { g.IO(1 * ms) }) })
					written++
					turn.Broadcast(g)
					output.Unlock(g)
				}
			})
		}
	}
}

// readers share a lock, but for one that writes.
func readers(w *World) {
	var m RWMutex
	for range 4 {
		w.Go(func(g *Goroutine) {
			for {
				m.RLock(g)
				g.Span(Other, func() { g.IO(4 * ms) })
				m.RUnlock(g)
				g.Span(Point, func() { g.IO(2 * ms) })
			}
		})
	}
	w.Go(func(g *Goroutine) {
		for {
			m.Lock(g)
			g.Span(Region, func() { g.IO(5 * ms) })
			m.Unlock(g)
			g.Span(Other, func() { g.IO(1 * ms) })
		}
	})
}

// spawner starts a goroutine for each item, of which three run at once.
func spawner(w *World) {
	w.Go(func(g *Goroutine) {
		tickets := NewChan[int](3)
		for {
			g.Span(Other, func() { g.IO(5 * ms) })
			tickets.Send(g, 0)
			g.Go(func(g *Goroutine) {
				g.Span(Point, func() { g.Span(Region, func() { g.IO(20 * ms) }) })
				tickets.Receive(g)
			})
		}
	})
}

func recursion(w *World) {
	w.Go(func(g *Goroutine) {
		var descend func(depth int)
		descend = func(depth int) {
			g.Span(Region, func() {
				g.IO(1 * ms)
				if depth > 0 {
					descend(depth - 1)
				}
				g.IO(1 * ms)
			})
		}
		for {
			descend(2)
			g.Span(Point, func() { g.IO(4 * ms) })
		}
	})
}

// twice has the region open twice, the first one to start being the first to end.
func twice(w *World) {
	w.Go(func(g *Goroutine) {
		for {
			a := g.Start(Region)
			g.IO(2 * ms)
			b := g.Start(Region)
			g.IO(2 * ms)
			a.End(g)
			g.IO(2 * ms)
			b.End(g)
			g.Span(Point, func() { g.IO(4 * ms) })
		}
	})
}

// endless has a loop within the region, which never ends.
func endless(w *World) {
	c := NewChan[int](0)
	w.Go(func(g *Goroutine) {
		g.Start(Region)
		for {
			g.IO(6 * ms)
			c.Send(g, 0)
			c.Receive(g)
		}
	})
	w.Go(func(g *Goroutine) {
		for {
			c.Receive(g)
			g.Span(Point, func() { g.IO(4 * ms) })
			c.Send(g, 0)
		}
	})
}

// elsewhere has spans that end on the goroutine that gets what they have made.
func elsewhere(w *World) {
	c := NewChan[*Span](1)
	w.Go(func(g *Goroutine) {
		for {
			sp := g.Start(Region)
			g.IO(10 * ms)
			c.Send(g, sp)
		}
	})
	w.Go(func(g *Goroutine) {
		for {
			sp, _ := c.Receive(g)
			sp.End(g)
			g.Span(Point, func() { g.IO(3 * ms) })
		}
	})
}

// siblings are two loops that one goroutine has started and that do not meet. The region
// is in one of them.
func siblings(w *World) {
	w.Go(func(g *Goroutine) {
		for _, region := range []ledger.RegionID{Region, Other} {
			g.Go(func(g *Goroutine) {
				for {
					g.Span(Point, func() {
						g.Span(region, func() { g.IO(8 * ms) })
						g.Span(Other, func() { g.IO(2 * ms) })
					})
				}
			})
		}
	})
}
