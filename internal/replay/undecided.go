package replay

// maxUndecided is which part of the time goroutines may wait in select statements of their spans that a timer or another goroutine
// ends, whichever is first. Where that is more, the recording of a program that marks no operations does not show what would be done
// in the other case.
const maxUndecided = 0.1

// undecided returns, by progress point, which part of the window the goroutines that visit it spent in select statements that now a
// timer ends, now another goroutine, at most 1. A server that waits for work or its ticker visits no point, or one of its own.
func (p *program) undecided() map[string]float64 {
	type ends struct {
		timer, goroutine int
		waited           int64
	}
	type choice struct{ point, site int32 }
	of := p.usedAt()
	all := map[choice]*ends{}
	for i := range p.lists {
		l := &p.lists[i]
		points := map[int32]bool{}
		for k := range l.ops {
			switch o := &l.ops[k]; {
			case o.kind == opVisit:
				points[o.arg] = true
			case o.kind == opClose && p.pointOf[o.arg] >= 0:
				points[p.pointOf[o.arg]] = true
			}
		}
		for k := range l.ops {
			o := &l.ops[k]
			if o.reason != waitSelect || o.kind != opWait && o.kind != opReceive && o.kind != opOut {
				continue
			}
			for point := range points {
				at := choice{point, of[o.site]}
				if all[at] == nil {
					all[at] = &ends{}
				}
				e := all[at]
				if e.waited += o.d; o.kind == opOut {
					e.timer++
				} else {
					e.goroutine++
				}
			}
		}
	}
	parts := map[string]float64{}
	d := float64(max(1, p.rec.End-p.rec.Start))
	for at, e := range all {
		if float64(max(e.timer, e.goroutine)) < fairness*float64(e.timer+e.goroutine) {
			name := p.points[at.point].name
			parts[name] = min(1, parts[name]+float64(e.waited)/d)
		}
	}
	return parts
}
