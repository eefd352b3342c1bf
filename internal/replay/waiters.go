package replay

import (
	"slices"

	"github.com/otelprof/otelprof/internal/mark"
)

// A pool may have a list of waiting goroutines, each with a channel of its own, as that of database/sql has: what a goroutine gives
// back, it sends to one of them, and to none if none waits. Operations on these channels show who waited, not for what. So they count as
// a trace of stock Go: what all of them wait for is inferred from when they waited and when they did not.

// ofWaiters returns, of the goroutines that wait in a part, the operations on channels that are each for one wait, as events; false if some
// wait for another channel.
func (t *traces) ofWaiters(p part, uses []int32) (operations []int32, ok bool) {
	for _, i := range p.meetings {
		wait, wake := &t.actions[t.meetings[i].wait], &t.actions[t.meetings[i].wake]
		sent := t.operationBefore(wake.g, wake.from)
		if sent < 0 || t.rec.events[sent].what != mark.Send {
			return nil, false
		}
		channel := t.rec.events[sent].ref
		if uses[channel] > 2 {
			return nil, false
		}
		operations = append(operations, sent)
		for k := t.operationBefore(wait.g, wait.from); k >= 0 && isCase(t.rec.events[k].what); k = t.operationBefore(wait.g, k) {
			operations = append(operations, k)
		}
		if wait.to < 0 {
			continue
		}
		if k := t.operationBehind(wait.g, wait.to); k >= 0 && t.rec.events[k].ref == channel {
			operations = append(operations, k)
		}
	}
	return operations, true
}

// isCase reports whether an operation is the beginning of a receive, or of a case of a select statement that waits.
func isCase(what mark.Op) bool {
	return what == mark.Select.Beginning() || what == mark.Receive.Beginning()
}

// nearby is how many events away the operation is looked for that a wait, or its end, is of.
const nearby = 64

// operationBefore returns the event of a goroutine that is the last one before another event, -1 if that is no operation.
func (t *traces) operationBefore(g, event int32) int32 {
	for k := event - 1; k >= max(0, event-nearby); k-- {
		if e := &t.rec.events[k]; e.g == g {
			if e.kind == evOperate {
				return k
			}
			return -1
		}
	}
	return -1
}

// operationBehind returns the event of a goroutine that is the first one behind another event, -1 if that is no operation.
func (t *traces) operationBehind(g, event int32) int32 {
	for k := event + 1; k < min(int32(len(t.rec.events)), event+nearby); k++ {
		if e := &t.rec.events[k]; e.g == g {
			if e.kind == evOperate {
				return k
			}
			return -1
		}
	}
	return -1
}

// channelUses returns how many elements are sent to, and received from, each object together.
func (r *Recording) channelUses() []int32 {
	uses := make([]int32, r.objects)
	for i := range r.events {
		r.restsAt(i)
		if e := &r.events[i]; e.kind == evOperate && (e.what == mark.Send || e.what == mark.Receive || e.what == mark.TrySend || e.what == mark.TryReceive) {
			uses[e.ref]++
		}
	}
	return uses
}

// pooled returns a recording of all operations with those on pools in place of those on their waiters' channels, nil if there are none.
func (r *Recording) pooled() *completion {
	t := newTraces(r)
	uses := r.channelUses()
	var found []*explanation
	var replaced []int32
	for _, part := range t.parts() {
		r.rests()
		if what := t.operation(part); what != mark.Receive && what != mark.Send {
			continue
		}
		operations, ok := t.ofWaiters(part, uses)
		if !ok {
			continue
		}
		if x := t.explain(part); x != nil && x.places() {
			found, replaced = append(found, x), append(replaced, operations...)
		}
	}
	if len(found) == 0 {
		return nil
	}
	slices.Sort(replaced)
	return &completion{likely: r.marked(found, nil, nil, slices.Compact(replaced))}
}

// hold has no list begin anew while its goroutine has an element of a pool that it took before the window: there the recording does not
// show the span that is open. It would give back more than it takes each time.
func (p *program) hold() {
	type tally struct {
		out, most int32 // how many more elements it has given than taken, by now and at most
		at        int   // the op by which it had given most
	}
	type holder struct{ list, until int }
	holders, none := map[int32][]holder{}, map[int32]bool{} // by object, and the objects that are no pools
	for l := range p.lists {
		p.rec.rests()
		all := map[int32]tally{}
		for k := range p.lists[l].ops {
			o := &p.lists[l].ops[k]
			if o.kind != opSend && o.kind != opReceive || none[o.arg] {
				continue
			}
			t := all[o.arg]
			if o.kind == opReceive {
				t.out--
			} else if t.out++; t.out > t.most {
				t.most, t.at = t.out, k
			}
			none[o.arg] = o.kind == opSend && o.site > 0 // it waits for room
			all[o.arg] = t
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
	for object, all := range holders {
		if none[object] {
			continue
		}
		for _, h := range all {
			for k := range p.lists[h.list].ops[:h.until+1] {
				o := &p.lists[h.list].ops[k]
				o.free, o.loose = false, false
			}
		}
	}
}
