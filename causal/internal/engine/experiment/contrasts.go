package experiment

import (
	"time"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/stats"
)

// A Contrast is an arm and the placebos next to it.
type Contrast struct {
	comparison
	// Own is what the region did in an arm, and taken what it was held for more than in the
	// placebos, for each visit of the arm, times its visits: as the period does, a window counts by
	// these.
	Own, taken float64
	Arms       float64
	// shrunk is by how much shorter the region's spans were in an arm, and held what was taken
	// where that is known.
	shrunk, held float64
	// ends are the region's spans in an arm, and baseEnds in its placebos for as many visits; 0
	// where these are of other regions.
	ends, baseEnds float64
	stretched      float64 // by what was taken from an arm, less that of its placebos
}

// Add adds another contrast, or takes it off with a sign of -1.
func (c *Contrast) Add(d Contrast, sign float64) {
	c.add(d.comparison, sign)
	c.Own += sign * d.Own
	c.taken += sign * d.taken
	c.Arms += sign * d.Arms
	c.shrunk += sign * d.shrunk
	c.held += sign * d.held
	c.ends += sign * d.ends
	c.baseEnds += sign * d.baseEnds
	c.stretched += sign * d.stretched
}

// absorbed is which part of the delay the region's own spans made up for: they are shorter where
// they wait in a queue, inside or outside of the program, which is shorter while callers are held.
// Then it is no hold of what they wait for.
func (c Contrast) absorbed() float64 {
	if c.held <= 0 {
		return 0
	}
	return c.shrunk / c.held
}

// OwnOfVisit is what the region did for each visit.
func (c Contrast) OwnOfVisit() time.Duration { return time.Duration(c.Own / max(1, c.visits)) }

// Slower is by which part of its own time the region was held.
func (c Contrast) Slower() float64 {
	if c.Own <= 0 {
		return 0
	}
	return c.taken / c.Own
}

// elasticity is by which part the period grew for each part by which the region was slower, by the
// totals.
func (c Contrast) elasticity() float64 {
	if s := c.Slower(); s > stats.LeastSlower {
		return -c.reduction() / s
	}
	return 0
}

// rerouted is by which part there were more of the region's spans for each visit, for each part by
// which the region was slower, by the totals.
func (c Contrast) rerouted() float64 {
	if s := c.Slower(); s > stats.LeastSlower && c.baseEnds > 0 {
		return (c.ends/c.baseEnds - 1) / s
	}
	return 0
}

// Rerouted sums up by which part there were more of the region's spans for each visit, for each
// part by which the region was slower.
func Rerouted(c []Contrast) stats.Estimate {
	if len(c) < stats.LeastSamples || !held(c) {
		return stats.Estimate{}
	}
	return stats.Summarize(stats.PseudoValues(c, (*Contrast).Add, Contrast.rerouted))
}

// Contrasts compares each arm that has a delay with the placebos next to it, in the order of time.
// All arms must be there.
func Contrasts(steps []Step) map[Arm][]Contrast {
	byArm := map[Arm][]Contrast{}
	for i, s := range steps {
		// A window in which the region did not run counts, too: left out, rare regions would be
		// looked at only where they cost.
		if s.Speedup == 0 || s.visits == 0 {
			continue
		}
		next := baselines(steps, i)
		if len(next) == 0 {
			continue
		}
		c := Contrast{
			comparison: between(s, next), Own: s.visits * s.own, Arms: 1,
			taken:     s.visits * (s.taken - design.Mean(next, func(b Step) float64 { return b.takenOf(s.Spared) })),
			stretched: delayedBy(s.lost) - design.Mean(next, func(b Step) float64 { return delayedBy(b.lost) }),
		}
		if lasted, spans, known := placebosOf(s.Spared, next); known && s.lasts > 0 {
			c.shrunk, c.held = s.visits*(lasted-s.lasts)*s.spans, c.taken
			c.ends, c.baseEnds = s.visits*s.spans, s.visits*spans
		}
		byArm[s.Arm] = append(byArm[s.Arm], c)
	}
	return byArm
}

// placebosOf is what spans of a region take in its placebos beside an arm, and how many there are
// for each visit.
func placebosOf(region int, next []design.Neighbor[Step]) (lasts, spans float64, known bool) {
	sum := 0.0
	for _, n := range next {
		if b := n.Window; b.Spared == region && b.lasts > 0 {
			lasts += n.Part * b.lasts
			spans += n.Part * b.spans
			sum += n.Part
		}
	}
	if sum == 0 {
		return 0, 0, false
	}
	return lasts / sum, spans / sum, true
}

const (
	// queuesFrom is from which part on that is absorbed spans surely queue, and queuesNot up to
	// which part, a standard error included, spans that wait for what is outside of the program do
	// not.
	queuesFrom = 0.05
	queuesNot  = 0.15
)

// A Waits is how spans of a region wait.
type Waits struct {
	Inside  bool // for other goroutines, or whether they do is not known
	Outside bool // for what is outside of the program
	// Behind is which part of a short delay their waits for a processor may make up for, in [0, 1].
	Behind float64
}

// Queues reports whether a region's spans wait in a queue, as recorded, or as measured by what they
// absorb.
func (w Waits) Queues(arms []Contrast) bool {
	if w.Behind > profile.MostBehind { // so what they absorb is that wait
		return w.Inside
	}
	if w.Inside || len(arms) < stats.LeastSamples {
		return w.Inside || w.Outside
	}
	absorbed := stats.Summarize(stats.PseudoValues(arms, (*Contrast).Add, Contrast.absorbed))
	return absorbed.Lo > queuesFrom || w.Outside && absorbed.Mean+absorbed.StdErr > queuesNot
}

// takenOf is what a placebo took from a region, 0 of one that is another's.
func (s Step) takenOf(region int) float64 {
	if s.Spared != region {
		return 0
	}
	return s.taken
}

// held reports whether a region was slower in these arms.
func held(c []Contrast) bool { return Sum(c).Slower() > stats.LeastSlower }

// Sum adds up contrasts.
func Sum(c []Contrast) (total Contrast) {
	for _, x := range c {
		total.Add(x, +1)
	}
	return total
}

// Elasticities are the jackknife's pseudo-values, none where the region was not slower.
func Elasticities(c []Contrast) []float64 {
	if !held(c) {
		return nil
	}
	return stats.PseudoValues(c, (*Contrast).Add, Contrast.elasticity)
}

// Slopes are the elasticities of each arm.
func Slopes(steps []Step) map[Arm][]float64 {
	all := map[Arm][]float64{}
	for a, c := range Contrasts(steps) {
		all[a] = Elasticities(c)
	}
	return all
}

// Expiring is the part of a region's delays, in [0, 1], that were left out as a deadline was near.
func Expiring(experiments []Experiment, region int) float64 {
	var near, all int64
	for _, e := range experiments {
		if e.Speedup > 0 && e.Spared == region {
			near, all = near+e.NearDeadlines, all+e.NearDeadlines+e.Delays
		}
	}
	return float64(near) / float64(max(1, all))
}
