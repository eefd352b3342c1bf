package otelhdr

import "math"

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
