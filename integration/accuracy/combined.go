package main

import (
	"fmt"
	"io"

	"github.com/otelprof/otelprof/causal/profile"
)

// modeCombined is the one answer from both kinds of evidence: recordings, within what slow-downs allow, or slow-downs alone.
const modeCombined profile.Mode = "combined"

// Targets of a whole run for combined answers at 25 and 50 % faster: percentage points, and the coverage in [0, 1].
const (
	mostCombinedError     = 2 // mean
	leastCombinedCoverage = 0.95
	mostCombinedWidth     = 8 // median
	mostSureWrong         = 3 // beyond an interval, in no cell
)

// A combinedSummary is what combined answers amount to.
type combinedSummary struct {
	all       summary
	width     float64
	sureWrong int
}

func summarizeCombined(cells []cell) (s combinedSummary) {
	var far []cell
	for _, c := range ofMode(modeCombined, cells) {
		if c.Speedup <= profile.Near {
			continue
		}
		far = append(far, c)
		if c.Withheld == "" && max(c.Lo-c.Actual.Value, c.Actual.Value-c.Hi) > mostSureWrong {
			s.sureWrong++
		}
	}
	s.all, s.width = summarize(far, modeCombined), medianWidth(far)
	return s
}

func (s combinedSummary) print(out io.Writer) {
	if s.all.cells > 0 {
		fmt.Fprintf(out, "accuracy SUMMARY mode=%s cells=%d mean_abs_error=%.2f worst=%.2f coverage=%.2f median_width=%.2f sure_and_wrong=%d withheld=%d\n",
			modeCombined, s.all.cells, s.all.meanAbsError, s.all.worst, s.all.coverage, s.width, s.sureWrong, s.all.withheld)
	}
}

// missed names the targets that are not met.
func (s combinedSummary) missed() (missed []string) {
	hold := holdTo(modeCombined, &missed)
	hold("mean_abs_error", s.all.meanAbsError, mostCombinedError, s.all.meanAbsError <= mostCombinedError)
	hold("coverage", s.all.coverage, leastCombinedCoverage, s.all.coverage >= leastCombinedCoverage)
	hold("median_width", s.width, mostCombinedWidth, s.width <= mostCombinedWidth)
	hold("sure_and_wrong", float64(s.sureWrong), 0, s.sureWrong == 0)
	return missed
}

// combine judges slow-downs and recordings together; recordings are made where there are none.
func (l *lab) combine(profiles map[profile.Mode][]profile.Profile, t *tally) error {
	slowed, recorded := profiles[profile.ModeSlowdown], profiles[profile.ModeReplay]
	if len(slowed) == 0 {
		return nil
	}
	if len(recorded) == 0 {
		p, err := l.undisturbed(t, l.predictReplay)
		if err != nil {
			return err
		}
		recorded = []profile.Profile{p}
	}
	l.judge(modeCombined, profile.Merge(append(append([]profile.Profile(nil), slowed...), recorded...)...))
	return nil
}
