package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/internal/answers"
)

// A cell is one question, and what the real thing answered. All numbers but the speed-up are in
// percent.
type cell struct {
	program string
	mode    profile.Mode
	build   build
	limits  string // of the plan, "" where there is none
	of      int    // processes
	question
	predicted, lo, hi float64
	withheld          string // why there is no prediction
	actual            float64
	actualLo          float64 // the least and the most that any window gave
	actualHi          float64
}

// judge holds a profile against what was measured.
func judge(p program, b build, mode profile.Mode, prof profile.Profile, actual map[question][]float64, speedups []float64) (cells []cell) {
	for _, r := range p.regions {
		for _, s := range speedups {
			q := question{r, s}
			c := cell{program: p.name, mode: mode, build: b, of: p.processes(), question: q}
			e := answers.Effect(prof, answers.Question{Mode: mode, Region: r.span, Progress: p.progress, Metric: profile.MetricThroughput, Speedup: s})
			c.predicted, c.lo, c.hi, c.withheld = 100*e.Reduction, 100*e.Lo, 100*e.Hi, e.Withheld.String()
			c.actual, c.actualLo, c.actualHi = median(actual[q])
			cells = append(cells, c)
		}
	}
	return cells
}

func (c cell) error() float64 { return c.predicted - c.actual }

// holds reports whether the interval holds the actual value.
func (c cell) holds() bool { return c.lo <= c.actual && c.actual <= c.hi }

// line is how a cell is printed.
func (c cell) line() string {
	head := fmt.Sprintf("accuracy %s mode=%s build=%s ", c.program, c.mode, c.build)
	if c.limits != "" {
		head += "limits=" + c.limits + " "
	}
	head += fmt.Sprintf("processes=%d region=%s speedup=%.2f ", c.of, word(c.region.span), c.speedup)
	if c.withheld != "" {
		return head + fmt.Sprintf("withheld=%q actual=%.2f", c.withheld, c.actual)
	}
	return head + fmt.Sprintf("predicted=%.2f lo=%.2f hi=%.2f actual=%.2f error=%+.2f", c.predicted, c.lo, c.hi, c.actual, c.error())
}

// word puts what has spaces in quotes.
func word(s string) string {
	if strings.ContainsAny(s, " \"") {
		return strconv.Quote(s)
	}
	return s
}

// summary sums up the cells of a build, of which there is one at least.
func summary(program string, b build, cells []cell) string {
	var sum, worst float64
	withheld, held := 0, 0
	for _, c := range cells {
		if c.withheld != "" {
			withheld++
			continue
		}
		sum += math.Abs(c.error())
		worst = max(worst, math.Abs(c.error()))
		if c.holds() {
			held++
		}
	}
	head := fmt.Sprintf("accuracy SUMMARY %s mode=%s build=%s ", program, cells[0].mode, b)
	if limits := cells[0].limits; limits != "" {
		head += "limits=" + limits + " "
	}
	head += fmt.Sprintf("cells=%d withheld=%d", len(cells), withheld)
	answered := float64(len(cells) - withheld)
	if answered == 0 {
		return head
	}
	return head + fmt.Sprintf(" mean_abs_error=%.2f worst=%.2f coverage=%.2f", sum/answered, worst, float64(held)/answered)
}

// rank is which region is predicted to bring most at the largest speed-up, and which one does.
func rank(cells []cell) string {
	last := cells[len(cells)-1].speedup
	first, best := cells[0], cells[0]
	first.predicted, best.actual = math.Inf(-1), math.Inf(-1)
	for _, c := range cells {
		if c.speedup == last && c.withheld == "" && c.predicted > first.predicted {
			first = c
		}
		if c.speedup == last && c.actual > best.actual {
			best = c
		}
	}
	head := fmt.Sprintf("rank %s mode=%s build=%s limits=%s ", best.program, best.mode, best.build, best.limits)
	if math.IsInf(first.predicted, -1) {
		return head + fmt.Sprintf("withheld=all best=%s actual=%.2f holds=no", word(best.region.span), best.actual)
	}
	holds := "no"
	if best.actual-first.actual < tie {
		holds = "yes"
	}
	return head + fmt.Sprintf("first=%s actual=%.2f best=%s actual=%.2f holds=%s", word(first.region.span), first.actual, word(best.region.span), best.actual, holds)
}

// tie is by how many points regions that bring the same may differ.
const tie = 1

// median returns the value in the middle, or the mean of the two, the least and the most; of
// nothing NaN.
func median(values []float64) (middle, least, most float64) {
	n := len(values)
	if n == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2, sorted[0], sorted[n-1]
}
