package causal

import (
	"fmt"
	"strings"
	"time"
)

// Evidence is what is known about how well one cell was measured: a region at one speed-up with
// one progress point. What is left zero is not known, and not checked.
type evidence struct {
	// visits is the number of visits of the progress point in all that was measured.
	visits uint64
	// ends is the number of ends of the region's spans; negative if it is not known.
	ends int64
	// elapsed is the time measured, growth by how much of it the region's saving grew.
	elapsed, growth time.Duration
	// owed, paid and residual are the delays asked for, those inserted and those still
	// missing at the ends of the arms.
	owed, paid, residual time.Duration
	// unattributed is the time for which somebody waited for nobody known, attributed that of
	// waits whose end is known.
	unattributed, attributed time.Duration
	// saturated is the share of the time in which processors were short, in [0, 1].
	saturated float64
	// rejected is the number of arms thrown away.
	rejected int
	// null are the reductions between arms without any delay (A/A).
	null []float64
}

// The bounds beyond which a number is withheld.
const (
	mostSaturated    = 0.5
	mostResidual     = 0.01  // of the growth
	littleResidual   = 0.002 // of the time: then it changes nothing
	leastDelivered   = 0.95  // of what is owed
	mostUnattributed = 0.05  // of all waiting
	littleWaiting    = 0.01  // of the time: then it does not matter who is waited for
	nullWithin       = 0.01
)

// reason says why no number may be given, and what to do about it, "" if it may.
func (v evidence) reason() string {
	waited := v.unattributed + v.attributed
	switch {
	case v.saturated > mostSaturated:
		return fmt.Sprintf("processors were short for %.0f %% of the time, and who waits for one is seen by no span: measure at less load, or build with otelprof build", 100*v.saturated)
	case v.owed > 0 && partOf(v.paid, v.owed) < leastDelivered:
		return fmt.Sprintf("only %.0f %% of the delays could be inserted: the rules that withheld them say which limit to raise", 100*partOf(v.paid, v.owed))
	case v.growth > 0 && partOf(v.residual, v.growth) > mostResidual && (v.elapsed == 0 || partOf(v.residual, v.elapsed) > littleResidual):
		return fmt.Sprintf("%.1f %% of the delays were still owed at the end, more than 1 %%: ask for smaller speed-ups, or raise limits.per_span", 100*partOf(v.residual, v.growth))
	case waited > 0 && partOf(v.unattributed, waited) > mostUnattributed && (v.elapsed == 0 || partOf(v.unattributed, v.elapsed) > littleWaiting):
		return fmt.Sprintf("it is not known what ended %.0f %% of the waiting: use causal.Mutex and the like, or causal.Blocked", 100*partOf(v.unattributed, waited))
	}
	return notNull(v.null)
}

func partOf(part, whole time.Duration) float64 { return float64(part) / float64(whole) }

// notNull says that two runs alike differ.
func notNull(reductions []float64) string {
	if len(reductions) < leastSamples {
		return ""
	}
	e := summarize(reductions)
	if e.lo <= nullWithin && e.hi >= -nullWithin {
		return ""
	}
	return fmt.Sprintf("self-check failed: two runs without any delay differ by %.1f %% (%.1f .. %.1f): measure while the load is steady, or longer by timing.experiment", 100*e.median, 100*e.lo, 100*e.hi)
}

// doubts are what a reader of the number should know.
func (v evidence) doubts() (doubts []string) {
	if v.rejected > 0 {
		doubts = append(doubts, countOf(v.rejected, "experiment")+" thrown away")
	}
	return doubts
}

// explain says what there was, for a number that is missing.
func (v evidence) explain() string {
	var parts []string
	if v.elapsed > 0 {
		parts = append(parts, fmt.Sprintf("%s of the progress point in %v", countOf(v.visits, "visit"), v.elapsed.Round(time.Millisecond)))
	}
	if v.elapsed > 0 && v.ends >= 0 {
		parts = append(parts, countOf(v.ends, "span")+" of the region")
	}
	if v.owed > 0 {
		parts = append(parts, fmt.Sprintf("%v of %v delay inserted", v.paid.Round(time.Microsecond), v.owed.Round(time.Microsecond)))
	}
	if v.rejected > 0 {
		parts = append(parts, countOf(v.rejected, "experiment")+" thrown away")
	}
	return strings.Join(parts, ", ")
}

// judge returns the effect as the evidence leaves it: withheld, with its doubts, or, where there
// is no number anyway, with what there was instead.
func (v evidence) judge(e Effect) Effect {
	if why := v.reason(); why != "" {
		return e.withhold(why)
	}
	if e.Withheld != "" {
		if what := v.explain(); what != "" {
			e.Withheld += " (" + what + ")"
		}
		return e
	}
	e.Warnings = append(e.Warnings, v.doubts()...)
	return e
}
