package infer

import (
	"github.com/otelprof/otelprof/internal/replay/model"
)

// A pool by a channel, of connections or of permits, is taken from by receiving and given back to
// by sending. A goroutine that had an element when the window began gives it back in the window,
// and its history has one send more than receives. A list that began anew with that send would put
// in one element more each time round, and the pool would grow without end:
//
//	recorded          [window] give . take . give . take . give ...   one more given than taken
//	begun anew at 0   give . take . give | give . take . give | ...  one more for each round
//	begun anew at 1   take . give | take . give | ...                as many as there are
//
// The mark of a span would forbid to begin anew there, but the span was opened before the window,
// and is not in it. The balance of sends and receives shows the same.

// hold has no list begin anew while its goroutine has an element of a pool that it took before the
// window: there the recording does not show the span that is open. It would give back more than it
// takes each time.
//
// A channel is a pool if all goroutines give and take alike, up to one element, and none ever
// waited for room: producers and consumers of a queue are apart by as many elements as they handle.
// A semaphore that is entered by sending begins with a send, too; then the list may not begin anew
// before its first one, which costs nothing. Free and Loose of ops are changed in place, before
// lists know where they begin anew.
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
		// Over the whole window a goroutine's balance is -1, 0 or 1: what it had at first, and what
		// it has at the end.
		for object, t := range all {
			switch {
			case t.out < -1 || t.out > 1:
				none[object] = true
			case t.most > 0:
				holders[object] = append(holders[object], holder{l, t.at})
			}
		}
	}
	// A goroutine with elements of several pools waits for the last of them to be given back.
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
