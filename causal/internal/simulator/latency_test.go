package simulator

import (
	"math"
	"slices"
	"testing"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/otelhdr"
)

// TestLatencies holds the quantiles of virtual durations against the truth, in a queue whose
// requests come whether it is busy or not: those that a formula gives for random times, and
// those of the region really being shorter.
func TestLatencies(t *testing.T) {
	const (
		arrive = 2 * ms // mean times
		serve  = 1 * ms
		end    = 20 * Second / scale
	)
	x := &Experiment{
		Program: openQueue(arrive, serve), Config: Config{Seed: 3, Pay: Timer},
		Warm: Second / scale, End: end,
	}
	for _, speedup := range []float64{.1, .25, .5, .75} {
		h := ledger.Hypothesis{Region: Region, Speedup: speedup}
		c := x.Config
		c.Shorter = h
		shortened := durations(x.Run(c))
		effect, paid, err := x.Overlap(h)
		if err != nil {
			t.Fatal(err)
		}
		overlap := paid.Latency(0)
		for _, q := range []float64{50, 90, 99} {
			truth := quantile(shortened, q)
			formula := -math.Log(1-q/100) / (1/(serve*(1-speedup)) - 1/float64(arrive)) / ms
			o := percentile(overlap, q)
			t.Logf("s = %.2f p%g: %6.3f ms by formula, %6.3f shortened, %6.3f overlap (%+.1f %%)", speedup, q, formula, truth, o, points(o/truth-1))
			if e := o/truth - 1; math.Abs(e) > scale*.06 {
				t.Errorf("s = %g: p%g where delays are paid is %.3f ms, want %.3f: off by %.1f %%", speedup, q, o, truth, points(e))
			}
			if e := truth/formula - 1; math.Abs(e) > scale*.1 {
				t.Errorf("s = %g: p%g of a shorter region is %.3f ms, the formula gives %.3f: off by %.1f %%", speedup, q, truth, formula, points(e))
			}
		}
		// Nothing that the program does makes more requests come.
		check(t, "Throughput", points(effect), scale*gate)
	}
}

// openQueue is a server that does one thing at a time, and requests at random times.
func openQueue(arrive, serve float64) func(w *World) {
	return func(w *World) {
		requests := NewChan[*Chan[int]](1000)
		w.Go(func(g *Goroutine) {
			for {
				reply, _ := requests.Receive(g)
				ns := int64(serve * g.Rand().ExpFloat64())
				g.Span(Region, func() { g.IO(ns) })
				reply.Send(g, 0)
			}
		})
		w.Go(func(g *Goroutine) {
			for {
				g.Span(Other, func() { g.Sleep(int64(arrive * g.Rand().ExpFloat64())) })
				g.Go(func(g *Goroutine) {
					g.Span(Point, func() {
						reply := NewChan[int](1)
						requests.Send(g, reply)
						reply.Receive(g)
					})
				})
			}
		})
	}
}

func durations(arrivals []Arrival) []int64 {
	var all []int64
	for _, a := range arrivals {
		all = append(all, a.Duration)
	}
	slices.Sort(all)
	return all
}

// quantile returns a percentile in ms.
func quantile(sorted []int64, p float64) float64 {
	return float64(sorted[int(p/100*float64(len(sorted)))]) / ms
}

// percentile is the same of a histogram.
func percentile(s *otelhdr.Snapshot, p float64) float64 {
	return float64(s.Percentile(p)) / ms
}
