package infer

import (
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A channel may be made for one request, and keep elements that nothing receives: the answers of
// replicas that come once a quorum has been reached. Where a list begins anew in the replay, so do
// the channels of its requests: what is left in them is of requests before.

// findLeft finds the channels that keep elements. Only a goroutine that begins anew, and its child
// goroutines, use them, and each has room for all that is sent to it: one that lasts has had more
// elements than that.
func findLeft(p *model.Program) {
	type uses struct {
		sends, receives int32
		by              int32 // the list that begins anew, none if there are several
	}
	all := make([]uses, len(p.Objects))
	for l := range p.Lists {
		p.Rec.RestsAt(l)
		for k := range p.Lists[l].Ops {
			o := &p.Lists[l].Ops[k]
			if o.Kind != model.OpSend && o.Kind != model.OpReceive {
				continue
			}
			x := &all[o.Arg]
			by := repeats(p, model.Place{List: int32(l), Op: int32(k)})
			if x.sends+x.receives > 0 && by != x.by {
				by = trace.None
			}
			x.by = by
			if o.Kind == model.OpSend {
				x.sends++
			} else {
				x.receives++
			}
		}
	}
	for i := range all {
		x, o := &all[i], &p.Objects[i]
		if x.by != trace.None && x.sends > x.receives && x.sends <= o.Capacity && o.Count == 0 && !o.Inferred && !p.Cases[int32(i)] {
			p.Lists[x.by].Leaves = append(p.Lists[x.by].Leaves, int32(i))
		}
	}
}

// repeats returns the list that does an op again when it begins anew: its own, or the one that
// starts its goroutine; none for one that is not done again.
func repeats(p *model.Program, at model.Place) int32 {
	for {
		l := &p.Lists[at.List]
		switch {
		case l.Serves >= 0:
			return trace.None
		case l.To > 0 && at.Op >= l.From && at.Op < l.To:
			return at.List
		case l.To > 0 || !l.Born || l.Spawned.List < 0:
			return trace.None
		}
		at = l.Spawned
	}
}
