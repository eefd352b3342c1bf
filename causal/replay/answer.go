package replay

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/aclements/go-moremath/stats"
)

// A Result is what the windows of a study say together.
type Result struct {
	Windows int
	// Length is how long they are together.
	Length time.Duration
	// Rests has one for each progress point, the one with the most visits first.
	Rests []Rest
	// Checks has the latest window's, by progress point.
	Checks []Check
	// Answers are ordered by progress point, metric, region and speed-up.
	Answers []Answer
	// Inferred tells that locks and channels were told from who woke whom: the program is not built by otelprof.
	Inferred bool
}

// An Answer is what one speed-up of a region would change at a progress point.
type Answer struct {
	Region  Region
	Speedup float64
	Point   string
	Metric  Metric
	// Windows are those that were simulated with the change.
	Windows int
	// Base is the mean time between visits, or the quantile of durations, as recorded, ns.
	Base float64
	// Reduction is by which part that would shrink, with its standard error and 95 % interval.
	Reduction, StdErr, Lo, Hi float64
	// Samples are the windows' own reductions, in order.
	Samples []float64
	// Withheld is why there is no number; WithheldNone if there is one.
	Withheld Withheld
	// Deviation is by which part the replay of nothing changed missed the recording, at the median window.
	Deviation float64
}

// Withheld is a reason why there is no number.
type Withheld int

// The reasons.
const (
	WithheldNone      Withheld = iota
	WithheldWindows            // fewer than LeastWindows were simulated with the change
	WithheldDeviation          // nothing changed did not meet the recorded period within MaxDeviation
	WithheldStuck              // the replay came to a state in which nothing could go on
	WithheldVisits             // too few visits of the progress point
)

// modelError is what no number of windows takes away: how far off the model is where its self-check is met, in parts of the
// recorded period. make accuracy finds it.
const modelError = 0.01

// orderError is how far off an answer may be, in parts of itself, where goroutines wait for each other in an order that the
// replay keeps: in the faster program others would overtake.
const orderError = 0.15

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
	slices.SortFunc(r.Checks, func(a, b Check) int { return cmp.Or(cmp.Compare(b.Visits, a.Visits), cmp.Compare(a.Point, b.Point)) })
	asked := map[question]bool{}
	for _, w := range s.windows {
		r.Inferred = r.Inferred || w.inferred
		for q := range w.effects {
			asked[q] = true
		}
	}
	for q := range asked {
		r.Answers = append(r.Answers, s.answer(q))
	}
	slices.SortFunc(r.Answers, func(a, b Answer) int {
		return cmp.Or(cmp.Compare(a.Point, b.Point), cmp.Compare(a.Metric, b.Metric), cmp.Compare(a.Region.Scope, b.Region.Scope),
			cmp.Compare(a.Region.Name, b.Region.Name), cmp.Compare(a.Speedup, b.Speedup))
	})
	return r
}

// answer takes the ratio of totals over the windows, so that a window counts by its visits, and the interval from how the
// windows differ.
func (s *Study) answer(q question) Answer {
	a := Answer{Region: q.region, Speedup: q.speedup, Point: q.point, Metric: q.metric}
	var before, after float64
	var deviations, kept []float64
	ordered, visits := 0.0, 0.0
	missed, stuck, few := 0, 0, 0
	for _, w := range s.windows {
		if !w.asked[ask{q.region, q.speedup}] {
			continue
		}
		a.Windows++
		c, ok := w.checks[q.point]
		x, has := w.effects[q]
		switch {
		case !ok || !has:
			few++
			continue
		case c.Stuck || x.broken || math.IsNaN(x.after):
			stuck++
			continue
		case !(math.Abs(c.Deviation) <= MaxDeviation):
			missed++
			continue
		}
		deviations = append(deviations, math.Abs(c.Deviation))
		before += x.before * float64(x.visits)
		after += x.after * float64(x.visits)
		a.Samples = append(a.Samples, x.reduction())
		if !math.IsNaN(x.kept) {
			kept = append(kept, x.kept)
		}
		ordered = max(ordered, w.ordered)
		a.Base += c.Period * float64(x.visits)
		visits += float64(x.visits)
	}
	n := len(a.Samples)
	if n < LeastWindows {
		switch {
		case a.Windows < LeastWindows:
			a.Withheld = WithheldWindows
		case stuck > 0 && stuck >= missed && stuck >= few:
			a.Withheld = WithheldStuck
		case missed >= few:
			a.Withheld = WithheldDeviation
		default:
			a.Withheld = WithheldVisits
		}
		return a
	}
	a.Base /= visits
	a.Reduction = 1 - after/before
	slices.Sort(deviations)
	a.Deviation = deviations[n/2]
	sample := stats.Sample{Xs: a.Samples}
	mean, lo, hi := sample.MeanCI(0.95)
	a.StdErr = sample.StdDev() / math.Sqrt(float64(n))
	margin := modelError + a.Deviation
	if ordered > incidental {
		margin += orderError * math.Abs(a.Reduction)
	}
	a.Lo, a.Hi = a.Reduction-(mean-lo)-margin, a.Reduction+(hi-mean)+margin
	if len(kept) > 0 {
		other := stats.Mean(kept)
		a.Lo, a.Hi = min(a.Lo, other-margin), max(a.Hi, other+margin)
	}
	return a
}
