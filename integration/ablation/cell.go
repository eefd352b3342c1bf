package main

import (
	"fmt"
	"math"
	"slices"
)

// A cell is an answer beside what is true.
type cell struct {
	program string
	truth
	given               bool
	predicted, from, to float64 // in percent
}

// beyond is by how much an interval misses the truth, in points.
func (c cell) beyond() float64 { return max(c.from-c.points, c.points-c.to, 0) }

func (c cell) String() string {
	s := fmt.Sprintf("missed %s %s speedup=%.2f actual=%.2f actual_lo=%.2f actual_hi=%.2f", c.program, c.region, c.speedup, c.points, c.lo, c.hi)
	if !c.given {
		return s + " withheld"
	}
	return s + fmt.Sprintf(" predicted=%.2f lo=%.2f hi=%.2f", c.predicted, c.from, c.to)
}

// A summary is what answers amount to.
type summary struct {
	coverage, meanAbsError, medianWidth float64
	sureWrong, withheld                 int
}

// mostBeyond is by how much an interval may miss the truth, in points.
const mostBeyond = 3

func summarize(all []cell) (s summary) {
	var widths []float64
	for _, c := range all {
		if !c.given {
			s.withheld++
			continue
		}
		widths = append(widths, c.to-c.from)
		s.meanAbsError += math.Abs(c.predicted - c.points)
		if c.beyond() == 0 {
			s.coverage++
		}
		if c.beyond() > mostBeyond {
			s.sureWrong++
		}
	}
	n := float64(max(1, len(widths)))
	s.coverage, s.meanAbsError = s.coverage/n, s.meanAbsError/n
	if slices.Sort(widths); len(widths) > 0 {
		s.medianWidth = widths[len(widths)/2]
	}
	return s
}

func (s summary) String() string {
	return fmt.Sprintf("coverage=%.3f mean_abs_error=%.2f median_width=%.2f sure_and_wrong=%d withheld=%d", s.coverage, s.meanAbsError, s.medianWidth, s.sureWrong, s.withheld)
}

// A change is what differs between two summaries.
type change summary

func (s summary) since(base summary) change {
	return change{s.coverage - base.coverage, s.meanAbsError - base.meanAbsError, s.medianWidth - base.medianWidth, s.sureWrong - base.sureWrong, s.withheld - base.withheld}
}

func (c change) String() string {
	return fmt.Sprintf("coverage=%+.3f mean_abs_error=%+.2f median_width=%+.2f sure_and_wrong=%+d withheld=%+d", c.coverage, c.meanAbsError, c.medianWidth, c.sureWrong, c.withheld)
}

// differ counts answers that are half a point apart or more, at any of their ends, and returns
// their programs.
func differ(all, without []cell) (n int, programs []string) {
	const half = 0.5
	for i, a := range all {
		b := without[i]
		if a.given != b.given || math.Abs(a.predicted-b.predicted) >= half || math.Abs(a.from-b.from) >= half || math.Abs(a.to-b.to) >= half {
			n++
			programs = append(programs, a.program)
		}
	}
	return n, slices.Compact(programs)
}
