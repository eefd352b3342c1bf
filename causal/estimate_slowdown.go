package causal

import (
	"fmt"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/stats"
	"github.com/otelprof/otelprof/otelhdr"
)

// A contrast is an arm and the placebos next to it.
type contrast struct {
	comparison
	own, taken float64 // sums of what the region did in an arm, and of what it was held for more than in the placebos
	arms       float64
	// shrunk is by how much shorter the region's spans were in an arm, and held what was taken where that is known.
	shrunk, held float64
}

func (c *contrast) add(d contrast, sign float64) {
	c.comparison.add(d.comparison, sign)
	c.own += sign * d.own
	c.taken += sign * d.taken
	c.arms += sign * d.arms
	c.shrunk += sign * d.shrunk
	c.held += sign * d.held
}

// absorbed is which part of the delay the region's own spans made up for: they are shorter where they wait in a queue, inside or outside of the
// program, which is shorter while callers are held. Then it is no hold of what they wait for.
func (c contrast) absorbed() float64 {
	if c.held <= 0 {
		return 0
	}
	return c.shrunk / c.held
}

// slower is by which part of its own time the region was held.
func (c contrast) slower() float64 {
	if c.own <= 0 {
		return 0
	}
	return c.taken / c.own
}

// elasticity is by which part the period grew for each part by which the region was slower, by the totals.
func (c contrast) elasticity() float64 {
	if s := c.slower(); s > 0 {
		return -c.reduction() / s
	}
	return 0
}

// contrasts compares each arm that has a delay with the placebos next to it, in the order of time. All arms must be there.
func contrasts(steps []step) map[arm][]contrast {
	byArm := map[arm][]contrast{}
	for i, s := range steps {
		if s.speedup == 0 || s.visits == 0 || s.own <= 0 {
			continue
		}
		before, weight, after, found := baselines(steps, i)
		if !found {
			continue
		}
		c := contrast{
			comparison: between(s, before, weight, after), own: s.own,
			taken: s.taken - weight*before.takenOf(s.spared) - (1-weight)*after.takenOf(s.spared), arms: 1,
		}
		if lasted, known := lastsOf(s.spared, before, weight, after); known && s.lasts > 0 {
			c.shrunk, c.held = (lasted-s.lasts)*s.spans, c.taken
		}
		byArm[s.arm] = append(byArm[s.arm], c)
	}
	return byArm
}

// lastsOf is what spans of a region take in its placebos beside an arm.
func lastsOf(region int, before step, weight float64, after step) (lasts float64, known bool) {
	sum := 0.0
	for _, p := range []struct {
		step
		weight float64
	}{{before, weight}, {after, 1 - weight}} {
		if p.spared == region && p.lasts > 0 && p.weight > 0 {
			lasts += p.weight * p.lasts
			sum += p.weight
		}
	}
	if sum == 0 {
		return 0, false
	}
	return lasts / sum, true
}

const (
	// queuesFrom is from which part on that is absorbed spans surely queue, and queuesNot up to which part, a standard error included,
	// spans that wait for what is outside of the program do not.
	queuesFrom = 0.05
	queuesNot  = 0.15
)

// queues reports whether a region's spans wait in a queue, as recorded, or as measured by what they absorb.
func (w work) queues(arms []contrast) bool {
	if w.behind > profile.MostBehind { // so what they absorb is that wait
		return w.inside
	}
	if w.inside || len(arms) < stats.LeastSamples {
		return w.inside || w.outside
	}
	absorbed := stats.Summarize(stats.PseudoValues(arms, (*contrast).add, contrast.absorbed))
	return absorbed.Lo > queuesFrom || w.outside && absorbed.Mean+absorbed.StdErr > queuesNot
}

// takenOf is what a placebo took from a region, 0 of one that is another's.
func (s step) takenOf(region int) float64 {
	if s.spared != region {
		return 0
	}
	return s.taken
}

