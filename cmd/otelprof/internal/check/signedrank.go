package check

import (
	"math"
	"slices"
)

// hodgesLehmann estimates the center of values that lie symmetrically around it, by the median of
// their means in pairs (J. L. Hodges and E. L. Lehmann, 1963), with an interval that follows from
// the exact distribution of Wilcoxon's signed-rank statistic: no distribution is assumed, an
// outlier counts as one value, and of normal values it is as wide as Student's but for 2 %. Where
// so few values give no such confidence, it is infinite.
func hodgesLehmann(values []float64, confidence float64) (center, lo, hi float64) {
	n := len(values)
	means := make([]float64, 0, n*(n+1)/2)
	for i, a := range values {
		for _, b := range values[i:] {
			means = append(means, (a+b)/2)
		}
	}
	slices.Sort(means)
	m := len(means)
	if m == 0 {
		return math.NaN(), math.Inf(-1), math.Inf(1)
	}
	center = (means[(m-1)/2] + means[m/2]) / 2
	outside := signedRankQuantile(n, (1-confidence)/2)
	if outside < 0 {
		return center, math.Inf(-1), math.Inf(1)
	}
	return center, means[outside], means[m-1-outside]
}

// signedRankQuantile is the largest k for which the statistic of n values is at most k with no more
// than this probability, -1 for none. The statistic is the sum of the ranks of positive values,
// each of 1 to n with a probability of a half.
func signedRankQuantile(n int, probability float64) int {
	ways := make([]float64, n*(n+1)/2+1) // by sum, in parts of all
	ways[0] = 1
	for rank := 1; rank <= n; rank++ {
		for sum := rank * (rank + 1) / 2; sum >= 0; sum-- {
			without := ways[sum]
			with := 0.0
			if sum >= rank {
				with = ways[sum-rank]
			}
			ways[sum] = (without + with) / 2
		}
	}
	k, below := -1, 0.0
	for sum, p := range ways {
		if below += p; below > probability {
			break
		}
		k = sum
	}
	return k
}
