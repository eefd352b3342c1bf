package causal

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// A RegionKey names a region: the instrumentation scope and the span name.
type RegionKey struct {
	Scope string `json:"scope"`
	Span  string `json:"span"`
}

// String returns the span name.
func (k RegionKey) String() string { return k.Span }

// A Profile is what the experiments of one plan have shown so far.
type Profile struct {
	// Mode is the kind of experiment: dilation.
	Mode Mode `json:"mode"`
	// PlanID, PlanHash and Generation name the plan.
	PlanID     string `json:"plan_id"`
	PlanHash   string `json:"plan_hash"`
	Generation uint64 `json:"generation"`
	// Started is when the plan was applied, Ended when it was over; zero while it runs.
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	// Iterations is the number of times the whole grid was measured.
	Iterations int `json:"iterations"`
	// Experiments is the number of arms measured, Rejected those thrown away.
	Experiments int `json:"experiments"`
	Rejected    int `json:"rejected"`
	// Delay is the sum of the delays inserted.
	Delay time.Duration `json:"delay_ns"`
	// Curves has one entry for each pair of region and progress point, the strongest first.
	Curves []Curve `json:"curves"`
	// Notes say what is missing, in plain words, and why: "no visits of progress point X".
	Notes []string `json:"notes,omitempty"`
}

// A Curve tells how one progress point would answer to speeding up one region.
type Curve struct {
	Region   RegionKey `json:"region"`
	Progress string    `json:"progress"`
	// BasePeriod is the median time between visits of the progress point with no
	// delay inserted.
	BasePeriod time.Duration `json:"base_period_ns"`
	// Effects are ordered by speed-up.
	Effects []Effect `json:"effects"`
}

// An Effect is the predicted answer to one speed-up.
type Effect struct {
	// Speedup is the part of the region's time that is taken away, in [0, 1).
	Speedup float64 `json:"speedup"`
	// Reduction is the part by which the period of the progress point would shrink:
	// 1 - period(speedup)/period(0). It is the median over the iterations.
	Reduction float64 `json:"reduction"`
	// StdErr is the standard error of Reduction after outliers beyond 3 MAD are set aside.
	StdErr float64 `json:"std_err"`
	// Lo and Hi bound Reduction with 95 % confidence.
	Lo float64 `json:"lo"`
	Hi float64 `json:"hi"`
	// ThroughputGain is Reduction as a rise of throughput: 1/(1-Reduction) - 1.
	ThroughputGain float64 `json:"throughput_gain"`
	// Samples is the number of iterations, Outliers how many lie beyond 3 MAD.
	Samples  int `json:"samples"`
	Outliers int `json:"outliers"`
	// Withheld says why there is no number; then the numbers above are zero.
	Withheld string `json:"withheld,omitempty"`
	// Warnings are doubts about the number.
	Warnings []string `json:"warnings,omitempty"`
}

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
		Experiments: len(run.experiments) + run.rejected,
		Rejected:    run.rejected,
		Delay:       time.Duration(run.guard.spent.Load()),
	}
	// Both only ever grow, so that the slices can be read without the lock.
	regions, experiments := run.regions, run.experiments
	run.mu.Unlock()

	p.Notes = run.notes(regions)
	for point, progress := range run.plan.Progress {
		byIteration := periodsOf(experiments, point)
		if len(byIteration) == 0 {
			p.Notes = append(p.Notes, fmt.Sprintf("no experiment with a visit of progress point %q yet", progress.Span))
			continue
		}
		var none []float64
		for _, periods := range byIteration {
			none = append(none, periods.none...)
		}
		if note := coverageNote(progress.Span, coverages(byIteration)); note != "" {
			p.Notes = append(p.Notes, note)
		}
		for i, region := range regions {
			c := Curve{Region: region, Progress: progress.Span}
			if len(none) > 0 {
				c.BasePeriod = time.Duration(median(none))
			}
			for _, percent := range slices.Sorted(slices.Values(run.plan.Grid.Speedups)) {
				if percent > 0 {
					c.Effects = append(c.Effects, effect(percent/100, reductions(byIteration, i, percent/100)))
				}
			}
			p.Curves = append(p.Curves, c)
		}
	}
	slices.SortStableFunc(p.Curves, func(a, b Curve) int { return cmp.Compare(b.strength(), a.strength()) })
	return p
}

// notes say what is missing.
func (run *run) notes(regions []RegionKey) (notes []string) {
	for _, pattern := range run.plan.Regions {
		if !slices.ContainsFunc(regions, func(k RegionKey) bool { return pattern.Match(k.Scope, k.Span) }) {
			notes = append(notes, fmt.Sprintf("no span seen that matches region %q", pattern))
		}
	}
	if len(regions) == maxRegions {
		notes = append(notes, fmt.Sprintf("only the first %d regions that match are examined", maxRegions))
	}
	for name, n := range run.guard.withheldByName() {
		notes = append(notes, fmt.Sprintf("%d delays withheld by %s", n, name))
	}
	slices.Sort(notes)
	return notes
}

// coverageNote warns where the picture is not enlarged as a whole.
func coverageNote(progress string, coverages []float64) string {
	if len(coverages) < leastCoverages {
		return ""
	}
	switch c := median(coverages); {
	case c < 0.8:
		return fmt.Sprintf("%s: spans cover about %.0f%% of the period; what no span covers is taken as it is", progress, 100*max(0, c))
	case c > 1.2:
		return fmt.Sprintf("%s: stretching all spans by x makes the period %.1f x longer: some spans wait for others, and are stretched with them; wrap such waits in causal.Blocked", progress, c)
	}
	return ""
}

// effect turns the reductions of all iterations into one number, or says why there is none.
func effect(speedup float64, values []float64) Effect {
	e := Effect{Speedup: speedup, Samples: len(values)}
	if len(values) < leastSamples {
		e.Withheld = fmt.Sprintf("%d iterations measured, %d are needed", len(values), leastSamples)
		return e
	}
	s := summarize(values)
	e.Reduction, e.StdErr, e.Lo, e.Hi = s.median, s.stdErr, s.lo, s.hi
	e.ThroughputGain = gain(s.median)
	e.Outliers, e.Warnings = s.outliers, s.warnings
	return e
}

// gain is what a reduction of the period means for throughput.
func gain(reduction float64) float64 { return 1/(1-min(reduction, 0.99)) - 1 }

// strength orders curves: the reduction at the largest speed-up that has a number.
func (c Curve) strength() float64 {
	for _, e := range slices.Backward(c.Effects) {
		if e.Withheld == "" {
			return e.Reduction
		}
	}
	return -1
}
