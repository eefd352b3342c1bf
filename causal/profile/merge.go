package profile

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/otelprof/otelprof/internal/naming/withheldcode"
	"github.com/otelprof/otelprof/internal/stats"
)

// Merge returns what several profiles say together, of several runs or instances of a program:
// the samples of each mode, region, progress point, metric and speed-up are pooled and
// estimated anew. Plans and grids may differ. What only one profile has is taken as it is; so
// is a single profile. Where runs differ by more than their intervals, there is a warning.
func Merge(profiles ...Profile) Profile {
	if len(profiles) == 1 {
		return profiles[0]
	}
	profiles = slices.Clone(profiles)
	slices.SortStableFunc(profiles, func(a, b Profile) int { return a.Started.Compare(b.Started) })
	var m Profile
	for i, p := range profiles {
		m.Iterations += p.Iterations
		m.Experiments += p.Experiments
		m.Rejected += p.Rejected
		m.Delay += p.Delay
		m.Merged += max(1, p.Merged)
		if p.Ended.After(m.Ended) {
			m.Ended = p.Ended
		}
		if i == 0 {
			m.Mode, m.Handover, m.PlanHash, m.Generation, m.Started = p.Mode, p.Handover, p.PlanHash, p.Generation, p.Started
		}
		if p.Handover != m.Handover {
			m.Handover = ""
		}
		if p.Mode != m.Mode {
			m.Mode = ""
		}
		if p.PlanHash != m.PlanHash || p.Generation != m.Generation {
			m.PlanHash, m.Generation = "", 0
		}
	}
	m.PlanID = strings.Join(distinct(profiles, func(p Profile) []string { return []string{p.PlanID} }), ", ")
	m.Notes = distinct(profiles, func(p Profile) []string { return p.Notes })
	m.Curves = mergeCurves(profiles)
	for _, c := range m.Curves {
		if c.Own > 0 {
			m.Notes = slices.DeleteFunc(m.Notes, func(note string) bool { return note == c.Region.Unseen() })
		}
	}
	m.Tallies = mergeTallies(profiles)
	m.Waiting = mergeWaiting(profiles)
	m.Waits = MergeWaits(allOf(profiles, func(p Profile) []RegionWaits { return p.Waits }))
	m.Tails = mergeTails(profiles)
	m.Changes = mergeChanges(profiles)
	m.Recorded = mergeRecorded(profiles)
	m.Finish()
	return m
}

// distinct returns the values of all profiles but the empty ones, each once.
func distinct[T any](from []T, values func(T) []string) (all []string) {
	seen := map[string]bool{"": true}
	for _, f := range from {
		for _, v := range values(f) {
			if !seen[v] {
				seen[v] = true
				all = append(all, v)
			}
		}
	}
	return all
}

// allOf returns what all profiles have of one kind.
func allOf[T any](profiles []Profile, of func(Profile) []T) (all []T) {
	for _, p := range profiles {
		all = append(all, of(p)...)
	}
	return all
}

// grouped returns the elements with the same key together, in the order of the first of each.
func grouped[T any, K comparable](all []T, key func(T) K) (groups [][]T) {
	place := map[K]int{}
	for _, x := range all {
		i, known := place[key(x)]
		if !known {
			i = len(groups)
			place[key(x)] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], x)
	}
	return groups
}

func mergeWaiting(profiles []Profile) (all []Waiting) {
	waiting := allOf(profiles, func(p Profile) []Waiting { return p.Waiting })
	for _, same := range grouped(waiting, func(w Waiting) Mode { return w.Mode }) {
		sum := same[0]
		for _, w := range same[1:] {
			sum.Attributed += w.Attributed
			sum.Unattributed += w.Unattributed
		}
		all = append(all, sum)
	}
	return all
}

// Answered is a question and the mode that answers it.
type answered struct {
	question
	mode Mode
}

