package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/accuracy/workloads"
	"github.com/otelprof/otelprof/integration/internal/answers"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
)

// Targets of a whole run, in percentage points but for the coverage, which is in [0, 1].
const (
	mostMeanError   = 1
	mostWorstError  = 4
	leastCoverage   = 0.9
	leastHeld       = 0.95 // of recordings, of those with all operations in each class
	mostMedianWidth = 10   // of recordings of stock builds
	leastRanked     = 0.95 // first, part of the programs
)

// holdTargets prints whether the cells meet the targets of their mode, and returns an error that
// names what is missed. A quick run has too few cells, and truths that are too vague, to be held to
// them.
func (o *options) holdTargets(out io.Writer, cells []cell, controls []control) error {
	if o.quick || o.corpus != "" || o.structure {
		fmt.Fprintln(out, "# targets are held by a whole run alone")
		return nil
	}
	var missed []string
	for _, mode := range o.modes {
		missed = append(missed, o.missed(mode, cells)...)
	}
	for _, c := range controls {
		if c.Misses {
			missed = append(missed, c.Line)
		}
	}
	if len(missed) > 0 {
		return fmt.Errorf("targets missed: %s", strings.Join(missed, "; "))
	}
	fmt.Fprintln(out, "# all targets are met")
	return nil
}

// holdTo returns a function that adds what a mode misses, and what has no number.
func holdTo(mode profile.Mode, missed *[]string) func(what string, value, target float64, meets bool) {
	return func(what string, value, target float64, meets bool) {
		if !meets || math.IsNaN(value) {
			*missed = append(*missed, fmt.Sprintf("%s %s %.2f: must be %.2f", mode, what, value, target))
		}
	}
}

func (o *options) missed(mode profile.Mode, cells []cell) (missed []string) {
	hold := holdTo(mode, &missed)
	all := cells
	cells = ofMode(mode, all)
	switch mode {
	case profile.ModeSlowdown:
		return slices.Concat(summarizeSlowed(cells).missed(), summarizeCombined(all).missed(),
			summarizeLatency(mode, all).missed(), summarizeLatency(answers.ModeCombined, all).missed())
	case profile.ModeDilation: // it stands beside the others, and is right about programs that compute
		return nil
	}
	cells, _ = steady(cells)
	if mode == profile.ModeReplay {
		return o.missedByReplay(cells)
	}
	s := summarize(cells, mode)
	hold("coverage", s.coverage, leastCoverage, s.coverage >= leastCoverage)
	hold("mean_abs_error", s.meanAbsError, mostMeanError, s.meanAbsError <= mostMeanError)
	hold("worst", s.worst, mostWorstError, s.worst <= mostWorstError)
	return missed
}

// missedByReplay holds recordings of stock builds to their bounds, and those with all operations to
// numbers in each class.
func (o *options) missedByReplay(all []cell) (missed []string) {
	missed = summarizeLatency(profile.ModeReplay, all).missed()
	hold := holdTo(profile.ModeReplay, &missed)
	cells := ofMetric(true, all)
	if o.types == workloads.PlainTypes && !sched.Present {
		s, width := summarize(cells, profile.ModeReplay), medianWidth(cells)
		hold("coverage", s.coverage, leastHeld, s.coverage >= leastHeld)
		hold("median_width", width, mostMedianWidth, width <= mostMedianWidth)
		first, of := ranked(cells)
		hold("first_ranked", float64(first), leastRanked*float64(of), float64(first) >= leastRanked*float64(of) && of > 0)
		return missed
	}
	for _, class := range classes {
		s := summarize(ofClass(class, cells), profile.ModeReplay)
		if s.cells == 0 { // left out by -only
			continue
		}
		hold(fmt.Sprintf("class=%s coverage", class), s.coverage, leastHeld, s.coverage >= leastHeld)
		hold(fmt.Sprintf("class=%s mean_abs_error", class), s.meanAbsError, mostMeanError, s.meanAbsError <= mostMeanError)
		hold(fmt.Sprintf("class=%s worst", class), s.worst, mostWorstError, s.worst <= mostWorstError)
	}
	return missed
}
