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

// A held is what was added up in one arm of slow-downs for one progress point and metric, and what its region did and was held for meanwhile.
type held struct {
	step
	own, taken float64 // of the region, ns for each visit
}

// A contrast is an arm and the placebos next to it.
type contrast struct {
	comparison
	own, taken float64 // sums of what the region did in an arm, and of what it was held for more than in the placebos
	arms       float64
}

func (c *contrast) add(d contrast, sign float64) {
	c.comparison.add(d.comparison, sign)
	c.own += sign * d.own
	c.taken += sign * d.taken
	c.arms += sign * d.arms
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
func contrasts(all []held) map[arm][]contrast {
	steps := make([]step, len(all))
	for i, h := range all {
		steps[i] = h.step
	}
	byArm := map[arm][]contrast{}
	for i, h := range all {
		if h.speedup == 0 || h.visits == 0 || h.own <= 0 {
			continue
		}
		before, back := baseline(steps, i, -1)
		after, ahead := baseline(steps, i, +1)
		if back == 0 && ahead == 0 {
			continue
		}
		weight := float64(ahead) / float64(back+ahead) // of the one before
		if back == 0 || ahead == 0 {
			weight = float64(back) / float64(back+ahead)
		}
		c := contrast{comparison: between(h.step, before, weight, after), own: h.own, taken: h.taken, arms: 1}
		for _, at := range []struct {
			distance int
			weight   float64
		}{{-back, weight}, {ahead, 1 - weight}} {
			if at.distance != 0 && all[i+at.distance].spared == h.spared {
				c.taken -= at.weight * all[i+at.distance].taken
			}
		}
		byArm[h.arm] = append(byArm[h.arm], c)
	}
	return byArm
}

// heldOf returns the arms of a run for one progress point, and the quantile of its latency that comes at this place in the plan.
func (run *run) heldOf(experiments []experiment, point, which int) []held {
	all := make([]held, len(experiments))
	for i, s := range run.stepsOf(experiments, point, which) {
		all[i].step = s
		e := experiments[i]
		if visits := float64(e.passages[point].visits); visits > 0 && s.visits > 0 {
			all[i].own, all[i].taken = float64(e.own)/visits, float64(e.taken)/visits
		}
	}
	return all
}

// elasticities are the jackknife's pseudo-values.
func elasticities(c []contrast) []float64 {
	return stats.PseudoValues(c, (*contrast).add, contrast.elasticity)
}

// slowdownSamples is samples for slow-downs.
func (run *run) slowdownSamples() func(arm) [][]float64 {
	run.mu.Lock()
	experiments := run.experiments
	run.mu.Unlock()
	var all []map[arm][]contrast
	for point, p := range run.plan.Progress {
		metrics, _ := p.Metrics()
		for which := range metrics {
			all = append(all, contrasts(run.heldOf(experiments, point, which)))
		}
	}
	return func(a arm) [][]float64 {
		samples := make([][]float64, len(all))
		for i := range all {
			samples[i] = elasticities(all[i][a])
		}
		return samples
	}
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
		all := run.heldOf(experiments, point, which)
		byArm := contrasts(all)
		for i, region := range regions {
			if metric != profile.MetricThroughput && region.Name == run.plan.Progress[point].Span {
				continue // a delay after its end is in no duration
			}
			c := profile.Curve{Mode: profile.ModeSlowdown, Region: region, Progress: run.plan.Progress[point].Span, Metric: metric, BasePeriod: baseHeld(all)}
			var sum contrast
			for _, level := range run.levels() {
				of := byArm[arm{level, i}]
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
			c.AnswerFromSlopes(run.speedups())
			deprived := evidenceOf(experiments, arm{run.levels()[0], i}, point).deprived
			for k, e := range c.Effects {
				c.Effects[k] = deprive(e, deprived.most())
			}
			curves = append(curves, c)
		}
	}
	profile.WidenFalling(curves)
	return curves
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

func baseHeld(all []held) time.Duration {
	steps := make([]step, len(all))
	for i, h := range all {
		steps[i] = h.step
	}
	return baseOf(steps)
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
