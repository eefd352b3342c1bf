package causal

import (
	"fmt"
	"math"
)

// maxReductions is the number of samples that an Effect keeps.
const maxReductions = 300

// modelError is what no number of samples takes away: what the models leave out, such as wake-ups that
// are sooner or later in the faster program, and what observing costs. make accuracy finds it.
const modelError = 0.01

// effectOf turns samples, reductions in the order of time, into one number, or says why there
// is none. Doubts are warnings about it. It takes about 0.5 ms for 300 samples.
func effectOf(speedup float64, samples []float64, doubts []string) Effect {
	e := Effect{Speedup: speedup, Samples: len(samples), Reductions: thinned(samples)}
	if len(samples) < leastSamples {
		e.Withheld = fmt.Sprintf("%s measured, %d are needed", countOf(len(samples), "iteration"), leastSamples)
		return e
	}
	s := summarize(samples)
	e.Reduction, e.StdErr, e.Lo, e.Hi = s.median, s.stdErr, s.lo-modelError, s.hi+modelError
	e.ThroughputGain = gain(s.median)
	e.Outliers = s.outliers
	e.Warnings = append(s.warnings, doubts...)
	return e
}

// withhold returns the effect without its numbers, or as it is if there is no reason to. The
// samples go as well: merged with others, they would spoil them.
func (e Effect) withhold(reason string) Effect {
	if reason == "" {
		return e
	}
	return Effect{Speedup: e.Speedup, Samples: e.Samples, Withheld: reason}
}

// thinned returns at most maxReductions of the samples, evenly chosen, rounded so that they
// take little room.
func thinned(samples []float64) []float64 {
	n := min(len(samples), maxReductions)
	if n == 0 {
		return nil
	}
	kept := make([]float64, n)
	for i := range kept {
		kept[i] = math.Round(samples[i*len(samples)/n]*1e6) / 1e6
	}
	return kept
}

// gain is what a reduction of the period means for throughput.
func gain(reduction float64) float64 { return 1/(1-min(reduction, 0.99)) - 1 }
