package simulator

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/internal/ledger"
)

// trace runs a program that writes down what happens when, in ms.
func trace(config Config, program func(w *World, note func(g *Goroutine, what string))) string {
	w := NewWorld(config)
	defer w.Stop()
	var all []string
	program(w, func(g *Goroutine, what string) {
		all = append(all, fmt.Sprintf("%s %g", what, float64(g.Now())/ms))
	})
	w.Run(Second)
	return strings.Join(all, ", ")
}

func TestWorlds(t *testing.T) {
	work := func(n int) func(w *World, note func(g *Goroutine, what string)) {
		return func(w *World, note func(g *Goroutine, what string)) {
			for i := range n {
				w.Go(func(g *Goroutine) {
					g.Work(int64(15+5*i) * ms)
					note(g, string(rune('a'+i)))
				})
			}
		}
	}
	for _, c := range []struct {
		name    string
		config  Config
		program func(w *World, note func(g *Goroutine, what string))
		want    string
	}{
		{"a CPU each", Config{}, work(3), "a 15, b 20, c 25"},
		{"one CPU", Config{CPUs: 1}, work(3), "a 35, b 45, c 60"},
		{"two CPUs", Config{CPUs: 2}, work(3), "a 15, b 25, c 35"},
		{"timers need no CPU", Config{CPUs: 1}, func(w *World, note func(g *Goroutine, what string)) {
			for _, ns := range []int64{3 * ms, 2 * ms} {
				w.Go(func(g *Goroutine) {
					g.Sleep(ns)
					note(g, "slept")
				})
			}
			w.Go(func(g *Goroutine) {
				g.Work(5 * ms)
				note(g, "worked")
			})
		}, "worked 5, slept 5, slept 5"},
		{"mutex in order", Config{}, lockThrice(false), "a 2, b 4, c 6"},
		{"barging mutex", Config{}, lockThrice(true), "a 2, a 4, a 6, b 8, c 10"},
		{"readers and writers", Config{}, func(w *World, note func(g *Goroutine, what string)) {
			var m RWMutex
			read := func(g *Goroutine) {
				m.RLock(g)
				g.IO(3 * ms)
				m.RUnlock(g)
				note(g, "read")
			}
			w.Go(read)
			w.Go(func(g *Goroutine) {
				g.IO(1 * ms)
				m.Lock(g)
				g.IO(2 * ms)
				m.Unlock(g)
				note(g, "written")
			})
			for range 2 {
				w.Go(func(g *Goroutine) {
					g.IO(2 * ms)
					read(g)
				})
			}
		}, "read 3, written 5, read 8, read 8"},
		{"no buffer", Config{}, func(w *World, note func(g *Goroutine, what string)) {
			c := NewChan[int](0)
			w.Go(func(g *Goroutine) {
				for range 2 {
					c.Send(g, 0)
					note(g, "sent")
				}
				g.IO(10 * ms)
				c.Close(g)
			})
			w.Go(func(g *Goroutine) {
				for ok := true; ok; {
					g.IO(3 * ms)
					if _, ok = c.Receive(g); ok {
						note(g, "received")
					}
				}
				note(g, "closed")
			})
		}, "received 3, sent 3, received 6, sent 6, closed 16"},
		{"buffer of two", Config{}, func(w *World, note func(g *Goroutine, what string)) {
			c := NewChan[int](2)
			w.Go(func(g *Goroutine) {
				for i := range 4 {
					c.Send(g, i)
					note(g, fmt.Sprint("sent ", i, " at"))
				}
				c.Close(g)
			})
			w.Go(func(g *Goroutine) {
				for {
					g.IO(3 * ms)
					i, ok := c.Receive(g)
					if !ok {
						break
					}
					note(g, fmt.Sprint("got ", i, " at"))
				}
			})
		}, "sent 0 at 0, sent 1 at 0, got 0 at 3, sent 2 at 3, got 1 at 6, sent 3 at 6, got 2 at 9, got 3 at 12"},
		{"select", Config{}, func(w *World, note func(g *Goroutine, what string)) {
			a, b := NewChan[string](1), NewChan[string](0)
			w.Go(func(g *Goroutine) {
				for range 3 {
					v, i, ok := Select(g, a, b)
					note(g, fmt.Sprint(v, " ", i, " ", ok))
				}
			})
			w.Go(func(g *Goroutine) {
				g.IO(1 * ms)
				b.Send(g, "b")
				g.IO(1 * ms)
				a.Send(g, "a")
				g.IO(1 * ms)
				a.Close(g)
			})
		}, "b 1 true 1, a 0 true 2,  0 false 3"},
		{"wait group, condition, once", Config{}, func(w *World, note func(g *Goroutine, what string)) {
			var (
				m    Mutex
				wg   WaitGroup
				once Once
			)
			c := Cond{L: &m}
			wg.Add(nil, 2)
			for range 2 {
				w.Go(func(g *Goroutine) {
					once.Do(g, func() { g.IO(2 * ms) })
					note(g, "once")
					m.Lock(g)
					c.Wait(g)
					m.Unlock(g)
					note(g, "signalled")
					wg.Done(g)
				})
			}
			w.Go(func(g *Goroutine) {
				g.IO(3 * ms)
				c.Signal(g)
				g.IO(1 * ms)
				c.Broadcast(g)
				wg.Wait(g)
				note(g, "done")
			})
		}, "once 2, once 2, signalled 3, signalled 4, done 4"},
		{"shorter region", Config{Shorter: ledger.Hypothesis{Region: Region, Speedup: .5}}, func(w *World, note func(g *Goroutine, what string)) {
			w.Go(func(g *Goroutine) {
				sp := g.Start(Region)
				g.IO(4 * ms)
				g.Go(func(g *Goroutine) {
					child := g.StartBelow(sp, Other)
					g.IO(2 * ms)
					child.End(g)
					g.IO(2 * ms)
					note(g, "child")
				})
				g.Span(Region, func() { g.Work(4 * ms) })
				sp.End(g)
				g.IO(2 * ms)
				note(g, "parent")
			})
		}, "child 5, parent 6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.config.Shorter == (ledger.Hypothesis{}) {
				c.config.Shorter.Region = ledger.NoRegion
			}
			c.config.Point = ledger.NoRegion
			if got := trace(c.config, c.program); got != c.want {
				t.Errorf("trace is\n%s, want\n%s", got, c.want)
			}
		})
	}
}

