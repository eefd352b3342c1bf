package profile

import (
	"fmt"
	"math"
	"slices"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
	"github.com/otelprof/otelprof/internal/stats"
)

// A Slope is what experiments of [ModeSlowdown] at one level measured: how a progress point answers
// to a region that is slower.
//
// Where nothing is chosen by state, the period of a program is a convex, non-decreasing function of
// its durations ((max,+) algebra: Baccelli, Cohen, Olsder, Quadrat, Synchronization and Linearity,
// 1992). So a millisecond more costs at least what a millisecond less brings: a slope bounds the
// gain of any speed-up from above. For small changes both are the same where durations scatter
// (perturbation analysis: Ho and Cao, 1991).
type Slope struct {
	// Level is which part of its own time the region was to be held for at the ends of its spans,
	// Taken what was really taken.
	Level float64 `json:"level"`
	Taken float64 `json:"taken"`
	// Elasticity is by which part the period grew, or the latency, for each part by which the
	// region became slower: 0.3 is 3 % for 10 %. Those of all that takes time add up to 1, as the
	// period is homogeneous in the durations (Euler).
	Elasticity float64 `json:"elasticity"`
	// StdErr is the jackknife's standard error of it, Lo and Hi its 95 % interval.
	StdErr float64 `json:"std_err"`
	Lo     float64 `json:"lo"`
	Hi     float64 `json:"hi"`
	// VisitRatio is by which part there were more of the region's spans for each visit, for each
	// part by which the region became slower, and VisitRatioErr its standard error: 0 where which
	// way work takes does not depend on how long it takes there (operational analysis: Denning and
	// Buzen, 1978).
	VisitRatio    float64 `json:"visit_ratio,omitempty"`
	VisitRatioErr float64 `json:"visit_ratio_err,omitempty"`
	// Samples is the number of experiments, Elasticities the jackknife's pseudo-values, at most
	// 300, so that profiles can be merged.
	Samples      int       `json:"samples"`
	Elasticities []float64 `json:"elasticities,omitempty"`
}

// NewSlope sums up pseudo-values of the elasticity in the order of time. Below [stats.LeastSamples]
// there is no interval.
func NewSlope(level, taken float64, elasticities []float64) Slope {
	s := Slope{Level: level, Taken: taken, Samples: len(elasticities), Elasticities: stats.Thinned(elasticities)}
	if len(elasticities) >= stats.LeastSamples {
		e := stats.Summarize(elasticities)
		s.Elasticity, s.StdErr, s.Lo, s.Hi = e.Mean, e.StdErr, e.Lo, e.Hi
	}
	return s
}

// LeastStdErr returns the slope with a standard error of so much at least, and its interval.
func (s Slope) LeastStdErr(least float64) Slope {
	if s.StdErr <= 0 || least <= s.StdErr {
		return s
	}
	times := least / s.StdErr
	s.Lo, s.Hi = s.Elasticity-times*(s.Elasticity-s.Lo), s.Elasticity+times*(s.Hi-s.Elasticity)
	s.StdErr = least
	return s
}

// atLeast returns the slope with a standard error of so much at least, and an interval that
// reaches so far at least.
func (s Slope) atLeast(stdErr, reach float64) Slope {
	if !s.known() {
		return s
	}
	s.StdErr, s.Lo, s.Hi = max(s.StdErr, stdErr), min(s.Lo, s.Elasticity-reach), max(s.Hi, s.Elasticity+reach)
	return s
}

// falls is by which part the period fell although the region was slower, if that is more than
// chance and what models leave out.
func (s Slope) falls() float64 {
	const surely = 1.5 // times as far as the 95 % interval, which is about three standard errors
	fallen := -s.Elasticity * s.Taken
	if !s.known() || s.Elasticity+surely*(s.Hi-s.Elasticity) > 0 || fallen <= stats.ModelError {
		return 0
	}
	return fallen
}

func (s Slope) known() bool { return s.Samples >= stats.LeastSamples }

// Leverage is by how much the period of the progress point shrinks, or its latency, for each
// millisecond taken from the region per visit, in ms, with its standard error: the slope at the
// smallest level. It is not known before there is a slope.
func (c Curve) Leverage() (leverage, stdErr float64, known bool) {
	small, _, known := c.levels()
	if !known || c.Own <= 0 || c.BasePeriod <= 0 {
		return 0, 0, false
	}
	unit := float64(c.BasePeriod) / float64(c.Own)
	return small.Elasticity * unit, small.StdErr * unit, true
}

