package causal

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/replay/trace"
	"github.com/otelprof/otelprof/otelhdr"
)

// profile estimates all curves from what the run has measured so far.
// Due is called after each number, to rest.
func (run *run) profile(due func()) profile.Profile {
	run.mu.Lock()
	p := profile.Profile{
		Mode:        run.plan.Mode,
		PlanID:      run.plan.ID,
		PlanHash:    run.plan.Hash(),
		Generation:  run.plan.Generation,
		Started:     run.started,
		Ended:       run.ended,
		Iterations:  run.iterations,
		Experiments: run.measured,
		Rejected:    run.rejected,
		Delay:       time.Duration(run.guard.Spent.Load()),
	}
	// Both only ever grow, so that the slices can be read without the lock.
	regions, experiments := run.regions, run.experiments
	latency := maps.Clone(run.latency)
	warmed, futile := run.warmed, run.futile
	run.mu.Unlock()

	if run.plan.Mode == profile.ModeOverlap {
		p.Handover = handover()
		p.Waiting = waitingOf(experiments)
	}
	p.Tallies = run.tallies(regions, experiments, latency)
	p.Notes = append(run.notes(regions), meant(regions)...)
	if note := warmed.note(run.plan.Mode); note != "" {
		p.Notes = append(p.Notes, note)
	}
	for point, progress := range run.plan.Progress {
		if futile.Code == "" && !slices.ContainsFunc(experiments, func(e experiment) bool { return e.passages[point].visits > 0 }) {
			p.Notes = append(p.Notes, fmt.Sprintf("no experiment with a visit of progress point %q yet", progress.Span))
			continue
		}
		switch run.plan.Mode {
		case profile.ModeSlowdown:
			curves := run.slowdownCurves(experiments, regions, point, due)
			p.Curves, p.Notes = append(p.Curves, curves...), append(p.Notes, short(curves)...)
		case profile.ModeDilation:
			p.Curves = append(p.Curves, run.dilationCurves(&p, regions, experiments, point, due)...)
		default:
			curves := run.overlapCurves(regions, experiments, warmed.waits, point, due)
			withholdAll(curves, futile)
			p.Curves = append(p.Curves, curves...)
		}
	}
	return p
}

// speedups are those of the grid that ask something, in [0, 1), ordered.
func (run *run) speedups() (speedups []float64) {
	for _, percent := range slices.Sorted(slices.Values(run.grid)) {
		if percent > 0 {
			speedups = append(speedups, percent/100)
		}
	}
	return speedups
}

func (run *run) dilationCurves(p *profile.Profile, regions []profile.Region, experiments []experiment, point int, due func()) (curves []profile.Curve) {
	name := run.plan.Progress[point].Span
	iterations := iterationsOf(experiments, point)
	var none total
	for _, i := range iterations {
		none.add(i.none, +1)
	}
	covered := coverages(iterations)
	var all deprived
	for _, e := range experiments {
		all.add(e.machine)
	}
	if note := coverageNote(name, covered); note != "" {
		p.Notes = append(p.Notes, note)
	}
	for i, region := range regions {
		c := profile.Curve{Mode: profile.ModeDilation, Region: region, Progress: name, Metric: profile.MetricThroughput, BasePeriod: time.Duration(none.period())}
		for _, s := range run.speedups() {
			e := profile.NewEffect(s, reductions(iterations, i, s), nil)
			if class := internClass(region); class.unforeseen.Load() { // those below such a span are stretched
				e = e.Withhold(evidence{startAs: class.from.Load().key.Name}.withheld())
			}
			c.Effects = append(c.Effects, deprive(e.Withhold(overstretched(covered)), all.most()))
			due()
		}
		curves = append(curves, c)
	}
	return curves
}

func (run *run) overlapCurves(regions []profile.Region, experiments []experiment, recorded trace.Waits, point int, due func()) (curves []profile.Curve) {
	metrics, _ := run.plan.Progress[point].Metrics()
	for which, metric := range metrics {
		steps := run.stepsOf(experiments, point, which)
		samples := pairs(steps)
		check := checkBaselines(steps)
		for i, region := range regions {
			c := profile.Curve{Mode: profile.ModeOverlap, Region: region, Progress: run.plan.Progress[point].Span, Metric: metric, BasePeriod: baseOf(steps)}
			for _, s := range run.asked(steps, i) {
				a := arm{speedup: s, spared: i}
				v := evidenceOf(experiments, a, point)
				v.check, v.recorded = check, recorded
				c.Effects = append(c.Effects, v.judge(profile.NewEffect(s, samples[a], nil)))
				due()
			}
			curves = append(curves, c)
		}
	}
	return curves
}

// withholdAll withholds all numbers for a reason, if there is one.
func withholdAll(curves []profile.Curve, why profile.Withheld) {
	for _, c := range curves {
		for i := range c.Effects {
			c.Effects[i] = c.Effects[i].Withhold(why)
		}
	}
}

