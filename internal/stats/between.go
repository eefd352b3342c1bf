package stats

import "math"

// A Run is what one of several runs found out of the same quantity.
type Run struct {
	Mean, StdErr float64
	Samples      int
}

// StdErrBetween returns the standard error of the mean of the samples of several runs where these
// differ by more than their own standard errors explain, by a model of random effects: DerSimonian
// and Laird, Meta-analysis in clinical trials, 1986. It is 0 where they do not, or are fewer than
// two.
func StdErrBetween(runs []Run) float64 {
	weight := func(r Run) float64 { return 1 / max(r.StdErr*r.StdErr, tiny) }
	var sum, squares, mean, samples float64
	for _, r := range runs {
		w := weight(r)
		sum, squares, mean, samples = sum+w, squares+w*w, mean+w*r.Mean, samples+float64(r.Samples)
	}
	if len(runs) < 2 || samples <= 0 {
		return 0
	}
	mean /= sum
	beyond := -float64(len(runs) - 1) // of Cochran's Q, what chance makes
	for _, r := range runs {
		beyond += weight(r) * (r.Mean - mean) * (r.Mean - mean)
	}
	if beyond <= 0 {
		return 0
	}
	between := beyond / (sum - squares/sum) // variance
	variance := 0.0
	for _, r := range runs {
		part := float64(r.Samples) / samples
		variance += part * part * (r.StdErr*r.StdErr + between)
	}
	return math.Sqrt(variance)
}