// elasticities are the jackknife's pseudo-values.
func elasticities(c []contrast) []float64 {
	return stats.PseudoValues(c, (*contrast).add, contrast.elasticity)
}

// slopes are the elasticities of each arm.
func slopes(steps []step) map[arm][]float64 {
	all := map[arm][]float64{}
	for a, c := range contrasts(steps) {
		all[a] = elasticities(c)
	}
	return all
}

// levels are those at which regions are slowed down.
func (run *run) levels() []float64 {
	most := slices.Max(run.grid) / 100
	levels := slices.Clone(design.SlowdownLevels)
	for i := range levels {
		levels[i] = min(levels[i], most)
	}
	return slices.Compact(levels)
}

func (run *run) slowdownCurves(experiments []experiment, regions []profile.Region, point int, due func()) (curves []profile.Curve) {
	metrics, _ := run.plan.Progress[point].Metrics()
	for which, metric := range metrics {
		steps := run.stepsOf(experiments, point, which)
		byArm := contrasts(steps)
		for i, region := range regions {
			if metric != profile.MetricThroughput && region.Name == run.plan.Progress[point].Span {
				continue // a delay after its end is in no duration
			}
			c := profile.Curve{Mode: profile.ModeSlowdown, Region: region, Progress: run.plan.Progress[point].Span, Metric: metric, BasePeriod: baseOf(steps)}
			var sum contrast
			var all []contrast
			for _, level := range run.levels() {
				of := byArm[arm{level, i}]
				all = append(all, of...)
				var total contrast
				for _, x := range of {
					total.add(x, +1)
					sum.add(x, +1)
				}
				c.Slopes = append(c.Slopes, profile.NewSlope(level, max(0, total.slower()), elasticities(of)))
				due()
			}
			if sum.arms > 0 {
				c.Own = time.Duration(sum.own / sum.arms)
			}
			w := run.workOf(region)
			c.Inside, c.Awaited, c.Behind, c.Expiring = w.queues(all), w.awaited, w.behind, expiring(experiments, i)
			c.AnswerFromSlopes(run.speedups())
			v := evidenceOf(experiments, arm{run.levels()[0], i}, point)
			for k, e := range c.Effects {
				c.Effects[k] = v.widen(e)
			}
			curves = append(curves, c)
		}
	}
	profile.WidenByOthers(curves)
	return curves
}

// expiring is the part of a region's delays, in [0, 1], that were left out as a deadline was near.
func expiring(experiments []experiment, region int) float64 {
	var near, all int64
	for _, e := range experiments {
		if e.speedup > 0 && e.spared == region {
			near, all = near+e.nearDeadlines, all+e.nearDeadlines+e.delays
		}
	}
	return float64(near) / float64(max(1, all))
}

// short says where limits left less than half of a delay.
func short(curves []profile.Curve) (notes []string) {
	for _, c := range curves {
		last := c.Slopes[len(c.Slopes)-1]
		if c.Metric == profile.MetricThroughput && last.Samples >= stats.LeastSamples && last.Taken < last.Level/2 {
			notes = append(notes, fmt.Sprintf("region %q: its callers were held for %.2g %% of its own time, not %.0f %%: limits.duty, limits.per_span or abort.p99_ratio leave no more, and the interval is wider for it",
				c.Region.Name, 100*last.Taken, 100*last.Level))
		}
	}
	return notes
}

// durationsError is the relative error of durations.
const durationsError = 0.005

// measuresLatency makes the distributions of those progress points whose spans' durations count.
func measuresLatency(points []plan.ProgressPoint) (durations, error) {
	all := make(durations, len(points))
	for i, p := range points {
		if p.Type != plan.TypeLatency {
			continue
		}
		h, err := otelhdr.NewConcurrent(otelhdr.WithRelativeError(durationsError))
		if err != nil {
			return nil, err
		}
		all[i] = h
	}
	return all, nil
}
