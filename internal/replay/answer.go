package replay

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A Result sums up the windows of a study: how well their replays meet the recordings, and one
// answer for each question that any of them was asked.
type Result struct {
	Windows int
	// Length is the sum of their lengths, as recorded.
	Length time.Duration
	// Rests has one for each progress point, the one with the most visits first.
	Rests []Rest
	// Checks are of the latest window alone, one for each progress point with visits enough, the
	// one with the most visits first.
	Checks []doubt.Check
	// Answers are ordered by progress point, metric, region and speed-up, so that the answers of
	// one curve stand together. Slow-downs, whose speed-ups are negative, come first.
	Answers []Answer
	// Stalled is how long the whole program stood still. It is left out, and counted here, where
	// the replay of nothing changed would miss the recording otherwise.
	Stalled time.Duration
	// Machine sums up what became of processor time. It is measured for a whole recording: a window
	// has the part of its length. Starved is the mean over the windows of the part of the time in
	// which goroutines ran, as far as the trace shows, and had no processor, in [0, 1).
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
	// Held is true of a slow-down: goroutines are held behind each span of the region for -Speedup
	// of the span's own time, see [Study.Hold]. It is not the same as a region that is slower.
	Held   bool
	Point  string
	Metric Metric
	// Windows is the number of windows that were asked, with the ones that have no part in the
	// answer.
	Windows int
	// Base is the mean time between visits as recorded, or the quantile of durations in the replay
	// of nothing changed, ns.
	Base float64
	// Reduction is by which part that would shrink: 0.25 is a quarter less, below 0 it is longer.
	// It is at most 1. StdErr is its standard error, Lo and Hi its 95 % interval with all margins.
	Reduction, StdErr, Lo, Hi float64
	// Bounded reports that Lo and Hi reach further than windows differ by: there are programs that
	// meet the recording as well, and answer otherwise. Of some locks and channels it is not known
	// which goroutine used them when.
	Bounded bool
	// Samples are the reductions of the single windows that the answer comes from, or that nothing
	// speaks against if the answer is withheld.
	Samples []float64
	// Rerouted is by which part there are more spans of the region for each visit, with its
	// standard error, if Held; 0 for latencies. It is 0, too, where the way that work takes does
	// not depend on durations (routing homogeneity: Denning and Buzen, 1978).
	Rerouted, ReroutedErr float64
	// Withheld is why there is no number; WithheldNone if there is one. Doubt is why the interval
	// is wider: by the deviation for WithheldDeviation, to bounds alone for the reasons behind it.
	Withheld, Doubt Withheld
	// Deviation is the relative error of the replay with nothing changed, 0.01 for 1 %: in the
	// median of all windows asked that ran to the end, or in the mean of the windows used where
	// Doubt is WithheldDeviation. Missed is the number of windows above [doubt.MaxDeviation].
	Deviation float64
	Missed    int
}

// Withheld is a reason why there is no number, or why there are bounds alone.
type Withheld int

// The reasons. Their order has a meaning: of two against one window the larger counts, and the
// reasons behind WithheldDeviation leave bounds alone for a region, see hull, and nothing for a
// question about another build, since nothing bounds what another structure brings.
const (
	WithheldNone      Withheld = iota
	WithheldWindows            // fewer than FewestWindows were asked
	WithheldStuck              // most replays came to a state in which nothing could go on
	WithheldVisits             // too few visits of the progress point
	WithheldDeviation          // nothing changed missed the recorded period in most windows
	WithheldStarved            // goroutines had no processor for more than a tenth of the time that they ran
	WithheldSlower             // with a region faster the replay became much slower
	WithheldChoices            // select statements end in ways without example, or others have set the timers
	WithheldPauses             // requests are longer by pauses that time decides
	WithheldOffers             // requests are refused, or servers chosen, by what others do meanwhile
)

// orderError is how far off an answer may be, in parts of itself, where goroutines wait for each
// other in an order that the replay keeps: in the faster program others would overtake. It is added
// to both sides, beside the alternatives of bounds.go: a replay that keeps an order cannot show
// itself what another order would bring. Larger, it widens each answer about a program with waits
// of unknown objects; at 0 such answers would be as narrow as if the order were known to stay.
const orderError = 0.15

// mostHarm is by which part of the period a program may become slower in the replay when a region
// is faster, where it is not known what all waits are for. Programs that choose nothing by their
// state never do ((max,+) algebra: docs/design/0010-slow-down.md), so that more of it shows orders
// that contradict each other. Where all waits are known it is true of the program: a faster region
// can have goroutines meet at a lock (lock convoy: Blasgen, Gray, Mitoma and Price, 1979). TestHarm
// has both.
const mostHarm = 0.1

// Result sums up the windows so far. It changes nothing in the study, and takes time in proportion
// to windows times questions.
func (s *Study) Result() Result {
	r := Result{Windows: len(s.windows), Rests: s.rests()}
	if len(s.windows) == 0 {
		return r
	}
	last := s.windows[len(s.windows)-1]
	r.Checks = slices.SortedFunc(maps.Values(last.checks), func(a, b doubt.Check) int {
		return cmp.Or(cmp.Compare(b.Visits, a.Visits), cmp.Compare(a.Point, b.Point))
	})
	// A question of any window is answered from all windows that have been asked it.
	asked := map[question]bool{}
	for _, w := range s.windows {
		r.Inferred = r.Inferred || w.stock
		r.Length += w.length
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
			_ = s.rest() // an end that is asked for here comes too late: all is simulated
		}
		r.Answers = append(r.Answers, s.answer(q))
	}
	// The map has no order of its own. Curves are put together from answers in this one.
	slices.SortFunc(r.Answers, func(a, b Answer) int {
		return cmp.Or(cmp.Compare(a.Point, b.Point), cmp.Compare(a.Metric, b.Metric), cmp.Compare(a.Region.Scope, b.Region.Scope),
			cmp.Compare(a.Region.Name, b.Region.Name), cmp.Compare(a.Speedup, b.Speedup))
	})
	return r
}
