package stats

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// Confidence of all intervals.
const Confidence = 0.95

// LeastSamples is the number of samples below which no number is given: with fewer, the
// interval is too wide for any conclusion.
const LeastSamples = 5

// ModelError is what no number of samples takes away: what the models leave out, such as wake-ups
// that are sooner or later in the faster program, and what observing costs. make accuracy finds it.
const ModelError = 0.01

// outlierMADs is how many median absolute deviations from the median make an outlier.
const outlierMADs = 3

// Where the correlation of one sample with the next is above tooAlike, it takes leastIfAlike of
// them until intervals are as wide as they should be.
const (
	tooAlike     = 0.5
	leastIfAlike = 50
)

// An Estimate sums up repeated measurements of one quantity.
type Estimate struct {
	Mean   float64
	StdErr float64
	Lo, Hi float64 // bound the mean
	// Median and Outliers, the values more than three median absolute deviations from it, are
	// diagnostics.
	Median   float64
	Outliers int
	// Alike is whether there are too few samples for how much one resembles the next: the interval
	// may be too narrow.
	Alike bool
}

// Summarize returns the mean of values, given in the order of time, and how sure it is. There must
// be at least one value.
//
// The interval is Student's, of a standard error that minds that one value may resemble the next.
// Nothing is set aside: what happens in bursts lies far out, and is what counts.
func Summarize(values []float64) Estimate {
	n := len(values)
	e := Estimate{Mean: stats.Mean(values), Median: Median(values), Outliers: outliers(values)}
	e.Lo, e.Hi = e.Mean, e.Mean
	if n > 1 {
		e.Alike = n >= LeastToJudge && n < leastIfAlike && correlation(values) > tooAlike
		e.StdErr = StdErr(values)
		reach := student(float64(n-1)) * e.StdErr
		e.Lo, e.Hi = e.Mean-reach, e.Mean+reach
	}
	return e
}

// student is how many standard errors an interval reaches to either side.
func student(freedom float64) float64 {
	return stats.InvCDF(stats.TDist{V: freedom})(1 - (1-Confidence)/2)
}

// StdErr returns the standard error of the mean of values, given in the order of time: at least
// two.
func StdErr(values []float64) float64 {
	return StdErrOfAlike(values, inflation(values))
}

// StdErrOfAlike is StdErr of values of which is known by what factor the variance of their mean is
// larger than that of independent ones.
func StdErrOfAlike(values []float64, factor float64) float64 {
	return stats.StdDev(values) * math.Sqrt(factor/float64(len(values)))
}

// outliers is how many of the values lie more than outlierMADs median absolute deviations from the
// median.
func outliers(values []float64) (n int) {
	center := Median(values)
	deviations := make([]float64, len(values))
	for i, v := range values {
		deviations[i] = math.Abs(v - center)
	}
	reach := outlierMADs * Median(deviations)
	for _, v := range values {
		if v < center-reach || v > center+reach {
			n++
		}
	}
	return n
}

// Median returns the median of values, which it does not change.
func Median(values []float64) float64 {
	return stats.Sample{Xs: slices.Clone(values)}.Quantile(0.5)
}
