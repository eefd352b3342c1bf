package otelhdr

import (
	"fmt"
	"math"
	"slices"
)

// A Judge decides whether one set of durations, or of any values of which fewer is better, is lower
// than another. It compares a percentile of both by an interval of the change that makes no
// assumption about the distribution: the ends are order statistics, their ranks follow from the
// binomial distribution. Outliers and heavy tails do not move it, and the width of buckets is
// within. The mean has no such interval, so it is not judged.
//
// The zero Judge compares medians at 99 % confidence, and calls every significant change a change.
// Costs a pass over the counters.
type Judge struct {
	// Percent is the percentile, in [0.001, 99.999]; 0 means 50, the median.
	Percent float64
	// Confidence is how often the interval holds the true change at least, in [0.5, 1); 0 means
	// 0.99.
	Confidence float64
	// Margin is the change that counts as none, as a fraction in [0, 1): 0.02 are 2 %.
	Margin float64
}

// A Judgement is what a [Judge] has found. Changes are fractions of the percentile before: -0.2 is
// a fifth less.
type Judgement struct {
	Judge         Judge   // with the defaults filled in
	Verdict       Verdict // what the interval shows
	Change        float64 // NaN where a side has no values, or 0 before
	Low, High     float64 // the interval; infinite where there is no bound
	Before, After uint64  // how many values, runs or pairs were compared
	Of            string  // which of them: "values", "runs" or "pairs"
}

// A Verdict is what an interval of a change shows.
type Verdict string

// The verdicts. All but Undecided hold with the confidence of the [Judge].
const (
	Faster    Verdict = "faster"    // lower by more than the margin
	Slower    Verdict = "slower"    // higher by more than the margin
	Same      Verdict = "same"      // changed by no more than the margin
	Undecided Verdict = "undecided" // none of these is shown: too few values, or a change near the margin
)

// NotSlower reports whether the judgement shows that the change is not above the margin.
func (j Judgement) NotSlower() bool { return j.High <= j.Judge.Margin }

// Values compares two snapshots. Each value has to be independent of the others: where a slow
// moment of the machine slows many in a row, they say less than their number. Compare [Judge.Runs]
// then. The error wraps [ErrConfig].
func (j Judge) Values(before, after *Snapshot) (Judgement, error) {
	j, err := j.complete()
	if err != nil {
		return Judgement{}, err
	}
	a, b := j.ofValues(before), j.ofValues(after)
	return j.judge(a, b, "values"), nil
}

// Runs compares the median of a percentile over independent runs, or over stretches of time that
// are long beside any disturbance, each with a snapshot of its own that has values. At 99 %
// confidence a result takes nine runs on each side. The error wraps [ErrConfig].
func (j Judge) Runs(before, after []*Snapshot) (Judgement, error) {
	j, err := j.complete()
	if err != nil {
		return Judgement{}, err
	}
	return j.judge(j.ofRuns(before), j.ofRuns(after), "runs"), nil
}

// Pairs compares the median change from before[i] to after[i], where both were measured right after
// each other, so that what disturbs both alike does not count. Percent is not used. At 99 %
// confidence a result takes eight pairs. The error wraps [ErrConfig], also where the numbers
// differ.
func (j Judge) Pairs(before, after []uint64) (Judgement, error) {
	j, err := j.complete()
	if err != nil {
		return Judgement{}, err
	}
	if len(before) != len(after) {
		return Judgement{}, fmt.Errorf("%w: %d values before, %d after: must be pairs", ErrConfig, len(before), len(after))
	}
	ratios := make([]float64, len(before))
	for i, b := range before {
		ratios[i] = ratio(float64(after[i]), float64(b))
	}
	n := uint64(len(ratios))
	out := Judgement{Judge: j, Verdict: Undecided, Change: math.NaN(), Low: -1, High: math.Inf(1), Before: n, After: n, Of: "pairs"}
	if slices.ContainsFunc(ratios, math.IsNaN) {
		return out, nil
	}
	s := medianOf(ratios, ratios, ratios, (1-j.Confidence)/2)
	out.Change, out.Low, out.High = s.value-1, s.low-1, s.high-1
	return out.decide(), nil
}

// complete fills in the defaults and checks the rest.
func (j Judge) complete() (Judge, error) {
	if j.Percent == 0 {
		j.Percent = 50
	}
	if j.Confidence == 0 {
		j.Confidence = 0.99
	}
	switch {
	case !(j.Percent >= 0.001 && j.Percent <= 99.999):
		return j, fmt.Errorf("%w: percentile %v: must be in [0.001, 99.999]", ErrConfig, j.Percent)
	case !(j.Confidence >= 0.5 && j.Confidence < 1):
		return j, fmt.Errorf("%w: confidence %v: must be in [0.5, 1)", ErrConfig, j.Confidence)
	case !(j.Margin >= 0 && j.Margin < 1):
		return j, fmt.Errorf("%w: margin %v: must be in [0, 1)", ErrConfig, j.Margin)
	}
	return j, nil
}

// A side is a quantile of how many, with an interval.
type side struct {
	value, low, high float64
	n                uint64
}

// tail is what each end of a side's interval may miss: the two sides share what the judgement may.
func (j Judge) tail() float64 { return (1 - j.Confidence) / 4 }

func (j Judge) ofValues(s *Snapshot) side {
	out := side{math.NaN(), 0, math.Inf(1), s.Count()}
	if out.n == 0 {
		return out
	}
	out.value = float64(s.Locate(j.Percent).Value)
	low, high := quantileRanks(out.n, j.Percent/100, j.tail())
	if low > 0 {
		out.low = float64(s.boundsOf(low).Low)
	}
	if high <= out.n {
		out.high = float64(s.boundsOf(high).High)
	}
	return out
}