// levels returns the slopes at the smallest and at the largest level. Where the large one is the
// smaller by chance, both are their weighted mean: by convexity it is not.
func (c Curve) levels() (small, large Slope, known bool) {
	all := slices.DeleteFunc(slices.Clone(c.Slopes), func(s Slope) bool { return !s.known() })
	if len(all) == 0 {
		return Slope{}, Slope{}, false
	}
	small, large = all[0], all[len(all)-1]
	if len(all) > 1 && large.Elasticity < small.Elasticity && !concave(small, large) && c.convex(small, large) {
		pooled := pool(small, large)
		small.Elasticity, small.StdErr, small.Lo, small.Hi = pooled.Elasticity, pooled.StdErr, min(pooled.Lo, small.Lo), pooled.Hi
		large.Elasticity, large.StdErr, large.Lo, large.Hi = pooled.Elasticity, pooled.StdErr, pooled.Lo, pooled.Hi
	}
	if c.metric() == MetricThroughput && !c.chooses(small, large) {
		small, large = small.possible(), large.possible()
	}
	return small, large, true
}

// chooses reports whether a period grew by a larger part than the region, by more than chance: by
// what the program chose otherwise. Where a hold holds up others, too, that is why.
func (c Curve) chooses(measured ...Slope) bool {
	return c.metric() == MetricThroughput && c.HoldsUp <= leastHoldsUp && slices.ContainsFunc(measured, func(s Slope) bool { return s.known() && s.Lo > 1+delaysOff })
}

// fallsAt reports whether a period fell although the region was slower, by more than chance.
func (c Curve) fallsAt(s Slope) bool { return c.metric() == MetricThroughput && s.falls() > 0 }

// possible returns the slope of a period as far as it can be: what takes a part of the time longer
// makes the whole at most that part longer, as the period is homogeneous in the durations and falls
// with none. What lies above or below was measured wrong, by so much to either side: delays took
// longer than was seen, or the machine was slower for the arms without, as one that others use.
func (s Slope) possible() Slope {
	s.Elasticity = clamp(s.Elasticity, 0, 1)
	lo, hi := s.Lo, s.Hi
	if hi > 1 {
		s.Lo, s.Hi = min(lo, 2-hi), 1
	}
	if lo < 0 {
		s.Hi = min(1, max(s.Hi, -lo))
	}
	return s
}

// sharing is how much two slopes correlate at most, as experiments of both are compared with the
// same placebos: a half where windows scatter alike, in whichever proportion they share these. How
// much it is does not follow from the samples, of which the rounds are not kept.
const sharing = 0.5

// pool returns the mean of slopes of two levels, weighted by how sure they are, where they
// correlate by [sharing]: with less, it is surer than it says. One that is twice as sure as the
// other counts alone.
func pool(a, b Slope) Slope {
	const tiny = 1e-9
	va, vb := a.StdErr*a.StdErr+tiny, b.StdErr*b.StdErr+tiny
	both := sharing * math.Sqrt(va*vb)
	w := clamp((vb-both)/(va+vb-2*both), 0, 1)
	together := func(x, y float64) float64 { // of standard errors, and of how far intervals reach
		x, y = w*x, (1-w)*y
		return math.Sqrt(x*x + y*y + 2*sharing*x*y)
	}
	p := Slope{Elasticity: w*a.Elasticity + (1-w)*b.Elasticity, StdErr: together(a.StdErr, b.StdErr)}
	reach := together(a.Hi-a.Elasticity, b.Hi-b.Elasticity)
	p.Lo, p.Hi = p.Elasticity-reach, p.Elasticity+reach
	return p
}

// delaysOff is by which part of itself a slope may be off since delays took longer or shorter than
// was seen: of regions that take all of the time, measured slopes are .94 to 1.03 (make accuracy).
const delaysOff = 0.05

// eitherOf is how many times as far as an interval two upper bounds reach of which the lower is
// taken, to hold as often as one (Bonferroni, by Student's t of eight samples).
const eitherOf = 1.2

