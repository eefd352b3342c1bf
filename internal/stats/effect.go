package stats

import "math"

// Gain is what a reduction of the period means for throughput.
func Gain(reduction float64) float64 { return 1/(1-min(reduction, 0.99)) - 1 }

// Thinned returns at most [MostSamples] of the samples, evenly chosen, rounded so that they take
// little room.
func Thinned(samples []float64) []float64 {
	n := min(len(samples), MostSamples)
	if n == 0 {
		return nil
	}
	kept := make([]float64, n)
	for i := range kept {
		kept[i] = math.Round(samples[i*len(samples)/n]*1e6) / 1e6
	}
	return kept
}
