package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/internal/engine/classes"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/replay/trace"
	"github.com/otelprof/otelprof/otelhdr"
)

// Profile estimates all curves from what the run has measured so far.
// Due is called after each number, to rest.
func (run *Run) Profile(due func()) profile.Profile {
	run.mu.Lock()
	p := profile.Profile{
		Mode:        run.Plan.Mode,
		PlanID:      run.Plan.ID,
		PlanHash:    run.Plan.Hash(),
		Generation:  run.Plan.Generation,
		Started:     run.Started,
		Ended:       run.ended,
		Iterations:  run.Iterations,
		Experiments: run.measured,
		Rejected:    run.rejected,
		Delay:       time.Duration(run.Guard.Spent.Load()),
	}
	// Both only ever grow, so that the slices can be read without the lock.
	regions, experiments := run.Regions, run.Experiments
	latency := maps.Clone(run.latency)
	warmed, futile := run.warmed, run.futile
	run.mu.Unlock()

	if run.Plan.Mode == profile.ModeOverlap {
		p.Handover = Handover()
		p.Waiting = experiment.WaitingOf(experiments)
	}
	p.Tallies, p.Epochs = run.tallies(regions, experiments, latency), run.epochs(regions, experiments)
	p.Notes = slices.Concat(run.notes(regions), meant(regions), run.unseen(regions))
	if note := warmed.note(run.Plan.Mode); note != "" {
		p.Notes = append(p.Notes, note)
	}
	for point, progress := range run.Plan.Progress {
		if futile.Code == "" && !run.Plan.ByClock() && !slices.ContainsFunc(experiments, func(e experiment.Experiment) bool { return e.Passages[point].Visits > 0 }) {
			p.Notes = append(p.Notes, fmt.Sprintf("no experiment with a visit of progress point %q yet", progress.Span))
			continue
		}
		switch run.Plan.Mode {
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

// Measurements are what has been measured so far, and when the run ended. What is returned must not
// be changed: both only ever grow, so that they can be read without a lock.
func (run *Run) Measurements() (regions []profile.Region, experiments []experiment.Experiment, ended time.Time) {
	run.mu.Lock()
	defer run.mu.Unlock()
	return run.Regions, run.Experiments, run.ended
}

// Progressed is how far the run has come, which changes with its profile.
func (run *Run) Progressed() (regions, experiments, iterations int, ended bool) {
	run.mu.Lock()
	defer run.mu.Unlock()
	return len(run.Regions), run.measured, run.Iterations, !run.ended.IsZero()
}

// Doing is the experiment that is being measured, "" between two.
func (run *Run) Doing() string {
	run.mu.Lock()
	defer run.mu.Unlock()
	return run.now
}

// Speedups are those of the grid that ask something, in [0, 1), ordered.
func (run *Run) Speedups() (speedups []float64) {
	for _, percent := range slices.Sorted(slices.Values(run.Grid)) {
		if percent > 0 {
			speedups = append(speedups, percent/100)
		}
	}
	return speedups
}

func (run *Run) dilationCurves(p *profile.Profile, regions []profile.Region, experiments []experiment.Experiment, point int, due func()) (curves []profile.Curve) {
	name := run.Plan.Progress[point].Name()
	iterations := experiment.IterationsOf(experiments, point)
	var none experiment.Total
	for _, i := range iterations {
		none.Add(i.None, +1)
	}
	covered := experiment.Coverages(iterations)
	var all experiment.Deprived
	for _, e := range experiments {
		all.Add(e.Machine)
	}
	if note := experiment.CoverageNote(name, covered); note != "" {
		p.Notes = append(p.Notes, note)
	}
	for i, region := range regions {
		c := profile.Curve{Mode: profile.ModeDilation, Region: region, Progress: name, Metric: profile.MetricThroughput, BasePeriod: time.Duration(none.Period())}
		for _, s := range run.Speedups() {
			e := profile.NewEffect(s, experiment.Reductions(iterations, i, s), nil)
			if class := classes.Intern(region); class.Unforeseen.Load() { // those below such a span are stretched
				e = e.Withhold(experiment.Evidence{StartAs: class.From.Load().Key.Name}.Withheld())
			}
			c.Effects = append(c.Effects, experiment.Deprive(e.Withhold(experiment.Overstretched(covered)), all.Most()))
			due()
		}
		curves = append(curves, c)
	}
	return curves
}

func (run *Run) overlapCurves(regions []profile.Region, experiments []experiment.Experiment, recorded trace.Waits, point int, due func()) (curves []profile.Curve) {
	metrics, _ := run.Plan.Progress[point].Metrics()
	for which, metric := range metrics {
		steps := run.StepsOf(experiments, point, which)
		samples := experiment.Pairs(steps)
		check := experiment.CheckBaselines(steps)
		for i, region := range regions {
			c := profile.Curve{Mode: profile.ModeOverlap, Region: region, Progress: run.Plan.Progress[point].Name(), Metric: metric, BasePeriod: experiment.BaseOf(steps)}
			for _, s := range run.asked(steps, i) {
				a := experiment.Arm{Speedup: s, Spared: i}
				v := experiment.EvidenceOf(experiments, a, point)
				v.Check, v.Recorded = check, recorded
				c.Effects = append(c.Effects, v.Judge(profile.NewEffect(s, samples[a], nil)))
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

// asked returns the speed-ups of a region, ordered: the grid's and those near its knees.
func (run *Run) asked(steps []experiment.Step, region int) []float64 {
	all := run.Speedups()
	for _, s := range steps {
		if s.Speedup > 0 && s.Spared == region {
			all = append(all, s.Speedup)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// StepsOf is [experiment.StepsOf] of one of the progress points.
func (run *Run) StepsOf(experiments []experiment.Experiment, point, which int) []experiment.Step {
	return experiment.StepsOf(experiments, run.Plan.Progress[point].Type == plan.TypeLatency, point, which)
}

// samples returns a function that gives what has been measured in a cell so far, as estimate has
// it, one slice for each progress point and metric.
func (run *Run) samples(estimate func([]experiment.Step) map[experiment.Arm][]float64) func(experiment.Arm) [][]float64 {
	run.mu.Lock()
	experiments := run.Experiments
	run.mu.Unlock()
	var all []map[experiment.Arm][]float64
	for point, p := range run.Plan.Progress {
		metrics, _ := p.Metrics()
		for which := range metrics {
			all = append(all, estimate(run.StepsOf(experiments, point, which)))
		}
	}
	return func(a experiment.Arm) [][]float64 {
		samples := make([][]float64, len(all))
		for i := range all {
			samples[i] = all[i][a]
		}
		return samples
	}
}

// tallies add up what the experiments have counted. A span that is listed for its throughput and
// for its latency has one tally, of both: the cell of a tally has no type.
func (run *Run) tallies(regions []profile.Region, experiments []experiment.Experiment, latency map[cell]*otelhdr.Snapshot) (tallies []profile.Tally) {
	places := map[cell]int{}
	for _, e := range experiments {
		if e.Spoiled != "" || e.Spared == experiment.SparesNone && e.Speedup > 0 {
			continue
		}
		for point, p := range run.Plan.Progress {
			of := run.cellOf(e.Arm, point)
			if first := slices.IndexFunc(run.Plan.Progress, func(q plan.ProgressPoint) bool { return q.Span == p.Span }); first < point {
				if t := &tallies[places[run.cellOf(e.Arm, first)]]; t.Latency == nil {
					t.Latency = latency[of]
				}
				continue
			}
			at, ok := places[of]
			if !ok {
				at = len(tallies)
				places[of] = at
				t := profile.Tally{Mode: run.Plan.Mode, Speedup: e.Speedup, Progress: p.Name(), Latency: latency[of]}
				if of.Spared != experiment.SparesNone {
					t.Region = regions[of.Spared]
				}
				tallies = append(tallies, t)
			}
			t := &tallies[at]
			t.Visits += e.Passages[point].Visits
			t.Effective += e.Passages[point].Effective
			t.Delay += time.Duration(e.Counts.Paid) + e.Taken
			if run.Plan.Mode == profile.ModeDilation { // of which there is no ledger
				t.Delay += e.Inserted
			}
			t.Delays += uint64(e.Delays)
			t.Own += e.Own
		}
	}
	return tallies
}

// A cell is what experiments are added up by: an arm and a progress point.
type cell struct {
	experiment.Arm
	point int
}

// cellOf returns the cell of an arm. Those without delay are all alike, but in mode slowdown, where
// each is the placebo of a region.
func (run *Run) cellOf(a experiment.Arm, point int) cell {
	if a.Speedup == 0 && run.Plan.Mode != profile.ModeSlowdown {
		a.Spared = experiment.SparesNone
	}
	return cell{a, point}
}

// notes say what is missing.
func (run *Run) notes(regions []profile.Region) (notes []string) {
	for _, pattern := range run.Plan.Regions {
		if pattern.Auto == 0 && !slices.ContainsFunc(regions, func(k profile.Region) bool { return pattern.Match(k.Scope, k.Name) }) {
			notes = append(notes, fmt.Sprintf("no span seen that matches region %q", pattern))
		}
	}
	if len(regions) == design.MaxRegions {
		notes = append(notes, fmt.Sprintf("only the first %d regions that match are examined", design.MaxRegions))
	}
	for name, n := range run.Guard.Counts().ByName() {
		notes = append(notes, fmt.Sprintf("%d delays withheld by %s", n, name))
	}
	slices.Sort(notes)
	return notes
}

// meant returns which of the names of a region's spans is its name, where they have several.
func meant(regions []profile.Region) (notes []string) {
	for _, key := range regions {
		c := classes.Known(key)
		if c == nil {
			continue
		}
		if from := c.From.Load(); from != nil {
			notes = append(notes, fmt.Sprintf("region %q: spans that end with this name; they start as %q", key.Name, from.Key.Name))
		}
		if last := c.Last.Load(); c.Several.Load() || last != nil && last != c {
			notes = append(notes, fmt.Sprintf("region %q: all spans that start with this name, whatever they are called when they end", key.Name))
		}
	}
	return notes
}