func mergeCurves(profiles []Profile) (curves []Curve) {
	all := allOf(profiles, func(p Profile) []Curve { return p.Curves })
	for _, same := range grouped(all, func(c Curve) answered { return answered{c.question(), c.Mode} }) {
		first := same[0]
		var periods []float64
		bySpeedup := map[float64][]Effect{}
		for _, c := range same {
			if c.BasePeriod > 0 {
				periods = append(periods, float64(c.BasePeriod))
			}
			for _, e := range c.Effects {
				bySpeedup[e.Speedup] = append(bySpeedup[e.Speedup], e)
			}
		}
		c := Curve{Mode: first.Mode, Region: first.Region, Progress: first.Progress, Metric: first.Metric}
		c.BasePeriod = medianDuration(periods)
		if first.Mode == ModeSlowdown {
			mergeSlopes(&c, same, profiles)
			curves = append(curves, c)
			continue
		}
		for _, x := range same { // of the latest recordings that simulated any
			if len(x.Slopes) > 0 {
				c.Slopes = x.Slopes
			}
		}
		for speedup, effects := range bySpeedup {
			if first.Mode == ModeReplay {
				c.Effects = append(c.Effects, mergeReplayed(speedup, effects))
				continue
			}
			c.Effects = append(c.Effects, mergeEffects(speedup, effects))
		}
		curves = append(curves, c)
	}
	WidenByOthers(curves)
	return curves
}

func medianDuration(ns []float64) time.Duration { return time.Duration(median(ns)) }

// median is that of values, 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return stats.Median(values)
}

// mergeEffects pools what several runs found at one speed-up. Where they differ by more than chance
// the number is as much less sure, and the less the fewer runs there are.
func mergeEffects(speedup float64, effects []Effect) Effect {
	if len(effects) == 1 {
		return effects[0]
	}
	var samples []float64
	for _, e := range effects {
		samples = append(samples, e.Reductions...)
	}
	if why := reasonsOf(effects); len(samples) == 0 {
		if len(why) == 0 {
			why = []Withheld{{Code: withheldcode.Other, Text: "all runs were saved without their samples, of which a merged number is made (samples=1 asks for them)"}}
		}
		e := Effect{Speedup: speedup}.Withhold(why[0])
		for _, w := range why[1:] {
			e.Warnings = append(e.Warnings, "another run has no number: "+w.String())
		}
		return e
	}
	doubts := distinct(effects, func(e Effect) []string { return e.Warnings })
	var runs []stats.Run
	for _, e := range effects {
		switch {
		case !e.Known() && len(e.Reductions) == 0 && e.Samples > 0:
			doubts = append(doubts, "a run is left out: "+e.Withheld.String())
		case e.Known() && len(e.Reductions) == 0:
			doubts = append(doubts, "a run is left out that was saved without its samples")
		case e.Known():
			of := stats.Summarize(e.Reductions)
			runs = append(runs, stats.Run{Mean: of.Mean, StdErr: of.StdErr, Samples: len(e.Reductions)})
		}
	}
	if a, b, differ := furthest(effects); differ {
		doubts = append(doubts, fmt.Sprintf("runs differ: %s and %s", a.interval(), b.interval()))
	}
	merged := NewEffect(speedup, samples, doubts).atLeast(stats.Between(runs))
	for _, e := range effects {
		merged = merged.Wider(e.Margin)
	}
	return merged
}

// reasonsOf returns why there is no number, each code once.
func reasonsOf(effects []Effect) (all []Withheld) {
	for _, e := range effects {
		same := func(w Withheld) bool { return w.Code == e.Withheld.Code && w.Text == e.Withheld.Text }
		if !e.Known() && !slices.ContainsFunc(all, same) {
			all = append(all, e.Withheld)
		}
	}
	return all
}

// furthest returns the lowest and the highest effect if their intervals lie apart.
func furthest(effects []Effect) (lowest, highest Effect, apart bool) {
	measured := Curve{Effects: effects}.measured()
	if len(measured) == 0 {
		return Effect{}, Effect{}, false
	}
	lowest = slices.MinFunc(measured, func(a, b Effect) int { return cmp.Compare(a.Hi, b.Hi) })
	highest = slices.MaxFunc(measured, func(a, b Effect) int { return cmp.Compare(a.Lo, b.Lo) })
	return lowest, highest, highest.Lo-lowest.Hi > agreeWithin
}

// savedWithoutSamples reports whether a curve has numbers of slow-downs without the samples behind
// them.
func (c Curve) savedWithoutSamples() bool {
	return c.answered() && !slices.ContainsFunc(c.Slopes, func(s Slope) bool { return len(s.Elasticities) > 0 })
}

