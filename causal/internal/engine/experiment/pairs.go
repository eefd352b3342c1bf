package experiment

import (
	"time"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/internal/stats"
)

// A Step is one arm of a series of experiments and what was added up in it for one progress point
// and metric: visits, and the time that they took, less the delays. Of a quantile of latency it is
// that and one. Both are 0 if there is nothing, or if the arm was thrown away. Of a slow-down there
// is also what its region took itself and was held for, ns for each visit.
type Step struct {
	Arm
	round        int
	time, visits float64
	own, taken   float64
	lasts, spans float64 // what a span of the region takes, ns, and how many there are for each visit
	lost         float64 // the part of the window that the host or a quota took, in [0, 1]
}

// Value is what one visit took, or the quantile; 0 if there is nothing.
func (s Step) Value() time.Duration { return time.Duration(s.time / max(1, s.visits)) }

// StepsOf returns the visits of one progress point and their effective time, or of latency the
// quantile that comes at this place in the plan.
func StepsOf(experiments []Experiment, latency bool, point, which int) []Step {
	steps := make([]Step, len(experiments))
	for i, e := range experiments {
		steps[i].Arm, steps[i].round = e.Arm, e.Iteration
		switch {
		case e.Spoiled != "":
		case !latency:
			passed := e.Passages[point]
			steps[i].time, steps[i].visits = max(0, float64(passed.Effective)), float64(passed.Visits)
		case which < len(e.Quantiles[point]) && e.Quantiles[point][which] > 0: // 0 is that of no spans
			steps[i].time, steps[i].visits = e.Quantiles[point][which], 1
		}
		if visits := float64(e.Passages[point].Visits); visits > 0 && steps[i].visits > 0 {
			steps[i].lost = lost(e.Machine, e.Duration)
			steps[i].own, steps[i].taken = float64(e.Own)/visits, float64(e.Taken)/visits
			steps[i].lasts, steps[i].spans = float64(e.Took)/float64(max(1, e.Ends)), float64(e.Ends)/visits
		}
	}
	return steps
}

// BaseOf is what a visit took in the steps without delay, by their totals, or the quantile.
func BaseOf(steps []Step) time.Duration {
	var sum Step
	for _, s := range steps {
		if s.Speedup == 0 {
			sum.time += s.time
			sum.visits += s.visits
		}
	}
	return time.Duration(sum.time / max(1, sum.visits))
}

// A comparison is an arm and the baselines next to it.
type comparison struct{ time, visits, baseTime, baseVisits float64 }

func (c *comparison) add(d comparison, sign float64) {
	c.time += sign * d.time
	c.visits += sign * d.visits
	c.baseTime += sign * d.baseTime
	c.baseVisits += sign * d.baseVisits
}

// reduction is by which part the time for each visit is less in the arm than in the baselines, by
// the totals.
func (c comparison) reduction() float64 {
	if c.visits <= 0 || c.baseTime <= 0 {
		return 0
	}
	return 1 - c.time/c.visits*c.baseVisits/c.baseTime
}

// Pairs compares each arm that has a delay with the baselines next to it, in the order of time, and
// returns for each arm the pseudo-values of its reduction: the ratio of totals, with rounds as
// blocks, since an arm is there once in a round. All steps must be there, in the order of time, so
// that no others become neighbours.
//
// The baseline is read off the line between the two, so that what grows steadily cancels. No arm is
// left out for what came out: where the load comes in bursts, some arms have one and some have not,
// and only all of them together have the mean.
func Pairs(steps []Step) map[Arm][]float64 {
	reductions := map[Arm][]float64{}
	for a, c := range Contrasts(steps) {
		reductions[a] = stats.PseudoValues(c, (*Contrast).Add, Contrast.reduction)
	}
	return reductions
}

// baselines returns the baselines next to a step. Where a round has one, that of another round is
// none: it would be in two samples of one arm, which are taken to be independent.
func baselines(steps []Step, i int) []design.Neighbor[Step] {
	number := func(place int) int64 { return int64(place) }
	next := design.Neighbors(steps, i, number, func(s Step) bool { return s.Speedup == 0 && s.visits > 0 })
	if len(next) < 2 || next[0].Window.round == next[1].Window.round {
		return next
	}
	own := next[:1]
	if next[0].Window.round != steps[i].round {
		own = next[1:]
	}
	own[0].Part = 1
	return own
}

// between compares a step with baselines.
func between(s Step, next []design.Neighbor[Step]) comparison {
	return comparison{
		time: s.time, visits: s.visits,
		baseTime:   design.Mean(next, func(b Step) float64 { return b.time }),
		baseVisits: design.Mean(next, func(b Step) float64 { return b.visits }),
	}
}

// A SelfCheck is how many intervals were made from arms without any delay, and how many of them
// leave out zero, which is the truth.
type SelfCheck struct{ intervals, missed int }

// CheckBaselines takes each second baseline for an experiment, with those next to it as its
// baselines, and makes of each stats.LeastToJudge of them the interval that would be given.
func CheckBaselines(steps []Step) (c SelfCheck) {
	var baselines []Step
	for _, s := range steps {
		if s.Speedup == 0 && s.visits > 0 {
			baselines = append(baselines, s)
		}
	}
	var block []comparison
	for i := 1; i+1 < len(baselines); i += 2 {
		next := []design.Neighbor[Step]{{Window: baselines[i-1], Part: 0.5}, {Window: baselines[i+1], Part: 0.5}}
		block = append(block, between(baselines[i], next))
		if len(block) < stats.LeastToJudge {
			continue
		}
		e := stats.Summarize(stats.PseudoValues(block, (*comparison).add, comparison.reduction))
		c.intervals++
		if e.Lo-stats.ModelError > 0 || e.Hi+stats.ModelError < 0 {
			c.missed++
		}
		block = nil
	}
	return c
}

// chance is how probable it is that so many miss, or more, of intervals that are right.
func (c SelfCheck) chance() float64 { return stats.AtLeast(c.missed, c.intervals, 1-stats.Confidence) }
