package doubt

import (
	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// MaxUndecided is which part of the time goroutines may wait in select statements of their spans
// that a timer or another goroutine ends, whichever is first. Where that is more, the recording of
// a program that marks no operations does not show what would be done in the other case.
const MaxUndecided = 0.1

// Undecided returns, by progress point, which part of the window the goroutines that visit it spent
// in select statements that now a timer ends, now another goroutine, at most 1. A server that waits
// for work or its ticker visits no point, or one of its own.
func Undecided(p *model.Program) map[string]float64 {
	type ends struct {
		timer, goroutine int
		waited           int64
	}
	type choice struct{ point, site int32 }
	of := cond.UsedAt(p)
	all := map[choice]*ends{}
	for i := range p.Lists {
		l := &p.Lists[i]
		points := map[int32]bool{}
		for k := range l.Ops {
			switch o := &l.Ops[k]; {
			case o.Kind == model.OpVisit:
				points[o.Arg] = true
			case o.Kind == model.OpClose && p.PointOf[o.Arg] >= 0:
				points[p.PointOf[o.Arg]] = true
			}
		}
		for k := range l.Ops {
			o := &l.Ops[k]
			if o.Reason != trace.WaitSelect || o.Kind != model.OpWait && o.Kind != model.OpReceive && o.Kind != model.OpOut {
				continue
			}
			for point := range points {
				at := choice{point, of[o.Site]}
				if all[at] == nil {
					all[at] = &ends{}
				}
				e := all[at]
				if e.waited += o.D; o.Kind == model.OpOut {
					e.timer++
				} else {
					e.goroutine++
				}
			}
		}
	}
	parts := map[string]float64{}
	d := float64(max(1, p.Rec.End-p.Rec.Start))
	for at, e := range all {
		if float64(max(e.timer, e.goroutine)) < hidden.Fairness*float64(e.timer+e.goroutine) {
			name := p.Points[at.point].Name
			parts[name] = min(1, parts[name]+float64(e.waited)/d)
		}
	}
	return parts
}
