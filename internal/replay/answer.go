package replay

import (
	"cmp"
	"slices"
	"time"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A Result is what the windows of a study say together.
type Result struct {
	Windows int
	// Length is how long they are together.
	Length time.Duration
	// Rests has one for each progress point, the one with the most visits first.
	Rests []Rest
	// Checks has the latest window's, by progress point.
	Checks []doubt.Check
	// Answers are ordered by progress point, metric, region and speed-up.
	Answers []Answer
	// Stalled is how long the program stood still, all goroutines together, which is left out where
	// else nothing changed would not have met the recording.
	Stalled time.Duration
	// Machine sums up what became of processor time in the windows of which that is known, and
	// Starved is which part of the time that goroutines ran they had none.
	Machine trace.Machine
	Starved float64
	// Inferred reports that locks and channels were inferred from which goroutine woke which: the
	// program is not built by otelprof.
	Inferred bool
}

// An Answer is what one speed-up of a region would change at a progress point.
type Answer struct {
	Region  trace.Region
	Speedup float64
	// Held is true if goroutines are held behind each span of the region, for minus Speedup of its
	// own time, see [Study.Hold].
	Held   bool
	Point  string
	Metric Metric
	// Windows is the number of windows that were simulated with the change.
	Windows int
	// Base is the mean time between visits, or the quantile of durations, as recorded, ns.
	Base float64
	// Reduction is by which part that would shrink, with its standard error and 95 % interval.
	Reduction, StdErr, Lo, Hi float64
	// Bounded reports that Lo and Hi are bounds from both sides, beyond what windows differ by: for
	// some locks and channels it is not known which goroutine used them when.
	Bounded bool
	// Samples are the windows' own reductions, in order.
	Samples []float64
	// Rerouted is by which part there are more spans of the region for each visit, with its
	// standard error, if Held.
	Rerouted, ReroutedErr float64
	// Withheld is why there is no number; WithheldNone if there is one. Doubt is why there are
	// bounds alone.
	Withheld, Doubt Withheld
	// Deviation is the relative error of the replay with nothing changed, at the median window.
	// That includes the windows that are left out since their error is above MaxDeviation; Missed
	// is the number of these.
	Deviation float64
	Missed    int
}

// Withheld is a reason why there is no number, or why there are bounds alone.
type Withheld int

// The reasons. Those from WithheldDeviation on leave bounds, of a region and where windows were
// simulated.
const (
	WithheldNone       Withheld = iota
	WithheldWindows             // fewer than LeastWindows were simulated with the change
	WithheldStuck               // the replay came to a state in which nothing could go on
	WithheldVisits              // too few visits of the progress point
	WithheldDeviation           // nothing changed did not meet the recorded period within MaxDeviation, in most windows or in all but four
	WithheldStarved             // goroutines had no processor for more than a tenth of the time that they ran
	WithheldSlower              // with a region faster the replay became much slower
	WithheldChoices             // select statements end in ways of which the recordings have no example, or time decides them
	WithheldPauses              // requests are longer by pauses that time decides
	WithheldBatches             // goroutines wait for batches whose size time decides
	WithheldOffers              // offers are refused, by what others do meanwhile
	WithheldConditions          // goroutines wait for condition variables, and it is not known what for
)

// orderError is how far off an answer may be, in parts of itself, where goroutines wait for each
// other in an order that the replay keeps: in the faster program others would overtake.
const orderError = 0.15

// mostHarm is by which part of the period a program may become slower in the replay when a region
// is faster, where it is not known what all waits are for. Where it is, that is true of the
// program: a faster region can have goroutines meet at a lock.
const mostHarm = 0.1

// maxUnruled is which part of the time goroutines may wait for condition variables without a rule
// for when they have to. Where that is more, an answer may be wrong by anything.
const maxUnruled = 0.1

// Result sums up the windows so far.
func (s *Study) Result() Result {
	r := Result{Windows: len(s.windows), Length: s.length(), Rests: s.rests()}
	if len(s.windows) == 0 {
		return r
	}
	last := s.windows[len(s.windows)-1]
	for _, c := range last.checks {
		r.Checks = append(r.Checks, c)
	}
	slices.SortFunc(r.Checks, func(a, b doubt.Check) int {
		return cmp.Or(cmp.Compare(b.Visits, a.Visits), cmp.Compare(a.Point, b.Point))
	})
	asked := map[question]bool{}
	for _, w := range s.windows {
		r.Inferred = r.Inferred || w.stock
		r.Stalled += w.stalled
		r.Starved += w.Starved / float64(len(s.windows))
		if w.Length > 0 {
			r.Machine.Add(w.Machine, float64(w.length)/float64(w.Length))
		}
		for q := range w.effects {
			asked[q] = true
		}
	}
	for q := range asked {
		if s.rest != nil {
			_ = s.rest() // what has been simulated is answered from
		}
		r.Answers = append(r.Answers, s.answer(q))
	}
	slices.SortFunc(r.Answers, func(a, b Answer) int {
		return cmp.Or(cmp.Compare(a.Point, b.Point), cmp.Compare(a.Metric, b.Metric), cmp.Compare(a.Region.Scope, b.Region.Scope),
			cmp.Compare(a.Region.Name, b.Region.Name), cmp.Compare(a.Speedup, b.Speedup))
	})
	return r
}
