package engine

import (
	"fmt"
	"math"
	"slices"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/glob"
	"github.com/otelprof/otelprof/internal/stats"
	"github.com/otelprof/otelprof/otelhdr"
)

// Levels are those at which regions are slowed down.
func (run *Run) Levels() []float64 {
	if run.Plan.ByClock() {
		return experiment.LevelsOf(run.Plan)
	}
	return design.LevelsUpTo(slices.Max(run.Grid) / 100)
}

func (run *Run) slowdownCurves(experiments []experiment.Experiment, regions []profile.Region, point int, due func()) (curves []profile.Curve) {
	metrics, _ := run.Plan.Progress[point].Metrics()
	for which, metric := range metrics {
		steps := run.StepsOf(experiments, point, which)
		byArm := experiment.Contrasts(steps)
		slopes := run.slopes(byArm, len(regions), due)
		for i, region := range regions {
			if metric != profile.MetricThroughput && glob.Match(run.Plan.Progress[point].Span, region.Name) {
				continue // a delay after its end is in no duration
			}
			c := profile.Curve{Mode: profile.ModeSlowdown, Region: region, Progress: run.Plan.Progress[point].Name(), Metric: metric, BasePeriod: experiment.BaseOf(steps)}
			var all []experiment.Contrast
			for _, level := range run.Levels() {
				all = append(all, byArm[experiment.Arm{Speedup: level, Spared: i}]...)
			}
			c.Slopes = slopes[i]
			c.Own = experiment.Sum(all).OwnOfVisit()
			w := run.workOf(region)
			c.Inside, c.Awaited, c.Served = w.Queues(all), w.awaited, w.served
			c.Overtaken, c.Behind = w.overtaken, w.Behind
			c.Expiring = max(w.timedOut, experiment.Expiring(experiments, i))
			c.HoldsUp = w.holdsUp
			c.Drift = experiment.Drift(experiments, i, w.self)
			c.AnswerFromSlopes(run.Speedups())
			v := experiment.EvidenceOf(experiments, experiment.Arm{Speedup: run.Levels()[0], Spared: i}, point)
			experiment.Widen(c.Effects, all, v.Deprived.Most())
			if metric != profile.MetricThroughput && lumped(c, w) {
				for k, e := range c.Effects {
					if e.Known() {
						e.Bounded, e.Warnings = true, append(e.Warnings, "delays below 0.1 ms are inserted together, so that this quantile does not show them")
						c.Effects[k] = e.Wider(1)
					}
				}
			}
			curves = append(curves, c)
		}
	}
	profile.WidenByOthers(curves)
	return curves
}

// slopes are those of each region, at each level. Windows of one program scatter alike, whichever
// region is slower, so a slope of which they do by chance much less than others is as sure as
// those.
func (run *Run) slopes(byArm map[experiment.Arm][]experiment.Contrast, regions int, due func()) [][]profile.Slope {
	all := make([][]profile.Slope, regions)
	var variances, freedom []float64
	for i := range all {
		for _, level := range run.Levels() {
			of := byArm[experiment.Arm{Speedup: level, Spared: i}]
			s := profile.NewSlope(level, max(0, experiment.Sum(of).Slower()), experiment.Elasticities(of))
			ratio := experiment.Rerouted(of)
			s.VisitRatio, s.VisitRatioErr = ratio.Mean, ratio.StdErr
			all[i] = append(all[i], s)
			off := s.StdErr * s.Taken // of the period
			variances, freedom = append(variances, off*off*float64(s.Samples)), append(freedom, float64(s.Samples-1))
			due()
		}
	}
	moderated := stats.Moderate(variances, freedom)
	for i, slopes := range all {
		for k, s := range slopes {
			if s.Samples > 0 && s.Taken > 0 {
				slopes[k] = s.LeastStdErr(math.Sqrt(moderated[i*len(slopes)+k]/float64(s.Samples)) / s.Taken)
			}
		}
	}
	return all
}

// lumped reports whether a few spans were held for many, by about as much as the quantile itself:
// then it does not move by what spans are held for in the mean.
func lumped(c profile.Curve, w work) bool {
	const leastOfQuantile = 20
	asleep := c.Slopes[0].Taken * w.own * (1 - w.computing)
	return w.computing < 0.9 && asleep < 1.25*design.LeastSlept && c.BasePeriod < leastOfQuantile*design.LeastSlept
}

// short returns where limits left less than half of a delay.
func short(curves []profile.Curve) (notes []string) {
	for _, c := range curves {
		last := c.Slopes[len(c.Slopes)-1]
		if c.Metric == profile.MetricThroughput && last.Samples >= stats.LeastSamples && last.Taken < last.Level/2 {
			notes = append(notes, fmt.Sprintf("region %q: its callers were held for %.2g %% of its own time, not %.0f %%: limits.duty, limits.per_span, limits.per_trace or abort.p99_ratio leave no more, and the interval is wider for it",
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
