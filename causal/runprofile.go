package causal

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/otelprof/otelprof/otelhdr"
)

// profile estimates all curves from what the run has measured so far.
func (run *run) profile() Profile {
	run.mu.Lock()
	p := Profile{
		Mode:        run.plan.Mode,
		PlanID:      run.plan.ID,
		PlanHash:    run.plan.hash,
		Generation:  run.plan.Generation,
		Started:     run.started,
		Ended:       run.ended,
		Iterations:  run.iterations,
		Experiments: run.measured,
		Rejected:    run.rejected,
		Delay:       time.Duration(run.guard.spent.Load()),
	}
	// Both only ever grow, so that the slices can be read without the lock.
	regions, experiments := run.regions, run.experiments
	latency := maps.Clone(run.latency)
	run.mu.Unlock()

	if run.plan.Mode == ModeOverlap {
		p.Handover = handover()
		p.Waiting = waitingOf(experiments)
	}
	p.Tallies = run.tallies(regions, experiments, latency)
	p.Notes = run.notes(regions)
	for point, progress := range run.plan.Progress {
		if !slices.ContainsFunc(experiments, func(e experiment) bool { return e.passages[point].visits > 0 }) {
			p.Notes = append(p.Notes, fmt.Sprintf("no experiment with a visit of progress point %q yet", progress.Span))
			continue
		}
		if run.plan.Mode == ModeDilation {
			p.Curves = append(p.Curves, run.dilationCurves(&p, regions, experiments, point)...)
		} else {
			p.Curves = append(p.Curves, run.overlapCurves(regions, experiments, point)...)
		}
	}
	return p
}

// speedups are those of the grid that ask something, in [0, 1), ordered.
func (run *run) speedups() (speedups []float64) {
	for _, percent := range slices.Sorted(slices.Values(run.plan.Grid.Speedups)) {
		if percent > 0 {
			speedups = append(speedups, percent/100)
		}
	}
	return speedups
}

func (run *run) dilationCurves(p *Profile, regions []RegionKey, experiments []experiment, point int) (curves []Curve) {
	name := run.plan.Progress[point].Span
	byIteration := periodsOf(experiments, point)
	var none []float64
	for _, periods := range byIteration {
		none = append(none, periods.none...)
	}
	if note := coverageNote(name, coverages(byIteration)); note != "" {
		p.Notes = append(p.Notes, note)
	}
	for i, region := range regions {
		c := newCurve(ModeDilation, region, name, MetricThroughput, base(none))
		for _, s := range run.speedups() {
			c.Effects = append(c.Effects, effectOf(s, reductions(byIteration, i, s), nil))
		}
		curves = append(curves, c)
	}
	return curves
}

func base(periods []float64) time.Duration {
	if len(periods) == 0 {
		return 0
	}
	return time.Duration(median(periods))
}

func (run *run) overlapCurves(regions []RegionKey, experiments []experiment, point int) (curves []Curve) {
	metrics, _ := run.plan.Progress[point].metrics()
	for which, metric := range metrics {
		steps := run.stepsOf(experiments, point, which)
		samples, rejected := pairs(steps)
		null := nulls(steps)
		for i, region := range regions {
			c := newCurve(ModeOverlap, region, run.plan.Progress[point].Span, metric, base(valuesWithout(steps)))
			for _, s := range run.asked(steps, i) {
				a := arm{speedup: s, spared: i}
				v := evidenceOf(experiments, a, point)
				v.rejected, v.null = len(rejected), null
				c.Effects = append(c.Effects, v.judge(effectOf(s, samples[a], nil)))
			}
			curves = append(curves, c)
		}
	}
	return curves
}

// valuesWithout are those of the steps without delay.
func valuesWithout(steps []step) (values []float64) {
	for _, s := range steps {
		if s.speedup == 0 && s.value > 0 {
			values = append(values, s.value)
		}
	}
	return values
}

