package causal

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

// A dependence is how much values in the order of time resemble those before them.
type dependence struct {
	n     int
	block int     // stretches of so many values hardly depend on each other
	first float64 // correlation of a value with the next, in [0, mostAlike]
}

// mostAlike keeps a trend, which is no dependence, from widening intervals without bound.
const mostAlike = 0.9

// dependenceOf estimates it. The block length is that of Politis and White, Automatic
// block-length selection for the dependent bootstrap, 2004, with the correction of 2009; but
// few values hide a dependence from it, so it is not below what a first-order
// autoregression would need.
func dependenceOf(values []float64) dependence {
	n := len(values)
	d := dependence{n: n, block: 1}
	covariance := autocovariances(values, n/2)
	if len(covariance) < 2 || covariance[0] <= 0 {
		return d
	}
	// The correlation of few values comes out too small (Kendall 1954).
	r := covariance[1] / covariance[0]
	d.first = max(0, min(mostAlike, r+(1+3*max(0, r))/float64(n)))
	if noise := 1 / math.Sqrt(float64(n)); d.first < noise {
		d.first = 0
	}
	longest := max(1, min(n/4, int(math.Ceil(3*math.Sqrt(float64(n))))))
	r = d.first
	length := max(flatTopLength(covariance, n), math.Cbrt(6*r*r/((1-r*r)*(1-r*r))*float64(n)))
	d.block = max(1, min(longest, int(math.Ceil(length))))
	return d
}

// flatTopLength returns the block length by spectral estimates with a flat-top lag window.
func flatTopLength(covariance []float64, n int) float64 {
	// Lags count up to the last one before a stretch that looks like noise.
	noise := 2 * math.Sqrt(math.Log10(float64(n))/float64(n))
	stretch := max(5, int(math.Sqrt(math.Log10(float64(n)))))
	last, quiet := 0, 0
	for lag := 1; lag < len(covariance) && quiet < stretch; lag++ {
		quiet++
		if math.Abs(covariance[lag]) > noise*covariance[0] {
			last, quiet = lag, 0
		}
	}
	if last == 0 {
		return 1
	}
	width := min(2*last, len(covariance)-1)
	spectrum, slope := covariance[0], 0. // at frequency zero
	for lag := 1; lag <= width; lag++ {
		weight := min(1, 2*(1-float64(lag)/float64(width)))
		spectrum += 2 * weight * covariance[lag]
		slope += 2 * weight * float64(lag) * covariance[lag]
	}
	if spectrum <= 0 {
		return 1
	}
	return math.Cbrt(1.5 * slope * slope / (spectrum * spectrum) * float64(n))
}

// inflation returns by what factor the variance of a mean is larger than that of independent
// values.
func (d dependence) inflation() float64 { return (1 + d.first) / (1 - d.first) }

// widen returns by what factor a bootstrap's distribution is too narrow: blocks are drawn from
// the same n values, and cut what depends on each other at their ends.
func (d dependence) widen() float64 {
	within := 1. // what of the inflation is left inside of a block
	for lag := 1; lag < d.block; lag++ {
		within += 2 * (1 - float64(lag)/float64(d.block)) * math.Pow(d.first, float64(lag))
	}
	return math.Sqrt(d.inflation() / within * float64(d.n) / float64(d.n-d.block))
}

// autocovariances returns those of lags 0 to most.
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
