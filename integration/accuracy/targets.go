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
)

// Targets of a whole run, in percentage points but for the coverage, which is in [0, 1].
const (
	mostMeanError   = 1
	mostWorstError  = 4
	leastCoverage   = 0.9
	mostMedianWidth = 10 // of recordings of stock builds
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
	s := summarize(cells, mode)
	hold("coverage", s.coverage, leastCoverage, s.coverage >= leastCoverage)
	if mode == profile.ModeReplay && o.types == workloads.PlainTypes {
		width := medianWidth(cells)
		hold("median_width", width, mostMedianWidth, width <= mostMedianWidth)
		first, of := ranked(cells)
		hold("first_ranked", float64(first), float64(of), first == of && of > 0)
		return missed
	}
	hold("mean_abs_error", s.meanAbsError, mostMeanError, s.meanAbsError <= mostMeanError)
	hold("worst", s.worst, mostWorstError, s.worst <= mostWorstError)
	return missed
}