func (s Slope) surely() float64 { return s.Elasticity + eitherOf*(s.Hi-s.Elasticity) }

// sure is how many standard errors apart two slopes are by more than chance.
const sure = 3

// leans is how many standard errors apart slopes look as if it were by more than chance, which one
// in fifteen does.
const leans = 1.5

// concave reports whether the large slope looks smaller than the small one, as where a timer cuts
// long waits.
func concave(small, large Slope) bool {
	return small.Elasticity-large.Elasticity > leans*math.Hypot(small.StdErr, large.StdErr)
}

// convex reports whether slopes at two levels may be those of a convex function that does not fall
// and is smooth at its start: none is below zero nor the large one the smaller by more than chance,
// nor may the small one be nothing where the large one is surely much; nor is one of a period
// steep.
func (c Curve) convex(small, large Slope) bool {
	if small.falls() > 0 || large.falls() > 0 {
		return false
	}
	if c.chooses(small, large) {
		return false
	}
	apart := sure * math.Hypot(small.StdErr, large.StdErr)
	if large.Elasticity < small.Elasticity-apart {
		return false
	}
	const much = 0.2 // 10 % at a half
	return !(small.Lo < design.NothingElasticity && large.Elasticity > max(much, small.Elasticity+apart))
}

// bendsBy is the standard deviation of by what slopes differ between the levels, beyond what
// experiments scatter by: large slow-downs are more precise, and off by that.
const bendsBy = 0.1

// bent returns the most probable slope at the smallest level, by how much it bends up to the
// largest, if slopes bend by bendsBy (a normal prior), and the slope at most. Where work avoids the
// region, or slopes look concave, the period may be no convex function of it, and each level says
// what the other one may be.
func (c Curve) bent(small, large Slope) (at, bends, most float64) {
	if c.avoided() > 0 || concave(small, large) {
		return (small.Elasticity + large.Elasticity) / 2, 0, max(small.surely(), large.surely())
	}
	most = min(small.surely(), large.surely())
	a, b, prior := small.StdErr*small.StdErr, large.StdErr*large.StdErr, bendsBy*bendsBy
	if large.Level == small.Level || a == 0 {
		return small.Elasticity, max(0, large.Elasticity-small.Elasticity), most
	}
	between := (large.Elasticity - small.Elasticity) / (a + b + prior)
	return max(0, small.Elasticity+a*between), max(0, prior*between), most
}

// MostBehind is up to which [Curve.Behind] a slope is an answer, not only a bound.
const MostBehind = 0.5

// leastHoldsUp is from which [Curve.HoldsUp] on a slope is a bound from above alone: by how much
// others are held up depends on how many wait for the goroutine at a time.
const leastHoldsUp = 0.02

// Near is the largest speed-up up to which a slope is the answer; beyond, it is a bound.
const Near = 0.10

// AnswerFromSlopes sets the effects at some speed-ups, in (0, 1), from the slopes.
//
// Up to [Near] an effect is the slope at the smallest level, less what the slopes bend by for its
// lower bound. Beyond, it is bounded: from above by the slopes, from below by the effect at Near,
// as a program does not become slower by what becomes faster. So a slope below zero is chance, and
// bounds nothing from above, but where it is a resonance, see [WidenByOthers].
//
// A quantile of latency may have a kink where the program works: at the median of requests of which
// half wait for others, slower ones pay for the wait, too, and faster ones save their own time. A
// slope at a load does not show that, so half of the region's share of the latency is in the
// interval, and a slope that is much larger than the share is a bound alone.
//
// Where work avoids a slower region, as a batch that waits for longer gets larger, the period is no
// convex function of it: the slopes of the two levels bound each other no more.
func (c *Curve) AnswerFromSlopes(speedups []float64) {
	c.Effects = nil
	for _, s := range speedups {
		c.Effects = append(c.Effects, c.fromSlopes(s).drifted(c.Region, c.Drift))
	}
}

// drifted returns an effect of a region whose spans take so many times as long themselves as when
// experiments began. Its own time may be as many times as long, and so the elasticity, or its spans
// wait for longer, and neither is. Both are in the interval.
func (e Effect) drifted(of Region, times float64) Effect {
	if times == 0 || !e.Known() {
		return e
	}
	e.Lo, e.Hi, e.Bounded = min(e.Lo, times*e.Lo), min(1, max(e.Hi, times*e.Hi)), true
	e.Warnings = append(e.Warnings, fmt.Sprintf("spans of %s take %.2g times as long as when the experiments began: a new plan narrows this", of.Name, times))
	return e
}

