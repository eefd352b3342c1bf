package infer

import (
	"github.com/otelprof/otelprof/internal/replay/model"
)

// hold has no list begin anew while its goroutine has an element of a pool that it took before the
// window: there the recording does not show the span that is open. It would give back more than it
// takes each time.
func hold(p *model.Program) {
	type tally struct {
		out, most int32 // how many more elements it has given than taken, by now and at most
		at        int   // the op by which it had given most
	}
	type holder struct{ list, until int }
	holders, none := map[int32][]holder{}, map[int32]bool{} // by object, and the objects that are no pools
	for l := range p.Lists {
		p.Rec.Rests()
		all := map[int32]tally{}
		for k := range p.Lists[l].Ops {
			o := &p.Lists[l].Ops[k]
			if o.Kind != model.OpSend && o.Kind != model.OpReceive || none[o.Arg] {
				continue
			}
			t := all[o.Arg]
			if o.Kind == model.OpReceive {
				t.out--
			} else if t.out++; t.out > t.most {
				t.most, t.at = t.out, k
			}
			none[o.Arg] = o.Kind == model.OpSend && o.Site > 0 // it waits for room
			all[o.Arg] = t
		}
		for object, t := range all {
			switch {
			case t.out < -1 || t.out > 1:
				none[object] = true
			case t.most > 0:
				holders[object] = append(holders[object], holder{l, t.at})
			}
		}
	}
	until := map[int]int{} // by list
	for object, all := range holders {
		if none[object] {
			continue
		}
		for _, h := range all {
			until[h.list] = max(until[h.list], h.until)
		}
	}
	for l, last := range until {
		for k := range p.Lists[l].Ops[:last+1] {
			o := &p.Lists[l].Ops[k]
			o.Free, o.Loose = false, false
		}
	}
}
