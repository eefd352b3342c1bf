package infer

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// setAside takes locks out of the lists that goroutines have for themselves, and locks that are
// held so seldom, and waited for so little, that which one had them when is an accident of the
// recording: they decide nothing, but what others decide anew could be held up by their order.
// Waits for them last as long as they did. Locks that are waited for at one place, such as one of
// each request, count together.
func setAside(b *model.Builder) {
	little := hidden.Incidental * float64(b.P.Rec.End-b.P.Rec.Start)
	of := cond.UsedAt(b.P)
	waited := map[int32]int64{}
	for i := range b.P.Objects {
		waited[of[b.P.Objects[i].Site]] += b.Levels[i].Busy.Waited
	}
	aside, own := make([]bool, len(b.P.Objects)), make([]bool, len(b.P.Objects))
	for i := range b.P.Objects {
		o, busy := &b.P.Objects[i], &b.Levels[i].Busy
		if busy.By > 0 {
			busy.Total += b.P.Rec.End - busy.Since
		}
		if o.Inferred || o.Kind != model.ObjectMutex && o.Kind != model.ObjectRWMutex || busy.Waited > 0 && float64(waited[of[o.Site]]) > little {
			continue
		}
		aside[i] = float64(busy.Total) <= little
		own[i] = !aside[i] && o.Kind == model.ObjectMutex && busy.Own(b.P.Rec.End-b.P.Rec.Start)
	}
	if slices.Contains(own, true) {
		for i, part := range substituted(b.P, own) {
			aside[i] = aside[i] || own[i] && part > model.LeastSubstituted
		}
	}
	for g := range b.P.Lists {
		l := &b.P.Lists[g]
		for k := range l.Ops {
			o := &l.Ops[k]
			if !o.IsLocking() || !aside[o.Arg] {
				continue
			}
			o.Kind, o.Arg = model.OpRun, 0
			if o.D > 0 {
				o.Kind, o.Reason = model.OpOut, trace.WaitMutex
				o.Set = 0 // nothing makes that shorter
			}
		}
		l.Merge()
	}
}
