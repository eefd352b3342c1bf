package replay

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/otelprof/otelprof/internal/stats"
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
	// Stalled is how long the program stood still, all goroutines together, which is left out where else nothing changed would
	// not have met the recording.
	Stalled time.Duration
	// Machine sums up what became of processor time in the windows of which that is known, and Starved is which part of the time
	// that goroutines ran they had none.
	Machine Machine
	Starved float64
	// Inferred tells that locks and channels were inferred from which goroutine woke which: the program is not built by otelprof.
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
	// Bounded tells that Lo and Hi are bounds from both sides, beyond what windows differ by: of some locks and channels it is not
	// known which goroutine used them when.
	Bounded bool
	// Samples are the windows' own reductions, in order.
	Samples []float64
	// Withheld is why there is no number; WithheldNone if there is one.
	Withheld Withheld
	// Deviation is by which part the replay of nothing changed missed the recording, at the median window, those that are left out
	// since it missed them by more than MaxDeviation among them.
	Deviation float64
}

// Withheld is a reason why there is no number.
type Withheld int

// The reasons.
const (
	WithheldNone       Withheld = iota
	WithheldWindows             // fewer than LeastWindows were simulated with the change
	WithheldDeviation           // nothing changed did not meet the recorded period within MaxDeviation, in most windows or in all but four
	WithheldStuck               // the replay came to a state in which nothing could go on
	WithheldVisits              // too few visits of the progress point
	WithheldStarved             // goroutines had no processor for most of the time that they ran
	WithheldSlower              // with a region faster the replay became much slower
	WithheldChoices             // select statements, deadlines and pauses that time decides take too much of the time, without example in the recordings
	WithheldConditions          // goroutines wait for condition variables, and it is not known what for
)

// modelError is what no number of windows takes away: how far off the model is where its self-check is met, in parts of the
// recorded period. make accuracy finds it.
const modelError = 0.01

// orderError is how far off an answer may be, in parts of itself, where goroutines wait for each other in an order that the
// replay keeps: in the faster program others would overtake.
const orderError = 0.15

// mostStrayed is which part of the select statements may end in ways of which the recording has no example. As much is added to
// both sides of the interval.
const mostStrayed = 0.05

// mostHarm is by which part of the period a program may become slower in the replay when a region is faster, where it is not known what all
// waits are for. Where it is, that is true of the program: a faster region can have goroutines meet at a lock.
const mostHarm = 0.1

