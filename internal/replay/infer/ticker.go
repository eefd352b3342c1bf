package infer

import (
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// timetables finds the waits for timers that end at even intervals, independently of the work in
// between: of all goroutines that wait at a site, as for a ticker that they share, or else of each
// for itself.
func timetables(p *model.Program) {
	type waits struct {
		at     []model.Place
		others int // that something else than a timer ended
	}
	sites := map[int32]*waits{}
	of := func(site int32) *waits {
		w := sites[site]
		if w == nil {
			w = &waits{}
			sites[site] = w
		}
		return w
	}
	var order []int32
	for l := range p.Lists {
		for k := range p.Lists[l].Ops {
			switch o := &p.Lists[l].Ops[k]; {
			case o.Site == 0:
			case o.Kind == model.OpOut && (o.Reason == trace.WaitTimer || o.Reason == trace.WaitReceive || o.Reason == trace.WaitSelect):
				if sites[o.Site] == nil {
					order = append(order, o.Site)
				}
				w := of(o.Site)
				w.at = append(w.at, model.Place{List: int32(l), Op: int32(k)})
			case o.Kind == model.OpWait || o.Kind == model.OpReceive || o.Kind == model.OpSend:
				of(o.Site).others++
			}
		}
	}
	for _, site := range order {
		w := sites[site]
		if 20*w.others > len(w.at) { // a choice, which is not the timer's alone
			continue
		}
		if p.Op(w.at[0]).Reason != trace.WaitTimer && tabulate(p, w.at) {
			continue
		}
		for len(w.at) > 0 {
			n := slices.IndexFunc(w.at, func(at model.Place) bool { return at.List != w.at[0].List })
			if n < 0 {
				n = len(w.at)
			}
			tabulate(p, w.at[:n])
			w.at = w.at[n:]
		}
	}
}

// tabulate makes a timetable of waits, if they have one.
func tabulate(p *model.Program, all []model.Place) bool {
	if len(all) < cond.LeastTimes {
		return false
	}
	times, lengths := make([]int64, len(all)), make([]float64, len(all))
	for i, at := range all {
		o := p.Op(at)
		times[i], lengths[i] = o.At-p.Rec.Start, float64(o.D)
	}
	slices.Sort(times)
	interval, ok := cond.Even(times, lengths)
	if !ok {
		return false
	}
	n := len(times)
	table := model.Timetable{Times: times, Span: times[n-1] - times[0] + max(1, int64(math.Round(interval)))}
	for _, at := range all {
		o := p.Op(at)
		o.Kind, o.Arg = model.OpDue, int32(len(p.Tables))
	}
	p.Tables = append(p.Tables, table)
	return true
}