// asked returns the speed-ups of a region, ordered: the grid's and those near its knees.
func (run *run) asked(steps []step, region int) []float64 {
	all := run.speedups()
	for _, s := range steps {
		if s.speedup > 0 && s.spared == region {
			all = append(all, s.speedup)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// stepsOf returns the effective periods of one progress point, or the quantile of its latency
// that comes at this place in the plan.
func (run *run) stepsOf(experiments []experiment, point, which int) []step {
	steps := make([]step, len(experiments))
	for i, e := range experiments {
		steps[i].arm = e.arm
		switch {
		case e.spoiled != "":
		case run.plan.Progress[point].Type != TypeLatency:
			steps[i].value = e.passages[point].period()
		case which < len(e.quantiles[point]):
			steps[i].value = e.quantiles[point][which]
		}
	}
	return steps
}

// evidenceOf adds up what is known of the experiments with one arm.
func evidenceOf(experiments []experiment, a arm, point int) evidence {
	v := evidence{}
	n, locks := 0, time.Duration(0)
	for _, e := range experiments {
		if e.arm != a {
			continue
		}
		n++
		v.visits += e.passages[point].visits
		v.ends += e.ends
		v.elapsed += e.duration
		v.growth += e.growth
		v.owed += time.Duration(e.counts.Owed)
		v.paid += time.Duration(e.counts.Paid)
		v.residual += e.residual
		v.unattributed += time.Duration(e.counts.Unattributed)
		v.attributed += time.Duration(e.counts.Attributed)
		v.saturated += e.busy
		locks += e.locks
	}
	v.unattributed += untold(locks, v.attributed, v.elapsed)
	if n > 0 {
		v.saturated /= float64(n)
	}
	return v
}

// waitingOf adds up what is known of the waits in all experiments with delay.
func waitingOf(experiments []experiment) []Waiting {
	w := Waiting{Mode: ModeOverlap}
	for _, e := range experiments {
		attributed := time.Duration(e.counts.Attributed)
		w.Attributed += attributed
		w.Unattributed += time.Duration(e.counts.Unattributed) + untold(e.locks, attributed, e.duration)
	}
	if w == (Waiting{Mode: ModeOverlap}) {
		return nil
	}
	return []Waiting{w}
}

// samples returns a function that gives what has been measured in a cell so far, one slice for
// each progress point and metric.
func (run *run) samples() func(arm) [][]float64 {
	run.mu.Lock()
	experiments := run.experiments
	run.mu.Unlock()
	var all []map[arm][]float64
	for point, p := range run.plan.Progress {
		metrics, _ := p.metrics()
		for which := range metrics {
			reductions, _ := pairs(run.stepsOf(experiments, point, which))
			all = append(all, reductions)
		}
	}
	return func(a arm) [][]float64 {
		samples := make([][]float64, len(all))
		for i := range all {
			samples[i] = all[i][a]
		}
		return samples
	}
}

// tallies add up what the experiments have counted.
func (run *run) tallies(regions []RegionKey, experiments []experiment, latency map[latencyCell]*otelhdr.Snapshot) (tallies []Tally) {
	places := map[Tally]int{}
	for _, e := range experiments {
		if e.spoiled != "" || e.spared == sparesNone && e.speedup > 0 {
			continue
		}
		for point, p := range run.plan.Progress {
			key := Tally{Mode: run.plan.Mode, Speedup: e.speedup, Progress: p.Span}
			if e.speedup > 0 {
				key.Region = regions[e.spared]
			}
			at, ok := places[key]
			if !ok {
				at = len(tallies)
				places[key] = at
				tallies = append(tallies, key)
				tallies[at].Latency = latency[newLatencyCell(e.arm, point)]
			}
			t := &tallies[at]
			t.Visits += e.passages[point].visits
			t.Effective += e.passages[point].effective
			t.Delay += time.Duration(e.counts.Paid)
		}
	}
	return tallies
}

// notes say what is missing.
func (run *run) notes(regions []RegionKey) (notes []string) {
	for _, pattern := range run.plan.Regions {
		if pattern.Auto == 0 && !slices.ContainsFunc(regions, func(k RegionKey) bool { return pattern.Match(k.Scope, k.Span) }) {
			notes = append(notes, fmt.Sprintf("no span seen that matches region %q", pattern))
		}
	}
	if len(regions) == maxRegions {
		notes = append(notes, fmt.Sprintf("only the first %d regions that match are examined", maxRegions))
	}
	for name, n := range run.guard.counts().byName() {
		notes = append(notes, fmt.Sprintf("%d delays withheld by %s", n, name))
	}
	slices.Sort(notes)
	if run.plan.Mode == ModeOverlap && scheduling() {
		notes = append(notes, NoteRuntime)
	}
	return notes
}
