package doubt

import (
	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A select statement with a timer, as select { case <-answer: case <-time.After(d): }, is a race. A
// faster program may have the other one win: an answer in time is not given up, and what is behind
// giving up is not done. Where operations are marked the replay runs the race anew, see choices.go
// in package model. A stock trace shows the winner alone, not for which channel the loser waited.
//
// So the time in such statements is added up. Only statements count that end now so, now so: one
// that a timer ends in a twentieth of the cases at most, or in all but these, is taken to go on as
// it did. TestUndecided in package replay has clients that ask again after a while, which are in
// doubt, and a server that collects until its timer ends, which is not: no progress point is its
// own.

// MaxUndecided is which part of the time goroutines may wait in select statements of their spans
// that a timer or another goroutine ends, whichever is first. Where that is more, the recording of
// a program that marks no operations does not show what would be done in the other case, and bounds
// alone are left. Pauses have the same limit.
const MaxUndecided = 0.1

// Undecided returns, by progress point, which part of the window the goroutines that visit it spent
// in select statements that now a timer ends, now another goroutine, at most 1. A server that waits
// for work or its ticker visits no point, or one of its own. It is the sum over goroutines: of
// eight that wait so for a twentieth of the window each it is 0.4.
func Undecided(p *model.Program) map[string]float64 {
	type ends struct {
		timer, goroutine int
		waited           int64
	}
	type choice struct{ point, site int32 }
	// Statements are distinguished by where they are in the program, for each progress point: which
	// way one ends is of all goroutines together.
	of := cond.UsedAt(p)
	all := map[choice]*ends{}
	for i := range p.Lists {
		l := &p.Lists[i]
		points := map[int32]bool{}
		for k := range l.Ops {
			if point := p.Visit(&l.Ops[k]); point >= 0 {
				points[point] = true
			}
		}
		for k := range l.Ops {
			o := &l.Ops[k]
			if o.Reason != trace.WaitSelect || o.Kind != model.OpWait && o.Kind != model.OpReceive && o.Kind != model.OpOut {
				continue
			}
			for point := range points {
				// A wait that nothing of the program ended was ended by a timer: the network has
				// no part in select statements.
				e := trace.Entry(all, choice{point, of[o.Site]})
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
