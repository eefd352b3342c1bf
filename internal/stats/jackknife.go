package stats

// PseudoValues returns the jackknife's pseudo-values of a statistic of totals, by block: n times
// the statistic of all blocks, less n-1 times that of all but one. Their mean is the statistic, but
// for a bias that it takes away, and their scatter shows how sure that is, as that of independent
// measurements would. Efron and Tibshirani, An introduction to the bootstrap, 1993, chapter 11. Of
// the sum of no block the statistic must be a number, too.
func PseudoValues[T any](blocks []T, add func(sum *T, block T, sign float64), of func(sum T) float64) []float64 {
	var sum T
	for _, b := range blocks {
		add(&sum, b, +1)
	}
	n := float64(len(blocks))
	all := of(sum)
	values := make([]float64, len(blocks))
	for i, b := range blocks {
		if n == 1 {
			return []float64{all}
		}
		rest := sum
		add(&rest, b, -1)
		values[i] = n*all - (n-1)*of(rest)
	}
	return values
}