// mergeSlopes pools the samples of several runs at each level, and answers anew at all of their
// speed-ups. Runs that were saved without their samples are left out; where all were, the latest
// with a number answers. Processes that held a plan by the clock answer together, from what they
// counted in its epochs, and are one run beside those without epochs.
func mergeSlopes(c *Curve, same []Curve, profiles []Profile) {
	alone, together := same, c.setFromEpochs(profiles)
	if together {
		alone = c.withoutEpochs(profiles)
	}
	var doubts []string
	if whole := slices.DeleteFunc(slices.Clone(alone), Curve.savedWithoutSamples); len(whole) < len(alone) {
		if !together && !slices.ContainsFunc(whole, Curve.answered) { // there is nothing to pool
			for _, x := range same {
				if x.answered() {
					*c = x
				}
			}
			return
		}
		alone, doubts = whole, []string{"a run is left out that was saved without its samples"}
		if !together {
			same = whole
		}
	}
	var own []float64
	speedups := map[float64]bool{}
	for _, x := range same {
		c.Behind, c.HoldsUp, c.Expiring = max(c.Behind, x.Behind), max(c.HoldsUp, x.HoldsUp), max(c.Expiring, x.Expiring)
		c.Awaited, c.Served, c.Overtaken = max(c.Awaited, x.Awaited), max(c.Served, x.Served), max(c.Overtaken, x.Overtaken)
		if x.Own > 0 {
			own = append(own, float64(x.Own))
		}
		if x.Drift > 0 && (c.Drift == 0 || math.Abs(math.Log(x.Drift)) > math.Abs(math.Log(c.Drift))) {
			c.Drift = x.Drift
		}
		for _, e := range x.Effects {
			speedups[e.Speedup] = true
		}
	}
	c.Inside = slices.ContainsFunc(same, func(x Curve) bool { return x.Inside })
	switch {
	case !together:
		c.Own, c.Slopes = medianDuration(own), pooledSlopes(alone)
	case len(alone) > 0:
		c.Slopes = pooledSlopes(append(alone, *c))
	}
	c.AnswerFromSlopes(slices.Sorted(maps.Keys(speedups)))
	// What speaks against the runs' own numbers widens the answer, too.
	for i := range c.Effects {
		e := &c.Effects[i]
		var runs []Effect
		for _, x := range same {
			if was, known := x.at(e.Speedup); known {
				runs, *e = append(runs, was), e.Wider(max(e.Margin, was.Margin))
			}
		}
		if a, b, differ := furthest(runs); differ {
			e.Warnings = append(e.Warnings, fmt.Sprintf("runs differ: %s and %s", a.interval(), b.interval()))
		}
		if e.Known() {
			e.Warnings = append(e.Warnings, doubts...)
		}
	}
}

// withoutEpochs are the answers to the curve's question of runs that are not among the processes of
// a plan by the clock: of other plans, or merged before.
func (c Curve) withoutEpochs(profiles []Profile) (all []Curve) {
	for _, p := range profiles {
		if len(p.Epochs) > 0 {
			continue
		}
		for _, x := range p.Curves {
			if x.Mode == c.Mode && x.question() == c.question() {
				all = append(all, x)
			}
		}
	}
	return all
}

// pooledSlopes are the slopes of several runs, with the samples of all.
func pooledSlopes(runs []Curve) (all []Slope) {
	byLevel := map[float64][]Slope{}
	for _, x := range runs {
		for _, s := range x.Slopes {
			byLevel[s.Level] = append(byLevel[s.Level], s)
		}
	}
	for _, level := range slices.Sorted(maps.Keys(byLevel)) {
		slopes := byLevel[level]
		var samples, taken []float64
		var of []stats.Run
		for _, s := range slopes {
			samples = append(samples, s.Elasticities...)
			if n := len(s.Elasticities); n > 0 { // else nothing was taken so far
				taken = append(taken, s.Taken)
				if s.known() {
					of = append(of, stats.Run{Mean: s.Elasticity, StdErr: s.StdErr, Samples: n})
				}
			}
		}
		pooled := NewSlope(level, median(taken), samples).atLeast(stats.Between(of))
		pooled.VisitRatio, pooled.VisitRatioErr = visitRatio(slopes)
		all = append(all, pooled)
	}
	return all
}
