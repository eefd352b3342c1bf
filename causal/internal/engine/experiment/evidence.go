package experiment

import (
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/admission"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Evidence is what is known about how well one cell was measured: a region at one speed-up with
// one progress point. What is left zero is not known, and not checked.
type Evidence struct {
	// Visits is the number of visits of the progress point in all that was measured.
	Visits uint64
	// Ends is the number of ends of the region's spans; negative if it is not known.
	Ends int64
	// Arms is the number of experiments, Took the sum of the durations of those spans, Speedup the
	// one asked about.
	Arms    int
	Took    time.Duration
	Speedup float64
	// StartAs is what spans of the region are started as, if it is not known then that they are of
	// the region.
	StartAs string
	// Strays is the share of visits that came on another path than without delay.
	Strays float64
	// Calls is how many calls of itself the process has answered meanwhile.
	Calls uint64
	// arrivals is how many requests came from the network, unpaid how many of them waited for
	// others before their first spans.
	arrivals, unpaid int64
	// Elapsed is the time measured, growth by how much of it the region's saving grew, rooted the
	// sum of the durations of local roots that ended meanwhile: of requests side by side each
	// counts.
	Elapsed, Growth, rooted time.Duration
	// owed, paid and residual are the delays asked for, those inserted and those still
	// missing at the ends of the arms.
	owed, paid, residual time.Duration
	// unattributed is the time of waits that no known goroutine ended, attributed that of waits
	// whose waker is known.
	unattributed, attributed time.Duration
	// Recorded are the waits in the warm-up.
	Recorded trace.Waits
	// saturated is the share of the time in which processors were short, in [0, 1].
	saturated float64
	// Deprived is what became of processor time in these arms, and placebo in those without delay.
	Deprived, Placebo Deprived
	// rejected is the number of arms thrown away.
	rejected int
	// Check are the intervals made from arms without any delay.
	Check SelfCheck
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
	// More calls of the process of itself for each visit: HotROD in one process came out up to 34
	// points too low.
	MostCallsOfItself = 0.01
)

// Withheld returns why no number may be given, the zero value if it may.
func (v Evidence) Withheld() profile.Withheld {
	waited := v.unattributed + v.attributed
	switch {
	case v.StartAs != "":
		return profile.Withheld{Code: withheldcode.StartedAs, Name: v.StartAs}
	case v.Arms > 0 && v.Ends == 0:
		return profile.Withheld{Code: withheldcode.NoSpans}
	case v.Arms > 0 && v.Ends >= 0 && v.Ends < leastEnds*int64(v.Arms):
		return profile.Withheld{Code: withheldcode.FewSpans, Count: v.Ends, Of: int64(v.Arms), Need: leastEnds}
	case v.Took > 0 && float64(v.Growth) < leastGrowth*v.Speedup*float64(min(v.Took, v.Elapsed)):
		return profile.Withheld{Code: withheldcode.Elsewhere, Took: v.Took, Saved: v.Growth, Elapsed: v.Elapsed}
	case v.Strays > 0:
		return profile.Withheld{Code: withheldcode.OtherPath, Part: v.Strays}
	case float64(v.Calls) > MostCallsOfItself*float64(v.Visits): // before what another build would tell of, and would not help
		return profile.Withheld{Code: withheldcode.CallsItself, Count: int64(v.Calls), Of: int64(v.Visits)}
	case float64(v.unpaid) > admission.MaxWithheld*float64(v.arrivals):
		return profile.Withheld{Code: withheldcode.WaitsBefore, Count: v.unpaid, Of: v.arrivals}
	case UntoldIn(v.Recorded):
		return profile.Withheld{Code: withheldcode.UnknownWaits, Part: partOf(v.Recorded.Untold, v.Recorded.All)}
	case v.mostDeprived().Part > mostDeprived:
		return v.mostDeprived()
	case v.saturated > mostSaturated:
		return profile.Withheld{Code: withheldcode.Saturated, Part: v.saturated}
	case v.owed > 0 && partOf(v.paid, v.owed) < leastDelivered:
		return profile.Withheld{Code: withheldcode.NotInserted, Part: partOf(v.paid, v.owed)}
	case v.Growth > 0 && partOf(v.residual, v.Growth) > mostResidual && (v.Elapsed == 0 || partOf(v.residual, v.Elapsed) > littleResidual):
		return profile.Withheld{Code: withheldcode.Owed, Part: partOf(v.residual, v.Growth)}
	case waited > 0 && partOf(v.unattributed, waited) > mostUnattributed && (v.Elapsed == 0 || partOf(v.unattributed, max(v.Elapsed, v.rooted)) > littleWaiting):
		return profile.Withheld{Code: withheldcode.Unattributed, Part: partOf(v.unattributed, waited)}
	}
	return v.Check.withheld()
}

// mostDeprived is what took most of the processor time, in these arms or in those without delay.
func (v Evidence) mostDeprived() profile.Withheld {
	arms, placebo := v.Deprived.Most(), v.Placebo.Most()
	if placebo.Part > arms.Part {
		return placebo
	}
	return arms
}

// UntoldIn reports whether more of the waiting in a recording is for unknown goroutines than may
// be.
func UntoldIn(w trace.Waits) bool {
	return w.All > 0 && partOf(w.Untold, w.All) > mostUnattributed && w.Length > 0 && partOf(w.Untold, w.Length) > littleWaiting
}

func partOf(part, whole time.Duration) float64 { return float64(part) / float64(whole) }

// withheld reports intervals that are too narrow here.
func (c SelfCheck) withheld() profile.Withheld {
	if c.chance() >= leastChance {
		return profile.Withheld{}
	}
	return profile.Withheld{Code: withheldcode.SelfCheck, Count: int64(c.missed), Of: int64(c.intervals)}
}

// doubts are what a reader of the number should know.
func (v Evidence) doubts() (doubts []string) {
	if v.rejected > 0 {
		doubts = append(doubts, naming.Count(v.rejected, "experiment")+" thrown away")
	}
	return doubts
}

// measured is what there was, for a number that is missing.
func (v Evidence) measured() profile.Measured {
	m := profile.Measured{Inserted: v.paid, Owed: v.owed, Rejected: v.rejected}
	if v.Elapsed > 0 {
		m.Visits, m.Elapsed, m.Spans = v.Visits, v.Elapsed, v.Ends
	}
	return m
}

// Judge returns the effect as the evidence leaves it: withheld, with its doubts, or, where there
// is no number anyway, with what there was instead.
func (v Evidence) Judge(e profile.Effect) profile.Effect {
	if why := v.Withheld(); why.Code != "" {
		return e.Withhold(why)
	}
	if !e.Known() {
		e.Withheld.Measured = v.measured()
		return e
	}
	e.Warnings = append(e.Warnings, v.doubts()...)
	return Deprive(e, v.mostDeprived())
}

// EvidenceOf adds up what is known of the experiments with one arm. What was thrown away counts
// only if all of them were, since estimates leave it out.
func EvidenceOf(experiments []Experiment, a Arm, point int) Evidence {
	v := Evidence{Speedup: a.Speedup}
	n, locks := 0, time.Duration(0)
	kept := slices.ContainsFunc(experiments, func(e Experiment) bool { return e.Arm == a && e.Spoiled == "" })
	var on, without PathSum
	for _, e := range experiments {
		if e.Spoiled != "" {
			if e.Arm == a {
				v.rejected++
			}
			if kept {
				continue
			}
		}
		if e.Speedup == 0 && point < len(e.Paths) {
			without.Add(e.Paths[point])
		}
		if e.Speedup == 0 {
			v.Placebo.Add(e.Machine)
		}
		if e.Arm != a {
			continue
		}
		n++
		if point < len(e.Paths) {
			on.Add(e.Paths[point])
		}
		if e.Unforeseen != "" {
			v.StartAs = e.Unforeseen
		}
		v.Deprived.Add(e.Machine)
		v.Took += e.Took
		v.Visits += e.Passages[point].Visits
		v.Ends += e.Ends
		v.Calls += e.Calls
		v.arrivals, v.unpaid = v.arrivals+e.Arrivals, v.unpaid+e.Unpaid
		v.Elapsed += e.Duration
		v.Growth += e.Growth
		v.rooted += e.Rooted
		v.owed += time.Duration(e.Counts.Owed)
		v.paid += time.Duration(e.Counts.Paid)
		v.residual += e.Residual
		v.unattributed += time.Duration(e.Counts.Unattributed)
		v.attributed += time.Duration(e.Counts.Attributed)
		v.saturated += e.Busy
		locks += e.Locks
	}
	v.Arms, v.Strays = n, on.Strays(without)
	v.unattributed += untold(locks, v.attributed, v.Elapsed, v.rooted)
	if n > 0 {
		v.saturated /= float64(n)
	}
	return v
}

// WaitingOf adds up what is known of the waits in all experiments, those without delay included.
func WaitingOf(experiments []Experiment) []profile.Waiting {
	w := profile.Waiting{Mode: profile.ModeOverlap}
	for _, e := range experiments {
		attributed := time.Duration(e.Counts.Attributed)
		w.Attributed += attributed
		w.Unattributed += time.Duration(e.Counts.Unattributed) + untold(e.Locks, attributed, e.Duration, e.Rooted)
	}
	if w == (profile.Waiting{Mode: profile.ModeOverlap}) {
		return nil
	}
	return []profile.Waiting{w}
}

// untold is the part of the waits for locks that no drop-in has reported, if it is too large to be
// the runtime's error: more than half of them, a tenth of the time that has elapsed, and a
// hundredth of what requests, which run side by side, took in it. All reported waits are
// subtracted, also those that were not for locks.
func untold(locks, attributed, elapsed, rooted time.Duration) time.Duration {
	if rest := locks - attributed; rest > locks/2 && rest > max(elapsed/10, rooted/100) {
		return rest
	}
	return 0
}