func (c *Curve) fromSlopes(speedup float64) Effect {
	small, large, known := c.levels()
	e := Effect{Speedup: speedup}
	if !known {
		for _, s := range c.Slopes {
			e.Samples = max(e.Samples, s.Samples)
		}
		return e.Withhold(Withheld{Code: withheldcode.Iterations, Count: int64(e.Samples), Need: stats.LeastSamples})
	}
	e.Samples, e.StdErr = small.Samples, small.StdErr*speedup
	for _, x := range small.Elasticities {
		e.Reductions = append(e.Reductions, x*speedup)
	}
	e.Reductions = stats.Thinned(e.Reductions)
	if !c.convex(small, large) {
		return e.notConvex(small, large)
	}
	near := min(speedup, Near)
	lo := (small.Lo - max(0, large.Elasticity-small.Elasticity)) * (1 - c.Behind) * near
	if small.Lo > 0 {
		lo = max(0, lo)
	}
	at, bends, surely := c.bent(small, large)
	e.Lo, e.Hi = lo-stats.ModelError, max(surely*(1+delaysOff)*speedup, lo, 0)+stats.ModelError
	if c.metric() != MetricThroughput && e.Lo > 0 {
		e.Lo = min(e.Lo, c.share()*near/2)
	}
	if apart := large.Taken - small.Taken; speedup > Near && apart > 0 && at > 0 {
		at = max(0, at-bends/apart*(speedup-Near))
	}
	e, at = c.chosenByTime(e, at)
	if c.metric() == MetricThroughput {
		e.Hi = min(e.Hi, speedup+stats.ModelError)
	}
	e.Bounded = speedup > Near || c.metric() != MetricThroughput && (at-c.share())*near > stats.ModelError
	if c.Behind > MostBehind {
		e.Bounded, at = true, at/2
		e.Warnings = append(e.Warnings, c.Region.Name+" may bring less: no processor is idle when its spans' waits are over, and who comes earlier waits longer for one")
	}
	if c.HoldsUp > leastHoldsUp {
		e.Bounded, e.Lo, at = true, -stats.ModelError, at/2
		e.Warnings = append(e.Warnings, c.Region.Name+" may bring less: its spans end on goroutines that have others to end, and a hold there holds up these, too")
	}
	if missing := c.missing(at); c.hides() || missing*speedup > stats.ModelError/2 {
		e.Bounded = true
		e.Warnings = append(e.Warnings, c.why())
		if c.metric() == MetricThroughput {
			at += missing / 2 // in the middle of what it may be, so that it ranks by that
			e.Hi = min(e.Hi+missing*speedup, speedup+stats.ModelError)
		} else { // a quantile may wait for several spans, one behind the other
			e.Hi = 1
		}
	}
	e = e.possible()
	e.Reduction = clamp(at*speedup, e.Lo, e.Hi)
	return e
}

// notConvex returns an effect where slopes bound nothing but what a region takes.
func (e Effect) notConvex(small, large Slope) Effect {
	e.Bounded = true
	e.Lo, e.Hi = min(0, small.Lo*e.Speedup)-stats.ModelError, min(1, max(1, small.Hi, large.Hi)*e.Speedup+stats.ModelError)
	e.Reduction = clamp(min(small.Elasticity, 1)*e.Speedup, e.Lo, e.Hi) // what takes no time saves no more than that
	e.Warnings = []string{fmt.Sprintf("not clear: slower by %.0f %% costs %.2f of that, by %.0f %% %.2f: what a program chooses by its state depends on the region",
		100*small.Taken, small.Elasticity, 100*large.Taken, large.Elasticity)}
	return e
}

