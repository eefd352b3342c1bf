package replay

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// usualSteps is how many steps the simulations of one window may take together, some 0.7 s of a
// processor.
const usualSteps = 64_000_000

// An ask is one change that a window is simulated with.
type ask struct {
	region  trace.Region
	speedup float64
	held    bool
}

// asks returns what to simulate a window with, in order. What has been asked of some windows and
// not of enough comes first, so that answers come soon, then what has not been asked yet, then what
// has been asked least. Of these, speed-ups by a half come before smaller and larger ones, and
// regions in the order given.
func (s *Study) asks(regions []trace.Region) []ask {
	windows := map[ask]int{}
	for _, w := range s.windows {
		for a := range w.asked {
			windows[a]++
		}
	}
	var all []ask
	for _, by := range slices.SortedStableFunc(slices.Values(s.config.Speedups), func(a, b float64) int {
		return cmp.Compare(math.Abs(a-0.5), math.Abs(b-0.5))
	}) {
		for _, r := range regions {
			all = append(all, ask{r, by, false})
		}
	}
	rank := func(a ask) int {
		n := windows[a]
		if n > 0 && n < doubt.LeastWindows {
			return -n
		}
		return n
	}
	slices.SortStableFunc(all, func(a, b ask) int { return cmp.Compare(rank(a), rank(b)) })
	return all
}

// simulate simulates a window with one change after the other, until that has taken enough steps.
// What is left is asked of other windows. It returns how many steps there were.
func (s *Study) simulate(ctx context.Context, w *window, p *model.Program, base *sim.Outcome, others []doubt.Alternative) (steps int, err error) {
	rec := p.Rec
	d := rec.End - rec.Start
	for _, a := range s.asks(w.regions) {
		if ctx.Err() != nil {
			return steps, context.Cause(ctx)
		}
		if steps >= s.config.Steps {
			break
		}
		c := sim.Change{Factors: map[int32]float64{int32(slices.Index(rec.Regions, a.region)): 1 - a.speedup}}
		o := sim.Simulate(p, c, d)
		steps += o.Work
		bounds := make([]sim.Outcome, len(others))
		for i := range others {
			if others[i].Slower && a.speedup >= 0 {
				continue
			}
			c.Pace = others[i].Pace
			bounds[i] = sim.Simulate(others[i].P, c, d)
			steps += bounds[i].Work
		}
		c.Pace = 0
		varied, work := w.vary(p, c, base, &o, d)
		steps += work
		w.asked[a] = true
		for i := range p.Points {
			if _, ok := w.checks[p.Points[i].Name]; ok {
				q := question{region: a.region, speedup: a.speedup, point: p.Points[i].Name}
				w.sample(q, base, &o, i, d)
				w.widen(q, base, varied, i, d)
				for k := range others {
					if bounds[k].Visits == nil {
						continue
					}
					w.bound(q, &others[k], &bounds[k], i, d)
				}
				bound(w.buckets, w, q)
			}
		}
	}
	return steps, nil
}