// lockThrice has one goroutine that wants the lock again as soon as it has given it back.
func lockThrice(barging bool) func(w *World, note func(g *Goroutine, what string)) {
	return func(w *World, note func(g *Goroutine, what string)) {
		m := Mutex{Barging: barging}
		for i := range 3 {
			w.Go(func(g *Goroutine) {
				times := 1
				if i == 0 && barging {
					times = 3
				}
				for range times {
					m.Lock(g)
					g.IO(2 * ms)
					note(g, string(rune('a'+i)))
					m.Unlock(g)
				}
			})
		}
	}
}

// TestSameAgain runs the programs twice, in worlds that are as random as they can be.
func TestSameAgain(t *testing.T) {
	for _, p := range programs {
		x := p.experiment(.5)
		x.End = 300 * p.period
		x.Config.Wake, x.Config.Oversleep, x.Config.CPUs = 50*us, 100*us, 2
		run := func() []Arrival {
			s, err := ledger.NewPaidSetting(ledger.Hypothesis{Region: Region, Speedup: .5}, 1)
			if err != nil {
				t.Fatal(err)
			}
			c := x.Config
			c.Setting = s
			return x.Run(c)
		}
		if diff := cmp.Diff(run(), run()); diff != "" {
			t.Errorf("%s: the second run is another one (-first +second):\n%s", p.name, diff)
		}
	}
}

// TestObserved runs the programs with ledgers and without: it must be the same, unless debts are
// paid.
func TestObserved(t *testing.T) {
	for _, p := range programs {
		x := p.experiment(.5)
		x.End = 300 * p.period
		c := x.Config
		c.Setting = ledger.NewSetting(1)
		if diff := cmp.Diff(x.Run(x.Config), x.Run(c)); diff != "" {
			t.Errorf("%s: observed, it is another one (-alone +observed):\n%s", p.name, diff)
		}
	}
}
