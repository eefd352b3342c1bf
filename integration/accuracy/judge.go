package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/otelprof/otelprof/causal"
)

// judge holds the predictions of a mode against what was measured.
func (l *lab) judge(mode causal.Mode, profile causal.Profile) {
	withheld, asked := 0, 0
	for _, metric := range l.metrics(mode) {
		for _, region := range l.regions {
			for _, s := range l.speedups {
				c := l.cell(mode, metric, question{region, s}, profile)
				l.result.Cells = append(l.result.Cells, c)
				asked++
				if c.Withheld != "" {
					withheld++
				}
			}
		}
	}
	if l.withholds {
		l.result.Controls = append(l.result.Controls, fmt.Sprintf("accuracy CONTROL name=withholds workload=%s mode=%s withheld=%d of=%d holds=%s", l.name, mode, withheld, asked, yes(withheld == asked)))
	}
	if l.control != "" {
		s := l.speedups[len(l.speedups)-1]
		e := l.effect(profile, mode, causal.MetricThroughput, question{l.control, s})
		head := fmt.Sprintf("accuracy CONTROL name=%s workload=%s mode=%s region=%s speedup=%.2f ", l.kind, l.name, mode, l.control, s)
		if e.Withheld != "" {
			l.result.Controls = append(l.result.Controls, head+fmt.Sprintf("withheld=%q", e.Withheld))
		} else {
			l.result.Controls = append(l.result.Controls, head+nullLine("predicted", span{100 * e.Reduction, 100 * e.Lo, 100 * e.Hi}))
		}
	}
	if l.withholds {
		return
	}
	for _, note := range profile.Notes {
		if !slices.Contains(expected, note) {
			l.comment("%s: %s", mode, note)
		}
	}
}

// expected are the notes of profiles that are made here.
var expected = []string{"no plan has run yet", "merged from 2 profiles", causal.NoteRuntime}

// aa is the control of the measurement itself: two arms that are alike.
func (l *lab) aa() {
	l.result.Controls = append(l.result.Controls, fmt.Sprintf("accuracy CONTROL name=a/a workload=%s ", l.name)+nullLine("actual", spanOf(l.null)))
}

// null is what an effect that is none may seem to be, in percentage points.
const null = 1

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
func (l *lab) cell(mode causal.Mode, metric causal.Metric, q question, profile causal.Profile) cell {
	c := cell{Workload: l.name, Mode: mode, Region: q.region, Speedup: q.speedup, Unclaimed: l.withholds, Actual: l.real(q, metric)}
	if metric != causal.MetricThroughput {
		c.Metric = metric
	}
	if mode == causal.ModeReplay {
		c.Program, c.Class = l.made(), l.class
	}
	e := l.effect(profile, mode, metric, q)
	c.Predicted, c.Lo, c.Hi, c.Withheld = 100*e.Reduction, 100*e.Lo, 100*e.Hi, e.Withheld
	return c
}

// effect finds the answer to a question in a profile. If there is none, that is why it is withheld.
func (l *lab) effect(p causal.Profile, mode causal.Mode, metric causal.Metric, q question) causal.Effect {
	for _, c := range p.Curves {
		if c.Mode != planned(mode) || c.Region.Span != q.region || c.Progress != l.progressOf(metric) || c.Metric != metric {
			continue
		}
		if i := slices.IndexFunc(c.Effects, func(e causal.Effect) bool { return math.Abs(e.Speedup-q.speedup) < 1e-9 }); i >= 0 {
			return c.Effects[i]
		}
	}
	return causal.Effect{Speedup: q.speedup, Withheld: "the profile has no such curve"}
}

func (l *lab) comment(format string, args ...any) {
	l.result.Comments = append(l.result.Comments, fmt.Sprintf(format, args...))
}
