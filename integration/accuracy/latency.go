package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/accuracy/workloads"
	"github.com/otelprof/otelprof/integration/internal/answers"
)

// metricsOf are what is asked about a program: throughput, and where it has requests, of
// recordings and slow-downs, their latency.
func metricsOf(w workloads.Workload, mode profile.Mode) []profile.Metric {
	all := []profile.Metric{profile.MetricThroughput}
	if w.Request != "" && slices.Contains([]profile.Mode{profile.ModeReplay, profile.ModeSlowdown, answers.ModeCombined}, mode) {
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

// ofMetric returns the cells that are about throughput, or the others.
func ofMetric(throughput bool, cells []cell) []cell {
	return slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return (c.Metric == "") != throughput })
}

// Targets of a whole run of modes slowdown and replay about quantiles of latency: errors in
// percentage points, parts in [0, 1].
const (
	mostLatencyError     = 2 // mean, of slow-downs without bounds alone
	worstLatencyError    = 6 // of replay
	leastLatencyCoverage = 0.93
)

// widestLatency is how wide, in percentage points, the interval of a true quantile may be to judge
// by: twice what an answer may be off. Of a 99th percentile the few requests beyond it decide.
const widestLatency = 2 * worstLatencyError

// A latencySummary is what the cells of a mode about quantiles of latency amount to. What is true
// of a quantile is less sure than of throughput, so that an interval holds what it and that of the
// actual value allow.
type latencySummary struct {
	mode       profile.Mode
	unsure     int     // cells left out, since the truth may be as far off as an answer may be
	due, given int     // cells whose effect is sure, and of these those with an answer
	all        summary // bounds alone included
	numbers    summary // all but those of slow-downs that are bounds alone
	width      float64
}

func summarizeLatency(mode profile.Mode, cells []cell) latencySummary {
	steady, _ := steady(ofMetric(false, ofMode(mode, cells)))
	cells = slices.DeleteFunc(slices.Clone(steady), func(c cell) bool { return c.Actual.Hi-c.Actual.Lo > widestLatency })
	s := latencySummary{mode: mode, unsure: len(steady) - len(cells), all: summarize(cells, mode), width: medianWidth(cells)}
	var numbers []cell
	for _, c := range cells {
		if c.Actual.Lo > surelyAnswered {
			s.due++
			if c.Withheld == "" {
				s.given++
			}
		}
		if c.Withheld == "" && (!c.Bounded || mode != profile.ModeSlowdown) {
			numbers = append(numbers, c)
		}
	}
	s.numbers = summarize(numbers, mode)
	return s
}

func (s latencySummary) print(out io.Writer) {
	if s.all.cells > 0 {
		fmt.Fprintf(out, "accuracy SUMMARY mode=%s metric=latency cells=%d given=%d/%d numbers=%d mean_abs_error=%.2f worst=%.2f coverage=%.2f median_width=%.2f unsure=%d\n",
			s.mode, s.all.cells, s.given, s.due, s.numbers.cells, s.numbers.meanAbsError, s.numbers.worst, s.all.agreement, s.width, s.unsure)
	}
}

// missed names the targets that are not met, of cells that there are.
func (s latencySummary) missed() (missed []string) {
	if s.all.cells == 0 {
		return nil
	}
	hold := holdTo(s.mode, &missed)
	if s.mode == profile.ModeReplay { // which answers where windows have requests enough
		hold("latency worst", s.numbers.worst, worstLatencyError, s.numbers.worst <= worstLatencyError)
	} else {
		hold("latency given", float64(s.given), float64(s.due), s.given == s.due)
	}
	hold("latency mean_abs_error", s.numbers.meanAbsError, mostLatencyError, s.numbers.meanAbsError <= mostLatencyError)
	hold("latency coverage", s.all.agreement, leastLatencyCoverage, s.all.agreement >= leastLatencyCoverage)
	return missed
}