// boundsOf returns what the value of a rank, in [1, count], lies between.
func (s *Snapshot) boundsOf(rank uint64) Bucket {
	w := s.walk()
	w.seek(rank)
	b := w.bucket(rank)
	return Bucket{Low: max(b.Low, s.min), High: min(b.High, s.max)}
}

func (j Judge) ofRuns(runs []*Snapshot) side {
	var values, lows, highs []float64
	for _, s := range runs {
		if s.Count() == 0 {
			continue
		}
		p := s.Locate(j.Percent)
		bounds := s.boundsOf(p.Rank)
		values, lows, highs = append(values, float64(p.Value)), append(lows, float64(bounds.Low)), append(highs, float64(bounds.High))
	}
	return medianOf(values, lows, highs, j.tail())
}

// medianOf returns the median of values that lie between lows and highs each, and what it lies
// between itself. It sorts them.
func medianOf(values, lows, highs []float64, tail float64) side {
	n := uint64(len(values))
	out := side{math.NaN(), 0, math.Inf(1), n}
	if n == 0 {
		return out
	}
	slices.Sort(values)
	slices.Sort(lows)
	slices.Sort(highs)
	out.value = values[(n-1)/2]
	low, high := quantileRanks(n, 0.5, tail)
	if low > 0 {
		out.low = lows[low-1]
	}
	if high <= n {
		out.high = highs[high-1]
	}
	return out
}

func (j Judge) judge(before, after side, of string) Judgement {
	out := Judgement{
		Judge: j, Verdict: Undecided, Change: ratio(after.value, before.value) - 1, Low: -1, High: math.Inf(1),
		Before: before.n, After: after.n, Of: of,
	}
	if math.IsNaN(out.Change) || math.IsInf(out.Change, 1) {
		out.Change = math.NaN()
		return out
	}
	out.Low = ratio(after.low, before.high) - 1 // -1 where before.high has no bound
	if before.low > 0 {
		out.High = ratio(after.high, before.low) - 1
	}
	return out.decide()
}

// ratio returns x/y, NaN if that has no meaning.
func ratio(x, y float64) float64 {
	if y == 0 {
		return math.NaN()
	}
	return x / y
}

func (j Judgement) decide() Judgement {
	margin := j.Judge.Margin
	switch {
	case j.High < -margin:
		j.Verdict = Faster
	case j.Low > margin:
		j.Verdict = Slower
	case j.Low >= -margin && j.High <= margin:
		j.Verdict = Same
	}
	return j
}

// String returns it in a line, such as
//
//	faster: P50 -20.1% [-20.1%, -20.0%] at 99% confidence, from 1,010 and 500 values
func (j Judgement) String() string {
	what := "P" + percentText(j.Judge.Percent)
	switch j.Of {
	case "pairs":
		what = "median"
	case "runs":
		what = "median of " + what
	}
	text := string(j.Verdict) + ": " + what
	if math.IsNaN(j.Change) {
		text += " n/a"
	} else {
		text += fmt.Sprintf(" %+.1f%% [%s, %s]", 100*j.Change, boundText(j.Low), boundText(j.High))
	}
	text += fmt.Sprintf(" at %s%% confidence", percentText(100*j.Judge.Confidence))
	if j.Judge.Margin > 0 {
		text += fmt.Sprintf(" with a margin of %s%%", percentText(100*j.Judge.Margin))
	}
	if j.Of == "pairs" {
		return text + fmt.Sprintf(", from %s pairs", groupedText(j.Before))
	}
	return text + fmt.Sprintf(", from %s and %s %s", groupedText(j.Before), groupedText(j.After), j.Of)
}

func boundText(f float64) string {
	if math.IsInf(f, 1) {
		return "∞"
	}
	return fmt.Sprintf("%+.1f%%", 100*f)
}

// quantileRanks returns the places, from 1, in n ascending independent values between which the
// quantile p of their distribution lies: below the lower and above the upper with a probability of
// at most tail each, whatever the distribution. low is 0 and high n+1 where n is too small for a
// bound.
//
// See H. A. David, H. N. Nagaraja, Order Statistics, 3rd ed., 7.1.
func quantileRanks(n uint64, p, tail float64) (low, high uint64) {
	return lowerRank(n, p, tail), n + 1 - lowerRank(n, 1-p, tail)
}

// manyRanks is the variance of a binomial distribution from which it is taken for normal.
const manyRanks = 1e4

// lowerRank returns the greatest l with P(B <= l-1) <= tail for a binomial B of n and p, or a lower
// one.
func lowerRank(n uint64, p, tail float64) uint64 {
	mean, variance := float64(n)*p, float64(n)*p*(1-p)
	deviation := math.Sqrt(variance)
	if variance > manyRanks {
		z := math.Sqrt2 * math.Erfinv(1-2*tail)
		// The skewness moves the quantile by less than z²/6+1.
		return uint64(max(0, math.Floor(mean-z*deviation-z*z/6-1)))
	}
	// What lies below the start has a probability far below any tail.
	start := math.Floor(max(0, mean-40*deviation))
	var below float64
	for k := start; k <= float64(n); k++ {
		if below += binomial(float64(n), k, p); below > tail {
			return uint64(k)
		}
	}
	return n
}

// binomial returns the probability of k among n.
func binomial(n, k, p float64) float64 {
	all, _ := math.Lgamma(n + 1)
	some, _ := math.Lgamma(k + 1)
	others, _ := math.Lgamma(n - k + 1)
	return math.Exp(all - some - others + k*math.Log(p) + (n-k)*math.Log1p(-p))
}
