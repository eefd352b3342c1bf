package simulator

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// limits are programs that experiments with delays are wrong about, and by how much at most, or
// that one might expect them to be wrong about. If an error gets less than low, the documents are
// to be changed.
var limits = []struct {
	name    string
	run     func(w *World)
	period  int64
	config  Config
	overlap span
}{
	{"barging mutex", barging, 2 * ms, Config{Wake: 100 * us}, span{0, gate}},
	{"barging mutex, ±50 %", barging, 2 * ms, Config{Wake: 100 * us, Jitter: .5}, span{0, gate}},
	{"two locks in different order", twoLocks, 2 * ms, Config{}, span{0, gate}},
	{"two locks in different order, ±50 %", twoLocks, 2 * ms, Config{Jitter: .5}, span{0, gate}},
	{"select, consumer waits", selects(1 * ms), 3 * ms, Config{Jitter: .1}, span{0, gate}},
	{"select, consumer is busy", selects(4 * ms), 4 * ms, Config{Jitter: .1}, span{0, gate}},
	{"children, and own work meanwhile", busyParent, 14 * ms, Config{}, span{60, 70}},
	{"8 goroutines on 1 CPU, spin", saturated(8), 10 * ms, Config{CPUs: 1, Pay: Spin}, span{25, 40}},
	{"8 goroutines on 2 CPUs, spin", saturated(8), 5 * ms, Config{CPUs: 2, Pay: Spin}, span{25, 40}},
	{"8 goroutines on 1 CPU, spin, ±50 %", saturated(8), 10 * ms, Config{CPUs: 1, Pay: Spin, Jitter: .5}, span{0, 5}},
	{"8 goroutines on 2 CPUs, spin, ±50 %", saturated(8), 5 * ms, Config{CPUs: 2, Pay: Spin, Jitter: .5}, span{0, 5}},
	{"8 goroutines on 1 CPU, sleep, ±50 %", saturated(8), 10 * ms, Config{CPUs: 1, Pay: Timer, Jitter: .5}, span{30, 45}},
	{"8 goroutines on 2 CPUs, sleep, ±50 %", saturated(8), 5 * ms, Config{CPUs: 2, Pay: Timer, Jitter: .5}, span{30, 45}},
	{"2 goroutines on 2 CPUs, spin, ±50 %", saturated(2), 5 * ms, Config{CPUs: 2, Pay: Spin, Jitter: .5}, span{0, gate}},
	{"delays by time.Sleep, region of 2 ms", mutexes(8, 10*ms, 2*ms, false), 2 * ms, Config{Pay: TimeSleep}, span{0, gate}},
	{"delays by time.Sleep, region of 20 µs", mutexes(16, 200*us, 20*us, false), 20 * us, Config{Pay: TimeSleep}, span{100, 150}},
	{"delays by timerfd, region of 20 µs", mutexes(16, 200*us, 20*us, false), 20 * us, Config{Pay: Timer}, span{0, 3}},
}

// span is from what to what an error may be, points.
type span struct{ low, high float64 }

func TestLimits(t *testing.T) {
	var b strings.Builder
	b.WriteString("Largest error, points:\n\n| program | overlap |\n|---|---|\n")
	for _, l := range limits {
		t.Run(l.name, func(t *testing.T) {
			l.config.Seed = 1
			if l.config.Pay == Exactly {
				l.config.Pay = Timer
			}
			x := &Experiment{Program: l.run, Config: l.config, Warm: 200 * l.period, End: 2000 / scale * l.period}
			e := compare(t, x, nil)
			l.overlap.check(t, "Overlap", e)
			fmt.Fprintf(&b, "| %s | %.1f |\n", l.name, tenths(e))
		})
	}
	t.Log(b.String())
}

func (s span) check(t *testing.T, what string, e float64) {
	t.Helper()
	if e = math.Abs(e); scale*e < s.low || e > scale*s.high {
		t.Errorf("%s is off by %.2f points, which is known to be %g to %g", what, e, s.low, s.high)
	}
}

func barging(w *World) {
	m := Mutex{Barging: true}
	for range 8 {
		w.Go(func(g *Goroutine) {
			for {
				g.Span(Point, func() { g.IO(10 * ms) })
				m.Lock(g)
				g.Span(Region, func() { g.IO(2 * ms) })
				m.Unlock(g)
			}
		})
	}
}

// twoLocks are needed one within the other by some, and apart by others.
func twoLocks(w *World) {
	var a, b Mutex
	for range 3 {
		w.Go(func(g *Goroutine) {
			for {
				g.Span(Point, func() { g.IO(7 * ms) })
				a.Lock(g)
				g.Span(Region, func() { g.IO(2 * ms) })
				b.Lock(g)
				g.Span(Other, func() { g.IO(1 * ms) })
				b.Unlock(g)
				a.Unlock(g)
			}
		})
		w.Go(func(g *Goroutine) {
			for {
				g.Span(Point, func() { g.IO(5 * ms) })
				b.Lock(g)
				g.Span(Other, func() { g.IO(2 * ms) })
				b.Unlock(g)
				a.Lock(g)
				g.Span(Other, func() { g.IO(1 * ms) })
				a.Unlock(g)
			}
		})
	}
}

// selects takes from two sources that know nothing of each other.
func selects(consume int64) func(w *World) {
	return func(w *World) {
		chans := []*Chan[int]{NewChan[int](2), NewChan[int](2)}
		for i, c := range chans {
			w.Go(func(g *Goroutine) {
				for {
					if i == 0 {
						g.Span(Region, func() { g.IO(5 * ms) })
					} else {
						g.Span(Other, func() { g.IO(7 * ms) })
					}
					c.Send(g, i)
				}
			})
		}
		w.Go(func(g *Goroutine) {
			for {
				Select(g, chans...)
				g.Span(Point, func() { g.IO(consume) })
			}
		})
	}
}

// busyParent works while its children do, and reports neither that nor the wait.
func busyParent(w *World) {
	w.Go(func(g *Goroutine) {
		for {
			sp := g.Start(Point)
			g.Span(Other, func() { g.IO(2 * ms) })
			wg := WaitGroup{Plain: true}
			wg.Add(g, 1)
			g.GoPlain(func(g *Goroutine) {
				child := g.StartBelow(sp, Region)
				g.IO(10 * ms)
				child.End(g)
				wg.Done(g)
			})
			g.IO(9 * ms)
			wg.Wait(g)
			g.Span(Other, func() { g.IO(2 * ms) })
			sp.End(g)
		}
	})
}

// saturated are more goroutines than CPUs, or as many.
func saturated(n int) func(w *World) {
	return func(w *World) {
		for range n {
			w.Go(func(g *Goroutine) {
				for {
					g.Span(Region, func() { g.Work(2 * ms) })
					g.Span(Point, func() { g.Work(8 * ms) })
				}
			})
		}
	}
}
