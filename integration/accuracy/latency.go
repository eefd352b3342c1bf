package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/accuracy/workloads"
)

// metricsOf are what is asked about a program: throughput, and in mode replay, where it has
// requests, their latency.
func metricsOf(w workloads.Workload, mode profile.Mode) []profile.Metric {
	all := []profile.Metric{profile.MetricThroughput}
	if w.Request != "" && mode == profile.ModeReplay {
		all = append(all, profile.MetricLatencyP50, profile.MetricLatencyP90, profile.MetricLatencyP99)
	}
	return all
}

// progressOf is the progress point that a metric is of.
func progressOf(w workloads.Workload, m profile.Metric) string {
	if m == profile.MetricThroughput {
		return workloads.Done
	}
	return w.Request
}

// quantiles are those of the metrics of latency.
var quantiles = map[profile.Metric]float64{profile.MetricLatencyP50: 0.5, profile.MetricLatencyP90: 0.9, profile.MetricLatencyP99: 0.99}

// real returns what was measured when a region was faster, and of no region what two windows that
// are alike differ by, in percent.
func (l *lab) real(q question, m profile.Metric) span {
	if m == profile.MetricThroughput {
		if q.region == "" {
			return spanOf(calm(l.null))
		}
		return spanOf(calm(l.actual[q]))
	}
	return shrunk(l.requests[q], quantiles[m])
}

// shrunk returns by how many percent a quantile of latency is smaller in the faster windows, all of
// them together, with a 95 % interval by bootstrap over the pairs.
func shrunk(pairs []requests, quantile float64) span {
	if len(pairs) == 0 {
		return span{math.NaN(), math.NaN(), math.NaN()}
	}
	of := func(pick func(i int) requests) float64 {
		var before, faster []time.Duration
		for i := range pairs {
			r := pick(i)
			before, faster = append(before, r.before...), append(faster, r.faster...)
		}
		return 100 * (1 - quantileOf(faster, quantile)/quantileOf(before, quantile))
	}
	const resamples = 200
	rng, again := rand.New(rand.NewPCG(1, 2)), make([]float64, resamples)
	for i := range again {
		again[i] = of(func(int) requests { return pairs[rng.IntN(len(pairs))] })
	}
	slices.Sort(again)
	return span{of(func(i int) requests { return pairs[i] }), again[resamples/40], again[resamples-1-resamples/40]}
}

// quantileOf returns the value that a part q of all is not above, in ns; of nothing it is NaN.
func quantileOf(all []time.Duration, q float64) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(all))
	return float64(sorted[max(0, int(math.Ceil(q*float64(len(all))))-1)])
}
