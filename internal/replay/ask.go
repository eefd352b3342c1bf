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

// What a window is asked is a matter of budget. Sixteen regions at five speed-ups are 80 changes,
// each a simulation of the window, and one more for each alternative (bounds.go). A recording of a
// busy service does not allow for all of them within a few percent of a processor. So each window
// is asked as much as its steps allow, and windows take turns: an answer needs any five windows,
// not the same five as the next answer. With five windows, and steps for two changes each:
//
//	window     1     2     3     4     5     6     7  ...
//	changes   a b   a b   a b   a b   a b   c d   c d      a, b: busiest regions, a half faster
//
// A change once begun is asked of the next windows until it has five, so that the first answers
// come after five windows, whatever the number of questions: TestSteps.

// usualSteps is how many steps the simulations of one window may take together, some 0.7 s of a
// processor. A step is one event or op of a simulation, and takes some 10 ns.
const usualSteps = 64_000_000

// An ask is one change that a window is simulated with: the part of a question that the simulation
// depends on. One simulation gives the samples of all progress points and metrics. A question about
// another build has the region that stands for it, and no speed-up.
type ask struct {
	region  trace.Region
	speedup float64 // below 1; below 0 for slower
	held    bool    // goroutines are held behind spans of the region for -speedup of their own time
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
	// In the order that counts among equals: the speed-ups nearest to a half first, and in each of
	// them the regions as given, the busiest first.
	var all []ask
	for _, by := range slices.SortedStableFunc(slices.Values(s.config.Speedups), func(a, b float64) int {
		return cmp.Compare(math.Abs(a-0.5), math.Abs(b-0.5))
	}) {
		for _, r := range regions {
			all = append(all, ask{r, by, false})
		}
	}
	// Where five windows are needed: first what was asked of 4, then of 3, 2, 1, 0, 5, 6 and so on.
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
// What is left is asked of other windows. It returns how many steps there were. Base is the replay
// of p with nothing changed, others are the alternatives: each has progress points in the same
// order as p, and is held against its own replay of nothing changed.
func (s *Study) simulate(ctx context.Context, w *window, p *model.Program, base *sim.Outcome, others []doubt.Alternative) (steps int, err error) {
	rec := p.Rec
	d := rec.End - rec.Start
	most := s.config.Steps
	if len(s.held) > 0 { // a quarter is for slow-downs, see hold
		most -= most / 4
	}
	for _, a := range s.asks(w.regions) {
		if ctx.Err() != nil {
			return steps, context.Cause(ctx)
		}
		if steps >= most {
			break
		}
		// The answer itself.
		c := sim.Change{Factors: map[int32]float64{int32(slices.Index(rec.Regions, a.region)): 1 - a.speedup}}
		o := sim.Simulate(p, c, d)
		steps += o.Work
		// The same change in the other programs that meet the recording. One that bounds slow-downs
		// alone is not asked about faster regions, and leaves no visits behind.
		bounds := make([]sim.Outcome, len(others))
		for i := range others {
			if others[i].Slower && a.speedup >= 0 {
				continue
			}
			bounds[i] = sim.Simulate(others[i].P, others[i].Change(c), d)
			steps += bounds[i].Work
		}
		// The same change beside what the recording cannot show: how soon processors wake up, and
		// what other programs do then.
		varied, work := w.vary(p, p, c, base, &o, d)
		steps += work
		// One sample for each progress point with visits enough. The sample has to come first: what
		// follows widens it.
		w.asked[a] = true
		for i, point := range w.checked(p) {
			q := question{ask: a, point: point}
			w.sample(q, base, &o, i, d)
			w.widen(q, base, varied, i, d)
			for k := range others {
				if bounds[k].Visits != nil {
					w.bound(q, &others[k], &bounds[k], i, d, q.speedup)
				}
			}
			bound(w.buckets, w, q, q.speedup)
		}
	}
	return steps, nil
}
