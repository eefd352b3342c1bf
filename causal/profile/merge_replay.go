package profile

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/otelprof/otelprof/internal/naming/withheldcode"
	"github.com/otelprof/otelprof/internal/stats"
)

// mergeReplayed pools what recordings of several runs found at one speed-up. Their intervals hold
// what the model may be wrong by, which more windows do not make less: they are averaged by their
// samples, and grow no narrower. Where they lie apart, the whole range is taken. What slow-downs
// contradict in one run is withheld of all: the model is the same.
func mergeReplayed(speedup float64, effects []Effect) Effect {
	if i := slices.IndexFunc(effects, func(e Effect) bool { return e.Withheld.Code == withheldcode.Contradicted }); i >= 0 {
		return effects[i]
	}
	known := Curve{Effects: effects}.measured()
	for i, e := range known {
		known[i] = e.asSimulated()
	}
	switch len(known) {
	case 0:
		return effects[0]
	case 1:
		return known[0]
	}
	e := Effect{Speedup: speedup, Warnings: distinct(known, func(e Effect) []string { return e.Warnings })}
	var weight float64
	for _, x := range known {
		n := float64(max(1, x.Samples))
		weight += n
		e.Samples += x.Samples
		e.Outliers += x.Outliers
		e.Reductions = append(e.Reductions, x.Reductions...)
		e.Reduction += n * x.Reduction
		e.StdErr += n * x.StdErr
		e.Lo += n * x.Lo
		e.Hi += n * x.Hi
		e.Bounded = e.Bounded || x.Bounded
	}
	e.Reduction, e.StdErr, e.Lo, e.Hi = e.Reduction/weight, e.StdErr/weight, e.Lo/weight, e.Hi/weight
	e.Reductions = stats.Thinned(e.Reductions)
	if a, b, differ := furthest(known); differ {
		e.Lo, e.Hi = a.Lo, b.Hi
		e.Warnings = append(e.Warnings, fmt.Sprintf("runs differ: %s and %s", a.interval(), b.interval()))
	}
	return e
}

// mergeRecorded sums up what there is of recordings.
func mergeRecorded(profiles []Profile) *Recorded {
	var all *Recorded
	var progress []RecordedProgress
	for _, p := range profiles {
		r := p.Recorded
		if r == nil {
			continue
		}
		if all == nil {
			all = &Recorded{}
		}
		all.Windows += r.Windows
		all.Length += r.Length
		all.Inferred = all.Inferred || r.Inferred
		all.CPU += r.CPU
		all.Others += r.Others
		all.Stolen += r.Stolen
		all.Throttled += r.Throttled
		all.Stalled += r.Stalled
		if all.Windows > 0 {
			all.Starved += (r.Starved - all.Starved) * float64(r.Windows) / float64(all.Windows)
		}
		progress = append(progress, r.Progress...)
	}
	if all == nil {
		return nil
	}
	for _, same := range grouped(progress, func(x RecordedProgress) string { return x.Progress }) {
		sum := same[0]
		for _, x := range same[1:] {
			sum.Visits += x.Visits
			sum.Windows += x.Windows
			sum.Deviation = max(sum.Deviation, x.Deviation)
			if sum.Loop != x.Loop { // of several programs, or of one at different times
				sum.Loop = ""
			}
		}
		all.Progress = append(all.Progress, sum)
	}
	slices.SortStableFunc(all.Progress, func(a, b RecordedProgress) int { return cmp.Compare(b.Visits, a.Visits) })
	return all
}