// maxUnruled is which part of the time goroutines may wait for condition variables without a rule for when they have to. Where that is
// more, an answer may be wrong by anything.
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
	slices.SortFunc(r.Checks, func(a, b Check) int { return cmp.Or(cmp.Compare(b.Visits, a.Visits), cmp.Compare(a.Point, b.Point)) })
	asked := map[question]bool{}
	for _, w := range s.windows {
		r.Inferred = r.Inferred || w.stock
		r.Stalled += w.stalled
		r.Starved += w.starved / float64(len(s.windows))
		if w.conditions.length > 0 {
			r.Machine.add(w.machine, float64(w.length)/float64(w.conditions.length))
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

// answer takes the ratio of totals over the windows, so that a window counts by its visits, and the interval from how the
// windows differ, and their recordings if these do so more.
func (s *Study) answer(q question) Answer {
	a := Answer{Region: q.region, Speedup: q.speedup, Point: q.point, Metric: q.metric}
	var before, after float64
	var deviations, least, most, soon, late []float64
	ordered, visits, starved, strayed, later, roused := 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
	var paused delay
	var less, more float64 // by what begins since others are at it
	missed, stuck, few, slower, unruled, undecided := 0, 0, 0, 0, 0, 0
	var recordings []int // of the samples
	var last *origin
	recording := 0
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
		case !c.met():
			missed++
			deviations = append(deviations, c.miss())
			continue
		case w.harm[q.point] > mostHarm && !w.known(): // what is waited for in the replay is not what was
			slower++
			continue
		case w.unruled > maxUnruled:
			unruled++
			continue
		case w.undecided[q.point] > maxUndecided || w.paused[q.point].part > maxUndecided || w.batched[q.point] || w.refused[q.point]:
			undecided++
			continue
		}
		deviations = append(deviations, c.miss())
		before += x.before * float64(x.visits)
		after += x.after * float64(x.visits)
		a.Samples = append(a.Samples, x.reduction())
		if w.origin == nil || w.origin != last {
			last = w.origin
			recording++
		}
		recordings = append(recordings, recording-1)
		if !math.IsNaN(x.least) {
			least = append(least, x.least)
		}
		if !math.IsNaN(x.most) {
			most = append(most, x.most)
		}
		ordered = max(ordered, w.ordered)
		starved += w.starved * float64(x.visits)
		strayed += x.strayed * float64(x.visits)
		later += x.later * float64(x.visits)
		roused += x.roused * float64(x.visits)
		for i := range w.stampedes {
			l, m := w.stampedes[i].bounds(q, x.reduction())
			less, more = less+l*float64(x.visits), more+m*float64(x.visits)
		}
		if d := w.paused[q.point]; d.part > 0 {
			paused.part += d.part * float64(x.visits)
			paused.more = paused.more || d.more
		}
		if !math.IsNaN(x.soon) {
			soon, late = append(soon, x.soon), append(late, x.late)
		}
		now := x.before
		if q.metric == Throughput {
			now = c.Period
		}
		a.Base += now * float64(x.visits)
		visits += float64(x.visits)
	}
	n := len(a.Samples)
	if n < LeastWindows || missed+stuck > n { // of many windows, some would do by chance
		switch {
		case a.Windows < LeastWindows:
			a.Withheld = WithheldWindows
		case slower > 0 && slower >= max(missed, stuck, few, unruled, undecided):
			a.Withheld = WithheldSlower
		case unruled > 0 && unruled >= max(missed, stuck, few):
			a.Withheld = WithheldConditions
		case undecided > 0 && undecided >= max(missed, stuck, few):
			a.Withheld = WithheldChoices
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
	starved /= visits
	strayed /= visits
	switch {
	case starved > mostStarved:
		a.Withheld = WithheldStarved
		return a
	case strayed > mostStrayed:
		a.Withheld = WithheldChoices
		return a
	}
	a.Reduction = 1 - after/before
	slices.Sort(deviations)
	a.Deviation = deviations[len(deviations)/2]
	e := stats.Clustered(a.Samples, recordings)
	a.StdErr = e.StdErr
	paused.part /= visits
	margin := modelError + a.Deviation + strayed + later/visits + paused.part
	if ordered > incidental {
		margin += orderError * math.Abs(a.Reduction)
		a.Bounded = true
	}
	margin += starvedError * starved * math.Abs(a.Reduction)
	a.Lo, a.Hi = a.Reduction-(e.Mean-e.Lo)-margin, a.Reduction+(e.Hi-e.Mean)+margin
	if rousing := rouseError * roused / before; rousing < 0 { // the sum over the visits of both
		a.Hi -= rousing
	}
	a.Lo, a.Hi = a.Lo-less/visits, a.Hi+more/visits
	if len(soon) > 0 {
		a.Lo, a.Hi = min(a.Lo, mean(late)-margin), max(a.Hi, mean(soon)+margin)
	}
	if len(least) > 0 {
		a.Lo, a.Bounded = min(a.Lo, mean(least)-margin), true
	}
	if len(most) > 0 {
		a.Hi, a.Bounded = max(a.Hi, mean(most)+margin), true
	}
	if paused.more && paused.part > leastUnclear { // what is gained may be waited for then
		a.Lo = min(a.Lo, -margin)
	}
	return a
}

func mean(values []float64) (sum float64) {
	for _, v := range values {
		sum += v / float64(len(values))
	}
	return sum
}
