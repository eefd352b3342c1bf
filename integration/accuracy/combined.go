package main

import (
	"fmt"
	"io"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/internal/answers"
)

// Targets of a whole run for combined answers at 25 and 50 % faster: percentage points, and the
// coverage in [0, 1].
const (
	mostCombinedError     = 2 // mean
	leastCombinedCoverage = 0.95
	mostCombinedWidth     = 8    // median
	mostSureWrong         = 3    // beyond an interval, in no cell
	leastFirst            = 0.98 // of programs: the best region first at 10 % faster, where regions are ranked
)

// A combinedSummary is what combined answers amount to.
type combinedSummary struct {
	all       summary
	width     float64
	sureWrong int
	first, of int // programs
}

func summarizeCombined(cells []cell) (s combinedSummary) {
	var near, far []cell
	cells, _ = steady(ofMetric(true, ofMode(answers.ModeCombined, cells)))
	for _, c := range cells {
		if c.Speedup <= profile.Near {
			near = append(near, c)
			continue
		}
		far = append(far, c)
		if c.Withheld == "" && max(c.Lo-c.Actual.Value, c.Actual.Value-c.Hi) > mostSureWrong {
			s.sureWrong++
		}
	}
	s.all, s.width = summarize(far, answers.ModeCombined), medianWidth(far)
	s.first, s.of = ranked(near)
	return s
}

func (s combinedSummary) print(out io.Writer) {
	if s.all.cells > 0 {
		fmt.Fprintf(out, "accuracy SUMMARY mode=%s cells=%d mean_abs_error=%.2f worst=%.2f coverage=%.2f median_width=%.2f sure_and_wrong=%d first_ranked=%d/%d withheld=%d\n",
			answers.ModeCombined, s.all.cells, s.all.meanAbsError, s.all.worst, s.all.coverage, s.width, s.sureWrong, s.first, s.of, s.all.withheld)
	}
}

// missed names the targets that are not met.
func (s combinedSummary) missed() (missed []string) {
	hold := holdTo(answers.ModeCombined, &missed)
	hold("mean_abs_error", s.all.meanAbsError, mostCombinedError, s.all.meanAbsError <= mostCombinedError)
	hold("coverage", s.all.coverage, leastCombinedCoverage, s.all.coverage >= leastCombinedCoverage)
	hold("median_width", s.width, mostCombinedWidth, s.width <= mostCombinedWidth)
	hold("sure_and_wrong", float64(s.sureWrong), 0, s.sureWrong == 0)
	first := float64(s.first) / float64(max(1, s.of))
	hold("first_ranked", first, leastFirst, first >= leastFirst)
	return missed
}

// combine judges the one answer, and writes what slow-downs cost in the simulation and in the
// program.
func (l *lab) combine(p profile.Profile) {
	l.judge(answers.ModeCombined, p)
	for _, a := range p.Curves {
		for _, b := range p.Curves {
			if a.Mode != profile.ModeReplay || b.Mode != profile.ModeSlowdown || a.Region != b.Region || a.Progress != b.Progress || a.Metric != b.Metric || a.Metric != profile.MetricThroughput {
				continue
			}
			for _, s := range a.Slopes {
				for _, m := range b.Slopes {
					if s.Level == m.Level {
						l.comment("%s slower by %.0f %%: simulated %.2f (%.2f to %.2f), measured %.2f (%.2f to %.2f); visit ratio simulated %.2f±%.2f, measured %.2f±%.2f",
							a.Region.Name, 100*s.Level, s.Elasticity, s.Lo, s.Hi, m.Elasticity, m.Lo, m.Hi, s.VisitRatio, s.VisitRatioErr, m.VisitRatio, m.VisitRatioErr)
					}
				}
			}
		}
	}
}
