package causal

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"
)

// confidence of all intervals.
const confidence = 0.95

// leastSamples is the number of samples below which no number is given: with fewer, the
// interval is wider than anything it could tell.
const leastSamples = 5

// outlierMADs is how many median absolute deviations from the median make an outlier.
const outlierMADs = 3

// Where the correlation of one sample with the next is above tooAlike, it takes leastIfAlike of
// them until intervals are as wide as they should be.
const (
	tooAlike     = 0.5
	leastIfAlike = 50
)

// An estimate sums up repeated measurements of one quantity.
type estimate struct {
	median   float64
	stdErr   float64 // of what is not an outlier
	lo, hi   float64 // bound the median
	samples  int
	outliers int
	warnings []string
}

// summarize returns the median of values, given in the order of time, and how sure it is.
// There must be at least one value.
//
// Values that lie more than outlierMADs median absolute deviations from the median are
// counted, and set aside for the standard error only: the median and its interval do without,
// and three such deviations are but two of a normal distribution's standard ones, so that
// an interval of what is left would be too narrow.
//
// From leastForBlocks values on the interval is that of a block bootstrap, which minds that
// one value may resemble the next. Below, it is that of the order statistics, which assumes
// that it does not. With fewer than six there is none of 95 %, and the normal one is given in
// its place.
func summarize(values []float64) estimate {
	kept := withoutOutliers(values)
	e := estimate{samples: len(values), outliers: len(values) - len(kept), median: median(values)}
	if len(kept) > 1 {
		e.stdErr = stats.Sample{Xs: kept}.StdDev() / math.Sqrt(float64(len(kept)))
	}
	if n := len(values); n >= leastToJudge && n < leastIfAlike && dependenceOf(values).first > tooAlike {
		e.warnings = append(e.warnings, "one sample resembles the next: the interval may be too narrow")
	}
	if len(values) >= leastForBlocks {
		e.lo, e.hi = medianInterval(values)
		return e
	}
	summary := benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds), confidence)
	e.lo, e.hi = summary.Lo, summary.Hi
	if math.IsInf(e.lo, 0) || math.IsInf(e.hi, 0) {
		mean, lo, hi := stats.Sample{Xs: values}.MeanCI(confidence)
		e.lo, e.hi = e.median-(mean-lo), e.median+(hi-mean)
		e.warnings = append(e.warnings, "the interval assumes a normal distribution: fewer than 6 iterations")
	}
	if width := e.hi - e.lo; math.IsNaN(width) || math.IsInf(width, 0) { // of one value
		e.lo, e.hi = e.median, e.median
	}
	return e
}

// inliers returns the bounds beyond which values are outliers: outlierMADs median absolute
// deviations from the median.
func inliers(values []float64) (lo, hi float64) {
	center := median(values)
	deviations := make([]float64, len(values))
	for i, v := range values {
		deviations[i] = math.Abs(v - center)
	}
	reach := outlierMADs * median(deviations)
	return center - reach, center + reach
}

// withoutOutliers returns the values that are none.
func withoutOutliers(values []float64) []float64 {
	lo, hi := inliers(values)
	kept := slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return v < lo || v > hi })
	if len(kept) == 0 { // more than half are equal, and the others none of them
		return slices.Clone(values)
	}
	return kept
}

// broughtIn returns the values with those that lie twice as far out as outliers moved there. The
// rest is left alone: what a normal distribution has outside of the bounds is needed to
// know how wide it is.
func broughtIn(values []float64) []float64 {
	lo, hi := inliers(values)
	lo, hi = lo-(hi-lo)/2, hi+(hi-lo)/2
	near := make([]float64, len(values))
	for i, v := range values {
		near[i] = max(lo, min(hi, v))
	}
	return near
}

func median(values []float64) float64 {
	return stats.Sample{Xs: slices.Clone(values)}.Quantile(0.5)
}
