package stats

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

// leastToModerate is the number of variances below which nothing is known of how they vary.
const leastToModerate = 3

// Moderate returns variances of measurements of one kind, each with its degrees of freedom, drawn
// toward what they have in common: by chance some of a few are far too small. How strongly follows
// from how much they differ beyond chance, by empirical Bayes with a scaled inverse chi-squared
// prior: Smyth, Linear models and empirical Bayes methods for assessing differential expression in
// microarray experiments, 2004, section 6. Variances of 0, or without a degree of freedom, stay as
// they are, and so do all where they are fewer than three.
func Moderate(variances, freedom []float64) []float64 {
	all := append([]float64(nil), variances...)
	var logs, chances []float64
	for i, v := range variances {
		if v > 0 && freedom[i] > 0 {
			half := freedom[i] / 2
			logs = append(logs, math.Log(v)-digamma(half)+math.Log(half))
			chances = append(chances, trigamma(half))
		}
	}
	if len(logs) < leastToModerate {
		return all
	}
	prior := math.Inf(1) // degrees of freedom of what is common
	common := stats.Mean(logs)
	if beyond := stats.Variance(logs) - stats.Mean(chances); beyond > 0 {
		prior = 2 * trigammaInverse(beyond)
		common += digamma(prior/2) - math.Log(prior/2)
	}
	for i, v := range variances {
		switch {
		case v <= 0 || freedom[i] <= 0:
		case math.IsInf(prior, 1):
			all[i] = math.Exp(common)
		default:
			all[i] = (prior*math.Exp(common) + freedom[i]*v) / (prior + freedom[i])
		}
	}
	return all
}

// asymptotic is from where on the series of digamma and trigamma are exact to nine digits
// (Abramowitz and Stegun, 6.3.18 and 6.4.12).
const asymptotic = 10

// digamma is the derivative of the logarithm of the gamma function, for x above 0.
func digamma(x float64) (sum float64) {
	for ; x < asymptotic; x++ {
		sum -= 1 / x
	}
	s := 1 / (x * x)
	return sum + math.Log(x) - 1/(2*x) - s*(1./12-s*(1./120-s/252))
}

// trigamma is the derivative of digamma, for x above 0.
func trigamma(x float64) (sum float64) {
	for ; x < asymptotic; x++ {
		sum += 1 / (x * x)
	}
	s := 1 / (x * x)
	return sum + 1/x + s/2 + s/x*(1./6-s*(1./30-s/42))
}

// trigammaInverse returns where trigamma, which falls and is below 1/x + 1/x², is y, for y above 0.
func trigammaInverse(y float64) float64 {
	lo, hi := 0., 1/y+1/math.Sqrt(y)+1
	for range 100 {
		if middle := (lo + hi) / 2; trigamma(middle) > y {
			lo = middle
		} else {
			hi = middle
		}
	}
	return hi
}