// baseOf is what a visit took in the steps without delay, by their totals, or the quantile.
func baseOf(steps []step) time.Duration {
	var sum step
	for _, s := range steps {
		if s.speedup == 0 {
			sum.time += s.time
			sum.visits += s.visits
		}
	}
	return time.Duration(sum.time / max(1, sum.visits))
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

// stepsOf returns the visits of one progress point and their effective time, or the quantile of its latency that comes at this
// place in the plan.
func (run *run) stepsOf(experiments []experiment, point, which int) []step {
	steps := make([]step, len(experiments))
	for i, e := range experiments {
		steps[i].arm = e.arm
		switch {
		case e.spoiled != "":
		case run.plan.Progress[point].Type != plan.TypeLatency:
			passed := e.passages[point]
			steps[i].time, steps[i].visits = max(0, float64(passed.effective)), float64(passed.visits)
		case which < len(e.quantiles[point]):
			steps[i].time, steps[i].visits = e.quantiles[point][which], 1
		}
		if visits := float64(e.passages[point].visits); visits > 0 && steps[i].visits > 0 {
			steps[i].own, steps[i].taken = float64(e.own)/visits, float64(e.taken)/visits
			steps[i].lasts, steps[i].spans = float64(e.took)/float64(max(1, e.ends)), float64(e.ends)/visits
		}
	}
	return steps
}

// evidenceOf adds up what is known of the experiments with one arm.
func evidenceOf(experiments []experiment, a arm, point int) evidence {
	v := evidence{speedup: a.speedup}
	n, locks := 0, time.Duration(0)
	var on, without pathSum
	for _, e := range experiments {
		if e.speedup == 0 && point < len(e.paths) {
			without.add(e.paths[point])
		}
		if e.speedup == 0 {
			v.placebo.add(e.machine)
		}
		if e.arm != a {
			continue
		}
		n++
		if e.spoiled != "" {
			v.rejected++
		}
		if point < len(e.paths) {
			on.add(e.paths[point])
		}
		if e.unforeseen != nil {
			v.startAs = e.unforeseen.key.Name
		}
		v.deprived.add(e.machine)
		v.took += e.took
		v.visits += e.passages[point].visits
		v.ends += e.ends
		v.calls += e.calls
		v.arrivals, v.unpaid = v.arrivals+e.arrivals, v.unpaid+e.unpaid
		v.elapsed += e.duration
		v.growth += e.growth
		v.rooted += e.rooted
		v.owed += time.Duration(e.counts.Owed)
		v.paid += time.Duration(e.counts.Paid)
		v.residual += e.residual
		v.unattributed += time.Duration(e.counts.Unattributed)
		v.attributed += time.Duration(e.counts.Attributed)
		v.saturated += e.busy
		locks += e.locks
	}
	v.arms, v.strays = n, on.strays(without)
	v.unattributed += untold(locks, v.attributed, v.elapsed, v.rooted)
	if n > 0 {
		v.saturated /= float64(n)
	}
	return v
}

// waitingOf adds up what is known of the waits in all experiments with delay.
func waitingOf(experiments []experiment) []profile.Waiting {
	w := profile.Waiting{Mode: profile.ModeOverlap}
	for _, e := range experiments {
		attributed := time.Duration(e.counts.Attributed)
		w.Attributed += attributed
		w.Unattributed += time.Duration(e.counts.Unattributed) + untold(e.locks, attributed, e.duration, e.rooted)
	}
	if w == (profile.Waiting{Mode: profile.ModeOverlap}) {
		return nil
	}
	return []profile.Waiting{w}
}

// samples returns a function that gives what has been measured in a cell so far, as estimate has it, one slice for
// each progress point and metric.
func (run *run) samples(estimate func([]step) map[arm][]float64) func(arm) [][]float64 {
	run.mu.Lock()
	experiments := run.experiments
	run.mu.Unlock()
	var all []map[arm][]float64
	for point, p := range run.plan.Progress {
		metrics, _ := p.Metrics()
		for which := range metrics {
			all = append(all, estimate(run.stepsOf(experiments, point, which)))
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
func (run *run) tallies(regions []profile.Region, experiments []experiment, latency map[cell]*otelhdr.Snapshot) (tallies []profile.Tally) {
	places := map[cell]int{}
	for _, e := range experiments {
		if e.spoiled != "" || e.spared == sparesNone && e.speedup > 0 {
			continue
		}
		for point, p := range run.plan.Progress {
			of := run.cellOf(e.arm, point)
			at, ok := places[of]
			if !ok {
				at = len(tallies)
				places[of] = at
				t := profile.Tally{Mode: run.plan.Mode, Speedup: e.speedup, Progress: p.Span, Latency: latency[of]}
				if of.spared != sparesNone {
					t.Region = regions[of.spared]
				}
				tallies = append(tallies, t)
			}
			t := &tallies[at]
			t.Visits += e.passages[point].visits
			t.Effective += e.passages[point].effective
			t.Delay += time.Duration(e.counts.Paid) + e.taken
			t.Delays += uint64(e.delays)
			t.Own += e.own
		}
	}
	return tallies
}

// notes say what is missing.
func (run *run) notes(regions []profile.Region) (notes []string) {
	for _, pattern := range run.plan.Regions {
		if pattern.Auto == 0 && !slices.ContainsFunc(regions, func(k profile.Region) bool { return pattern.Match(k.Scope, k.Name) }) {
			notes = append(notes, fmt.Sprintf("no span seen that matches region %q", pattern))
		}
	}
	if len(regions) == design.MaxRegions {
		notes = append(notes, fmt.Sprintf("only the first %d regions that match are examined", design.MaxRegions))
	}
	for name, n := range run.guard.Counts().ByName() {
		notes = append(notes, fmt.Sprintf("%d delays withheld by %s", n, name))
	}
	slices.Sort(notes)
	return notes
}

// meant says which of the names of a region's spans is its name, where they have several.
func meant(regions []profile.Region) (notes []string) {
	for _, key := range regions {
		c := live.regions.Get(key)
		if c == nil {
			continue
		}
		if from := c.from.Load(); from != nil {
			notes = append(notes, fmt.Sprintf("region %q: spans that end with this name; they start as %q", key.Name, from.key.Name))
		}
		if last := c.last.Load(); c.several.Load() || last != nil && last != c {
			notes = append(notes, fmt.Sprintf("region %q: all spans that start with this name, whatever they are called when they end", key.Name))
		}
	}
	return notes
}
