package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/internal/answers"
)

// A control is a question whose answer is known, and how it was answered.
type control struct {
	Line   string
	Misses bool // a mode claims an effect that is none, or answers what it must withhold
}

// judge holds the predictions of a mode against what was measured.
func (l *lab) judge(mode profile.Mode, p profile.Profile) {
	withheld, asked := 0, 0
	for _, metric := range metricsOf(l.Workload, mode) {
		for _, region := range l.Regions {
			for _, s := range l.speedups {
				c := l.cell(mode, metric, question{region, s}, p)
				l.result.Cells = append(l.result.Cells, c)
				asked++
				if c.Withheld != "" {
					withheld++
				}
			}
		}
	}
	if l.unclaimed(mode) {
		line := fmt.Sprintf("accuracy CONTROL name=withholds workload=%s mode=%s withheld=%d of=%d holds=%s", l.Name, mode, withheld, asked, yes(withheld == asked))
		l.result.Controls = append(l.result.Controls, control{line, withheld != asked})
	}
	if l.Control != "" {
		s := l.speedups[len(l.speedups)-1]
		e := l.effect(p, mode, profile.MetricThroughput, question{l.Control, s})
		head := fmt.Sprintf("accuracy CONTROL name=%s workload=%s mode=%s region=%s speedup=%.2f ", l.Kind, l.Name, mode, l.Control, s)
		if !e.Known() {
			l.result.Controls = append(l.result.Controls, control{Line: head + fmt.Sprintf("withheld=%q", e.Withheld)})
		} else {
			s := span{100 * e.Reduction, 100 * e.Lo, 100 * e.Hi}
			bounded := e.Bounded && s.Lo <= 0 && s.Hi >= 0
			l.result.Controls = append(l.result.Controls, control{head + nullLine("predicted", s), math.Abs(s.Value) > null && !bounded})
		}
	}
	if l.unclaimed(mode) {
		return
	}
	for _, note := range p.Notes {
		l.comment("%s: %s", mode, note)
	}
}

// aa is the control of the measurement itself: two arms that are alike.
func (l *lab) aa() {
	l.result.Controls = append(l.result.Controls, control{Line: fmt.Sprintf("accuracy CONTROL name=a/a workload=%s ", l.Name) + nullLine("actual", spanOf(calm(l.null)))})
}

// null is what an effect that is none may seem to be, in percentage points.
const null = 1

// vague is by how much, in percentage points, two arms that are alike differ where nothing can be
// judged.
const vague = 5

// unsteady leaves out the outermost of four alike pairs or more: what is true is a median, which
// bears one, too.
func (l *lab) unsteady() bool {
	alike := calm(l.null)
	middle := spanOf(alike).Value
	slices.SortFunc(alike, func(a, b float64) int { return cmp.Compare(math.Abs(a-middle), math.Abs(b-middle)) })
	if len(alike) >= 4 {
		alike = alike[:len(alike)-1]
	}
	s := spanOf(alike)
	return s.Lo < -vague || s.Hi > vague
}

func nullLine(what string, s span) string {
	return fmt.Sprintf("%s=%.2f lo=%.2f hi=%.2f holds=%s", what, s.Value, s.Lo, s.Hi, yes(math.Abs(s.Value) <= null))
}

func yes(ok bool) string {
	if ok {
		return "yes"
	}
	return "no"
}

// cell is the answer to a question, with what is true.
func (l *lab) cell(mode profile.Mode, metric profile.Metric, q question, p profile.Profile) cell {
	c := cell{Workload: l.Name, Mode: mode, Region: q.region, Speedup: q.speedup, Class: l.Class, Unclaimed: l.unclaimed(mode), Unsteady: l.unsteady(), Actual: l.real(q, metric)}
	if metric != profile.MetricThroughput {
		c.Metric = metric
	}
	switch mode {
	case profile.ModeReplay:
		c.Program = l.made()
	case profile.ModeSlowdown:
		c.Told = l.told[q.region].Seconds() / float64(l.asked())
	}
	e := l.effect(p, mode, metric, q)
	c.Predicted, c.Lo, c.Hi, c.Bounded, c.Withheld = 100*e.Reduction, 100*e.Lo, 100*e.Hi, e.Bounded, e.Withheld.String()
	return c
}

// effect finds the answer to a question in a profile.
func (l *lab) effect(p profile.Profile, mode profile.Mode, metric profile.Metric, q question) profile.Effect {
	if q.speedup < 0 {
		return answers.Change(p, q.asked().String(), progressOf(l.Workload, metric), metric)
	}
	return answers.Effect(p, answers.Question{Mode: planned(mode), Region: q.region, Progress: progressOf(l.Workload, metric), Metric: metric, Speedup: q.speedup})
}

func (l *lab) comment(format string, args ...any) {
	l.result.Comments = append(l.result.Comments, fmt.Sprintf(format, args...))
}
