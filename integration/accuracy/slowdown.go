package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
)

// slowed are the settings of mode slowdown: a plan takes 16 s for each region, or twice as long
// where durations vary, with windows of half the length that plans have by default.
func (s settings) slowed() settings {
	s.speedups, s.rounds, s.overlap, s.pairs = []float64{0.1, 0.25, 0.5}, 1, 12, 4
	s.window, s.settle = 200*ms, 50*ms
	return s
}

// Targets of a whole run of mode slowdown: errors in percentage points, parts in [0, 1].
const (
	mostNearError     = 1    // mean, at 10 % faster, of numbers
	leastNearCoverage = 0.93 // of its intervals, bounds alone included
	leastBoundsHeld   = 0.98 // from above, at 25 and 50 % faster
	mostUnsteady      = 4    // programs, a tenth
	surelyAnswered    = 2    // every region with a true effect above this has an answer
	// mostTold is in how many seconds a region is distinguished from nothing, in the median of
	// regions that bring matters at least, which is an elasticity of 0.3.
	mostTold = 10
	matters  = 3
)

// asked is how many regions share a plan's time.
func (l *lab) asked() int {
	n := len(l.Regions)
	if l.Control != "" {
		n++
	}
	return n
}

// tell books the regions that a profile distinguishes from regions that bring nothing.
func (l *lab) tell(p profile.Profile, after time.Duration) {
	for _, c := range p.Curves {
		if c.Mode != profile.ModeSlowdown || c.Metric != profile.MetricThroughput || l.told[c.Region.Name] > 0 {
			continue
		}
		if slices.ContainsFunc(c.Effects, func(e profile.Effect) bool { return e.Known() && e.Lo > 0 }) {
			l.told[c.Region.Name] = after
		}
	}
}

// A slowedSummary is what the cells of mode slowdown amount to.
type slowedSummary struct {
	cells, due, given int     // all; those with an effect, and of these those with an answer
	near, numbers     summary // at 10 % faster: all, and those with a number between the bounds
	told              float64 // seconds, median
	bounds, held      int
	first, of         int // programs: the best region first at 10 % faster
	unsteady          int // programs that are not judged
}

// steady are the cells of programs of which is known what is true, and how many programs are left
// out.
func steady(cells []cell) (kept []cell, out int) {
	left := map[string]bool{}
	for _, c := range cells {
		if c.Unsteady {
			left[c.Workload] = true
			continue
		}
		kept = append(kept, c)
	}
	return kept, len(left)
}

func summarizeSlowed(all []cell) (s slowedSummary) {
	cells, unsteady := steady(ofMetric(true, all))
	s.unsteady = unsteady
	var near, numbers []cell
	var told []float64
	for _, c := range cells {
		s.cells++
		if c.Actual.Value > surelyAnswered {
			s.due++
			if c.Withheld == "" {
				s.given++
			}
		}
		switch {
		case c.Speedup <= profile.Near:
			near = append(near, c)
			if !c.Bounded && c.Withheld == "" {
				numbers = append(numbers, c)
			}
			if c.Actual.Value >= matters {
				told = append(told, cmp.Or(c.Told, math.Inf(1)))
			}
		case c.Withheld == "":
			s.bounds++
			if c.Hi >= c.Actual.Value {
				s.held++
			}
		}
	}
	s.near, s.numbers = summarize(near, profile.ModeSlowdown), summarize(numbers, profile.ModeSlowdown)
	s.first, s.of = ranked(near)
	s.told = median(told)
	return s
}

func (s slowedSummary) boundsHeld() float64 { return float64(s.held) / float64(max(1, s.bounds)) }

func (s slowedSummary) print(out io.Writer) {
	fmt.Fprintf(out, "accuracy SUMMARY mode=slowdown cells=%d given=%d/%d near_numbers=%d/%d near_mean_abs_error=%.2f near_worst=%.2f near_coverage=%.2f bounds_held=%d/%d first_ranked=%d/%d told_after=%.1fs unsteady=%d\n",
		s.cells, s.given, s.due, s.numbers.cells, s.near.cells, s.numbers.meanAbsError, s.numbers.worst, s.near.coverage, s.held, s.bounds, s.first, s.of, s.told, s.unsteady)
	fmt.Fprintf(out, "# slowdown: coverage at 10 %% is %.2f if the interval of the actual value is allowed for\n", s.near.agreement)
}

// missed names the targets that are not met.
func (s slowedSummary) missed() (missed []string) {
	hold := holdTo(profile.ModeSlowdown, &missed)
	hold("given", float64(s.given), float64(s.due), s.given == s.due)
	hold("near_mean_abs_error", s.numbers.meanAbsError, mostNearError, s.numbers.meanAbsError <= mostNearError)
	hold("near_coverage", s.near.coverage, leastNearCoverage, s.near.coverage >= leastNearCoverage)
	hold("bounds_held", s.boundsHeld(), leastBoundsHeld, s.boundsHeld() >= leastBoundsHeld)
	hold("unsteady", float64(s.unsteady), mostUnsteady, s.unsteady <= mostUnsteady)
	hold("told_after", s.told, mostTold, s.told <= mostTold)
	return missed
}
