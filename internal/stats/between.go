package stats

import "math"

// A Run is what one of several runs found out of the same quantity.
type Run struct {
	Mean, StdErr float64
	Samples      int
}

// Between returns the standard error of the mean of the samples of several runs where these differ
// by more than their own standard errors explain, by a model of random effects (DerSimonian and
// Laird, Meta-analysis in clinical trials, 1986), and how far its interval reaches to either side.
// Both are 0 where runs do not differ so, or are fewer than two.
//
// Few runs say little of how much runs differ, however many samples they have. So the interval is
// Student's with degrees of freedom by Satterthwaite, An approximate distribution of estimates of
// variance components, 1946: one less than there are runs where most of the variance is between
// these, and those of the samples within runs where next to nothing is.
func Between(runs []Run) (stdErr, reach float64) {
	weight := func(r Run) float64 { return 1 / max(r.StdErr*r.StdErr, tiny) }
	var sum, mean, samples float64
	for _, r := range runs {
		sum, mean, samples = sum+weight(r), mean+weight(r)*r.Mean, samples+float64(r.Samples)
	}
	if len(runs) < 2 || samples <= 0 {
		return 0, 0
	}
	mean /= sum
	freedom := float64(len(runs) - 1)
	beyond, weights := -freedom, 0.0 // of Cochran's Q, what chance makes
	for _, r := range runs {
		w := weight(r)
		beyond += w * (r.Mean - mean) * (r.Mean - mean)
		weights += w * (sum - w) / sum
	}
	if beyond <= 0 {
		return 0, 0
	}
	var between, within, uncertain float64 // parts of the variance, and how unsure that is
	for _, r := range runs {
		part := float64(r.Samples) / samples
		own := part * part * r.StdErr * r.StdErr
		between += part * part * beyond / weights
		within += own
		uncertain += own * own / float64(max(1, r.Samples-1))
	}
	uncertain += between * between / freedom
	variance := between + within
	stdErr = math.Sqrt(variance)
	return stdErr, student(variance*variance/uncertain) * stdErr
}
