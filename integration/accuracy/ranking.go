package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/accuracy/workloads"
)

// classes are all of them, in the order of the summary.
var classes = []workloads.Class{workloads.Outside, workloads.Contended, workloads.Computing, workloads.Crowded}

// sumUpReplay prints what replay's cells amount to: those of throughput together and by class, and
// those of latency.
func sumUpReplay(out io.Writer, all []cell) {
	if len(all) == 0 {
		return
	}
	cells := ofMetric(true, all)
	program := all[0].Program
	fmt.Fprintln(out, replayLine(cells, program))
	for _, class := range classes {
		of := ofClass(class, cells)
		if len(of) == 0 { // left out by -only
			continue
		}
		fmt.Fprintln(out, replayLine(of, fmt.Sprintf("%s class=%s", program, class)))
	}
	summarizeLatency(profile.ModeReplay, all).print(out)
	fmt.Fprintf(out, "# %s: coverage is %.2f if the interval of the actual value is allowed for\n", profile.ModeReplay, summarize(cells, profile.ModeReplay).agreement)
}

// ofMode returns the cells of a mode.
func ofMode(mode profile.Mode, cells []cell) []cell {
	return slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return c.Mode != mode })
}

// ofClass returns the cells of the programs of a class.
func ofClass(of workloads.Class, cells []cell) []cell {
	return slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return c.Class != of })
}

// replayLine sums cells up, with how wide intervals are, and in how many of the programs the region
// to make faster is named first.
func replayLine(cells []cell, program string) string {
	s := summarize(cells, profile.ModeReplay)
	first, of := ranked(cells)
	return fmt.Sprintf("accuracy SUMMARY mode=%s %s cells=%d mean_abs_error=%.2f worst=%.2f coverage=%.2f median_width=%.2f withheld=%d first_ranked=%d/%d",
		profile.ModeReplay, program, s.cells, s.meanAbsError, s.worst, s.coverage, medianWidth(cells), s.withheld, first, of)
}

// medianWidth is the median width of the intervals, in percentage points, NaN if there are none.
func medianWidth(cells []cell) float64 {
	var widths []float64
	for _, c := range cells {
		if c.Withheld == "" {
			widths = append(widths, c.Hi-c.Lo)
		}
	}
	return median(widths)
}

// A strength is what making a region faster brings to throughput, or making it slower costs, by the
// mean of its speed-ups, in percentage points; may is by how much the actual one may be off, either
// way. What has not all its predictions is predicted to bring less than anything.
type strength struct{ predicted, actual, may float64 }

// strengths are those of the regions of each program.
func strengths(cells []cell) map[string]map[string]strength {
	type place struct{ program, region string }
	asked := map[place][]cell{}
	for _, c := range cells {
		if c.Metric == "" {
			at := place{c.Workload, c.Region}
			asked[at] = append(asked[at], c)
		}
	}
	all := map[string]map[string]strength{}
	for at, cells := range asked {
		var s strength
		for _, c := range cells {
			if c.Speedup < 0 {
				c.Predicted, c.Actual = -c.Predicted, span{-c.Actual.Value, -c.Actual.Hi, -c.Actual.Lo}
			}
			if c.Withheld != "" {
				c.Predicted = math.Inf(-1)
			}
			s.predicted += c.Predicted / float64(len(cells))
			s.actual += c.Actual.Value / float64(len(cells))
			s.may = max(s.may, (c.Actual.Hi-c.Actual.Lo)/2)
		}
		if all[at.program] == nil {
			all[at.program] = map[string]strength{}
		}
		all[at.program][at.region] = s
	}
	return all
}

// ranked returns the number of programs in which the region predicted to bring most does, and of
// how many: all that have a region that surely brings less than the best.
func ranked(cells []cell) (first, of int) {
	for _, regions := range strengths(cells) {
		switch ok, decided := namesBest(regions); {
		case decided && ok:
			first++
			of++
		case decided:
			of++
		}
	}
	return first, of
}

// namesBest reports whether the region predicted to bring most does, or may by what measurements of
// both may be off, or within null; and whether any region surely does not. Of regions predicted to
// bring the same, the one that brings less counts.
func namesBest(regions map[string]strength) (ok, decided bool) {
	best := strength{predicted: math.Inf(-1), actual: math.Inf(-1)}
	named := best
	for _, s := range regions {
		if s.actual > best.actual {
			best = s
		}
		if s.predicted > named.predicted || s.predicted == named.predicted && s.actual < named.actual {
			named = s
		}
	}
	less := func(s strength) bool {
		apart := best.actual - s.actual
		return apart >= null && apart > math.Hypot(best.may, s.may)
	}
	for _, s := range regions {
		decided = decided || less(s)
	}
	return !less(named), decided
}
