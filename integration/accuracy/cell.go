package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/accuracy/workloads"
)

// A cell is one question, and what the real thing answered. All numbers but the speed-up are in
// percent.
type cell struct {
	Workload string
	Mode     profile.Mode
	Region   string
	Metric   profile.Metric // "" for throughput
	Speedup  float64        // below 1; below 0 for slower
	Question string         // about how the program is built, in place of a region: "capacity to=8"

	Program string // how the program was made, for mode replay: "build=go types=plain"
	Class   workloads.Class

	Predicted, Lo, Hi float64
	Bounded           bool   // Lo and Hi are the prediction
	Withheld          string // why there is none
	Actual            span
	Unclaimed         bool // the mode does not claim to be right
	Unsteady          bool // two arms that are alike differ by much: what is true is not known
	// Told is after how many seconds for each region the plan's region was distinguished from one
	// without effect, 0 for never; of mode slowdown.
	Told float64
}

// A span is a measured value with its 95 % interval.
type span struct{ Value, Lo, Hi float64 }

func (c cell) error() float64 { return c.Predicted - c.Actual.Value }

// agrees reports whether the error is one that two independent measurements with these intervals
// may have.
func (c cell) agrees() bool {
	predicted, actual := c.Predicted-c.Lo, c.Actual.Hi-c.Actual.Value
	if c.error() < 0 {
		predicted, actual = c.Hi-c.Predicted, c.Actual.Value-c.Actual.Lo
	}
	return math.Abs(c.error()) <= math.Hypot(predicted, actual)
}

// line is how a cell is printed.
func (c cell) line() string {
	head := fmt.Sprintf("accuracy %s mode=%s ", c.Workload, c.Mode)
	if c.Program != "" {
		head += c.Program + " "
	}
	if c.Question == "" {
		head += fmt.Sprintf("region=%s ", c.Region)
	}
	if c.Metric != "" {
		head += fmt.Sprintf("metric=%s ", c.Metric)
	}
	if c.Question == "" {
		head += fmt.Sprintf("speedup=%.2f ", c.Speedup)
	} else {
		head += fmt.Sprintf("question=%s ", c.Question)
	}
	if c.Withheld != "" {
		return head + fmt.Sprintf("withheld=%q", c.Withheld)
	}
	tail := fmt.Sprintf("predicted=%.2f lo=%.2f hi=%.2f actual=%.2f error=%+.2f actual_lo=%.2f actual_hi=%.2f", c.Predicted, c.Lo, c.Hi, c.Actual.Value, c.error(), c.Actual.Lo, c.Actual.Hi)
	if c.Bounded {
		tail += " bounded"
	}
	if c.Unsteady {
		tail += " unsteady"
	}
	return head + tail
}

// A summary is what the cells of a mode amount to.
type summary struct {
	cells, withheld     int
	meanAbsError, worst float64 // percentage points
	coverage            float64 // in [0, 1]
	// agreement is the part of the answers that differ from the actual value by no more than
	// both intervals allow, in [0, 1].
	agreement float64
}

// summarize sums up the cells of a mode that count. Without a number, all but the counts are NaN.
func summarize(cells []cell, mode profile.Mode) summary {
	var s summary
	covered, agreed := 0, 0
	for _, c := range cells {
		if c.Mode != mode || c.Unclaimed {
			continue
		}
		s.cells++
		if c.Withheld != "" {
			s.withheld++
			continue
		}
		e := math.Abs(c.error())
		s.meanAbsError += e
		s.worst = max(s.worst, e)
		if c.Lo <= c.Actual.Value && c.Actual.Value <= c.Hi {
			covered++
		}
		if c.agrees() {
			agreed++
		}
	}
	answered := float64(s.cells - s.withheld)
	s.meanAbsError /= answered
	s.coverage, s.agreement = float64(covered)/answered, float64(agreed)/answered
	if answered == 0 {
		s.worst = math.NaN()
	}
	return s
}

// line is how a summary is printed; what names the mode, and the class if it is one's.
func (s summary) line(what string) string {
	return fmt.Sprintf("accuracy SUMMARY %s cells=%d mean_abs_error=%.2f worst=%.2f coverage=%.2f withheld=%d", what, s.cells, s.meanAbsError, s.worst, s.coverage, s.withheld)
}

// median returns the value in the middle, or the mean of the two; of nothing it is NaN.
func median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// spanOf returns the median with an interval of 95 %: for up to 8 values that is all of them, which
// is less of fewer than 6, 88 % of 4; beyond it leaves out as many on each side as order statistics
// allow.
func spanOf(values []float64) span {
	n := len(values)
	if n == 0 {
		return span{math.NaN(), math.NaN(), math.NaN()}
	}
	sorted := slices.Sorted(slices.Values(values))
	// The number of values below the median is binomial with n and 1/2.
	tail, chance, out := 0.0, math.Pow(0.5, float64(n)), 0
	for tail+chance <= 0.025 && out < n/2 {
		tail += chance
		chance *= float64(n-out) / float64(out+1)
		out++
	}
	out = max(0, out-1)
	return span{median(sorted), sorted[out], sorted[n-1-out]}
}