// chosenByTime returns an effect and its slope, with what spans of the region may bring that are no
// visits now, or do not count, and would where it is faster.
func (c Curve) chosenByTime(e Effect, at float64) (Effect, float64) {
	if avoided := c.avoided(); avoided > 0 {
		e.Hi *= 1 + 2*avoided*e.Speedup
		at *= 1 + avoided*e.Speedup // in the middle of that
		e.Warnings = append(e.Warnings, fmt.Sprintf("work avoids %s: slower by 10 %%, it has up to %.1f %% fewer spans for each visit, and the upper bound is a guess at how many more it has where it is faster", c.Region.Name, 10*avoided))
	}
	if overtakes := c.overtakes(); overtakes > 0 && e.Speedup > Near {
		e.Hi += overtakes * e.Speedup
		e.Warnings = append(e.Warnings, fmt.Sprintf("%.0f %% of the spans of %s end when others have answered in their place: where it is faster, more of them count", 100*c.Overtaken, c.Region.Name))
	}
	return e, at
}

// overtakes is by how much an elasticity may be larger beyond [Near], since spans of the region
// that others overtake cost nothing where they are slower: where faster, they overtake the others.
// The time that the first k of n take shrinks by no more than each of the n does. Up to Near, as
// many take the place of others as lose it.
func (c Curve) overtakes() float64 {
	const leastOvertaken = 0.02
	if c.Overtaken < leastOvertaken {
		return 0
	}
	if c.BasePeriod <= 0 || c.Own <= 0 {
		return 1
	}
	return min(1, c.Overtaken*c.share())
}

// missing is by how much an elasticity may be larger than measured, since callers were held when
// the region had given what others wait for: each millisecond by which such a wait is shorter
// brings at most itself, to one visit. So a region of a thousandth of the time brings no more than
// that, however its spans wait.
func (c Curve) missing(measured float64) float64 {
	most := max(0, 1-measured)
	switch {
	case c.BasePeriod <= 0 || c.Own <= 0:
		if c.hides() {
			return most
		}
		return 0
	}
	share := c.share()
	switch {
	case !c.hides():
		return min(most, c.Awaited*share)
	case c.metric() == MetricThroughput:
		return clamp((1+delaysOff)*share*(1+c.Served)-measured, 0, most)
	}
	return most
}

// leastExpiring is the part of a region's spans behind deadlines from which many may be near, which
// hides what it brings: a hold costs no more than is left until then.
const leastExpiring = 0.005

// hides reports whether holds may have cost less than a longer region would: a slope bounds what a
// faster one brings from below alone.
func (c Curve) hides() bool { return c.Inside || c.Expiring >= leastExpiring }

// share is the part of the time that the region's spans take themselves, 0 if that is not known.
func (c Curve) share() float64 {
	if c.BasePeriod <= 0 || c.Own <= 0 {
		return 0
	}
	return float64(c.Own) / float64(c.BasePeriod)
}

func (c Curve) why() string {
	if c.Expiring >= leastExpiring {
		return c.Region.Name + " may bring more: spans of it end near deadlines, and a wait that a deadline ends is no longer where they are slower"
	}
	if c.Inside {
		return c.Region.Name + " may bring more: its spans wait for others before their ends, so callers were held when they had given back what is waited for"
	}
	return c.Region.Name + " may bring more: others wait for its spans before these end, so callers were held when they had given what is waited for"
}

func clamp(x, lo, hi float64) float64 { return max(lo, min(x, hi)) }

// explained is the sum of the elasticities of a progress point's throughput to the regions that
// were slowed down, but for the progress point's own spans, with its standard error at most: what
// is missing to 1 is time that these regions do not explain, such as a limiter's or that of work
// without spans. Of all regions, the ones in the sum have a slope, and their holds hold up no
// others.
//
// Two slopes correlate by [sharing] at most, and one with all others by 1 in sum: a placebo is
// compared with two experiments to either side at most, and counts for a third of the further ones.
func (p Profile) explained(progress string) (sum, stdErr float64, in, all int) {
	var errs, squares float64
	for _, c := range p.Curves {
		if c.Mode != ModeSlowdown || c.Progress != progress || c.metric() != MetricThroughput || c.ofItself() {
			continue
		}
		all++
		if small, _, ok := c.levels(); ok && c.HoldsUp <= leastHoldsUp {
			sum, in = sum+small.Elasticity, in+1
			errs, squares = errs+small.StdErr, squares+small.StdErr*small.StdErr
		}
	}
	return sum, math.Sqrt(min(squares+sharing*(errs*errs-squares), 2*squares)), in, all
}
