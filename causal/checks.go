package causal

import (
	"time"

	"github.com/otelprof/otelprof/causal/internal/admission"
	"github.com/otelprof/otelprof/causal/internal/words"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Evidence is what is known about how well one cell was measured: a region at one speed-up with
// one progress point. What is left zero is not known, and not checked.
type evidence struct {
	// visits is the number of visits of the progress point in all that was measured.
	visits uint64
	// ends is the number of ends of the region's spans; negative if it is not known.
	ends int64
	// arms is the number of experiments, took the sum of the durations of those spans, speedup the one asked about.
	arms    int
	took    time.Duration
	speedup float64
	// startAs is what spans of the region are started as, if it is not known then that they are of the region.
	startAs string
	// strays is the share of visits that came on another path than without delay.
	strays float64
	// calls is how many calls of itself the process has answered meanwhile.
	calls uint64
	// arrivals is how many requests came from the network, unpaid how many of them waited for others before their first spans.
	arrivals, unpaid int64
	// elapsed is the time measured, growth by how much of it the region's saving grew, rooted the sum of the durations of local
	// roots that ended meanwhile: of requests side by side each counts.
	elapsed, growth, rooted time.Duration
	// owed, paid and residual are the delays asked for, those inserted and those still
	// missing at the ends of the arms.
	owed, paid, residual time.Duration
	// unattributed is the time of waits that no known goroutine ended, attributed that of waits
	// whose waker is known.
	unattributed, attributed time.Duration
	// recorded are the waits in the warm-up.
	recorded trace.Waits
	// saturated is the share of the time in which processors were short, in [0, 1].
	saturated float64
	// deprived is what became of processor time in these arms, and placebo in those without delay.
	deprived, placebo deprived
	// rejected is the number of arms thrown away.
	rejected int
	// check are the intervals made from arms without any delay.
	check selfCheck
}

// The bounds beyond which a number is withheld.
const (
	mostSaturated    = 0.5
	mostResidual     = 0.01  // of the growth
	littleResidual   = 0.002 // of the time: then it changes nothing
	leastDelivered   = 0.95  // of what is owed
	mostUnattributed = 0.05  // of all waiting
	littleWaiting    = 0.01  // of the time: then it does not matter which goroutine is waited for
	leastEnds        = 5     // of the region, in an experiment
	leastGrowth      = 0.01  // of what the region's share of the time promises
	leastChance      = 0.01  // of what the self-check has found, if all is well
	// More calls of the process of itself for each visit: HotROD in one process came out up to 34 points too low.
	mostCallsOfItself = 0.01
)

// withheld returns why no number may be given, the zero value if it may.
func (v evidence) withheld() profile.Withheld {
	waited := v.unattributed + v.attributed
	switch {
	case v.startAs != "":
		return profile.Withheld{Code: withheldcode.StartedAs, Name: v.startAs}
	case v.arms > 0 && v.ends == 0:
		return profile.Withheld{Code: withheldcode.NoSpans}
	case v.arms > 0 && v.ends >= 0 && v.ends < leastEnds*int64(v.arms):
		return profile.Withheld{Code: withheldcode.FewSpans, Count: v.ends, Of: int64(v.arms), Need: leastEnds}
	case v.took > 0 && float64(v.growth) < leastGrowth*v.speedup*float64(min(v.took, v.elapsed)):
		return profile.Withheld{Code: withheldcode.Elsewhere, Took: v.took, Saved: v.growth, Elapsed: v.elapsed}
	case v.strays > 0:
		return profile.Withheld{Code: withheldcode.OtherPath, Part: v.strays}
	case float64(v.calls) > mostCallsOfItself*float64(v.visits): // before what another build would tell of, and would not help
		return profile.Withheld{Code: withheldcode.CallsItself, Count: int64(v.calls), Of: int64(v.visits)}
	case float64(v.unpaid) > admission.MaxWithheld*float64(v.arrivals):
		return profile.Withheld{Code: withheldcode.WaitsBefore, Count: v.unpaid, Of: v.arrivals}
	case untoldIn(v.recorded):
		return profile.Withheld{Code: withheldcode.UnknownWaits, Part: partOf(v.recorded.Untold, v.recorded.All)}
	case v.mostDeprived().Part > mostDeprived:
		return v.mostDeprived()
	case v.saturated > mostSaturated:
		return profile.Withheld{Code: withheldcode.Saturated, Part: v.saturated}
	case v.owed > 0 && partOf(v.paid, v.owed) < leastDelivered:
		return profile.Withheld{Code: withheldcode.NotInserted, Part: partOf(v.paid, v.owed)}
	case v.growth > 0 && partOf(v.residual, v.growth) > mostResidual && (v.elapsed == 0 || partOf(v.residual, v.elapsed) > littleResidual):
		return profile.Withheld{Code: withheldcode.Owed, Part: partOf(v.residual, v.growth)}
	case waited > 0 && partOf(v.unattributed, waited) > mostUnattributed && (v.elapsed == 0 || partOf(v.unattributed, max(v.elapsed, v.rooted)) > littleWaiting):
		return profile.Withheld{Code: withheldcode.Unattributed, Part: partOf(v.unattributed, waited)}
	}
	return v.check.withheld()
}

// mostDeprived is what took most of the processor time, in these arms or in those without delay.
func (v evidence) mostDeprived() profile.Withheld {
	arms, placebo := v.deprived.most(), v.placebo.most()
	if placebo.Part > arms.Part {
		return placebo
	}
	return arms
}

// untoldIn reports whether more of the waiting in a recording is for unknown goroutines than may be.
func untoldIn(w trace.Waits) bool {
	return w.All > 0 && partOf(w.Untold, w.All) > mostUnattributed && w.Length > 0 && partOf(w.Untold, w.Length) > littleWaiting
}

func partOf(part, whole time.Duration) float64 { return float64(part) / float64(whole) }

// withheld reports intervals that are too narrow here.
func (c selfCheck) withheld() profile.Withheld {
	if c.chance() >= leastChance {
		return profile.Withheld{}
	}
	return profile.Withheld{Code: withheldcode.SelfCheck, Count: int64(c.missed), Of: int64(c.intervals)}
}

// doubts are what a reader of the number should know.
func (v evidence) doubts() (doubts []string) {
	if v.rejected > 0 {
		doubts = append(doubts, words.Count(v.rejected, "experiment")+" thrown away")
	}
	return doubts
}

// measured is what there was, for a number that is missing.
func (v evidence) measured() profile.Measured {
	m := profile.Measured{Inserted: v.paid, Owed: v.owed, Rejected: v.rejected}
	if v.elapsed > 0 {
		m.Visits, m.Elapsed, m.Spans = v.visits, v.elapsed, v.ends
	}
	return m
}

// judge returns the effect as the evidence leaves it: withheld, with its doubts, or, where there
// is no number anyway, with what there was instead.
func (v evidence) judge(e profile.Effect) profile.Effect {
	if why := v.withheld(); why.Code != "" {
		return e.Withhold(why)
	}
	if !e.Known() {
		e.Withheld.Measured = v.measured()
		return e
	}
	e.Warnings = append(e.Warnings, v.doubts()...)
	return deprive(e, v.mostDeprived())
}
