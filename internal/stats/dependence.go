package stats

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

// A dependence is how much values in the order of time resemble those before them.
type dependence struct {
	first float64 // correlation of a value with the next, in [0, mostAlike]
}

// mostAlike keeps a trend, which is no dependence, from widening intervals without bound.
const mostAlike = 0.9

// dependenceOf estimates the dependence of values as a first-order autoregression, AR(1).
func dependenceOf(values []float64) dependence {
	n := len(values)
	d := dependence{}
	covariance := autocovariances(values, 1)
	if len(covariance) < 2 || covariance[0] <= 0 {
		return d
	}
	// The correlation of few values comes out too small (Kendall 1954).
	r := covariance[1] / covariance[0]
	d.first = max(0, min(mostAlike, r+(1+3*max(0, r))/float64(n)))
	if noise := 1 / math.Sqrt(float64(n)); d.first < noise {
		d.first = 0
	}
	return d
}

// inflation returns by what factor the variance of a mean is larger than that of independent
// values.
func (d dependence) inflation() float64 { return (1 + d.first) / (1 - d.first) }

// autocovariances returns the autocovariances of lags 0 to most.
func autocovariances(values []float64, most int) []float64 {
	n := len(values)
	mean := stats.Mean(values)
	all := make([]float64, min(most, n-1)+1)
	for lag := range all {
		for i := range n - lag {
			all[lag] += (values[i] - mean) * (values[i+lag] - mean)
		}
		all[lag] /= float64(n)
	}
	return all
}
