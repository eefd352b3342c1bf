package hidden

import (
	"slices"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A pool may have a list of waiting goroutines, each with a channel of its own, as that of
// database/sql has: what a goroutine gives back, it sends to one of them, and to none if none
// waits. Operations on these channels show who waited, not for what. So they count as a trace of
// stock Go: what all of them wait for is inferred from when they waited and when they did not.
//
//	as recorded    chan 17: send, receive    chan 18: close, receive   ...   one receive each
//	in its place   one channel: as many elements as connections, any waiter is next
//
// In database/sql the channel is made in conn, with room for one, and putConnDBLocked sends to one
// that TakeRandom draws by lot (sql.go, connRequestSet). The semaphore of golang.org/x/sync closes
// the channel of the first one (notifyWaiters in semaphore.go). A replay of the recorded channels
// would have each goroutine wait for the one that served it in the recording, and a faster query
// would not free a connection for another goroutine. TestPoolOfWaiters holds the answers of such a
// program within 2 points of its own, both stock and with all operations recorded.
//
// The pool is taken only if goroutines give back what they took (lent in check.go). Connections
// that a goroutine opens, or closes, meanwhile are not modelled; a pool that changes its size
// contradicts, and keeps the recorded channels.

// ofWaiters returns, of the goroutines that wait in a part, the operations on channels that are
// each for one wait, as events, and which of them end waits from before the window; false if some
// wait for another channel. Uses are those of each object, see channelUses. It may return an event
// several times.
func (t *Traces) ofWaiters(p Part, uses []int32) (operations, since []int32, ok bool) {
	for _, i := range p.Meetings {
		wait := &t.actions[t.meetings[i].wait]
		sent := t.sentOnce(&t.actions[t.meetings[i].wake], uses)
		if sent < 0 {
			return nil, nil, false
		}
		channel := t.rec.Events[sent].Ref
		// Of the wait there are the beginnings before it, of each case of a select statement, such
		// as for the end of a context, and the receive behind it.
		operations = append(operations, sent)
		for k := t.operationBeside(wait.g, wait.from, -1); k >= 0 && isCase(t.rec.Events[k].What); k = t.operationBeside(wait.g, k, -1) {
			operations = append(operations, k)
		}
		if wait.to < 0 {
			continue
		}
		if k := t.operationBeside(wait.g, wait.to, 1); k >= 0 && t.rec.Events[k].Ref == channel {
			operations = append(operations, k)
		}
	}
	// Of a wait from before the window there is the receive alone. Left as it is, the pool would be
	// given a connection that the goroutine has from its own channel: one more each.
	for _, i := range p.Ends {
		wake := &t.actions[i]
		sent := t.sentOnce(wake, uses)
		if sent < 0 {
			continue
		}
		operations = append(operations, sent)
		if k := t.operationOf(t.rec.Events[wake.from].G, wake.from); k >= 0 && t.rec.Events[k].Ref == t.rec.Events[sent].Ref {
			operations, since = append(operations, k), append(since, k)
		}
	}
	return operations, since, true
}

// sentOnce returns the event of the send, or close, by which a goroutine woke another one, -1 if it
// was none, or on a channel that is for more than one wait: that of one wait has one send or close
// and one receive.
func (t *Traces) sentOnce(wake *action, uses []int32) int32 {
	sent := t.operationBeside(wake.g, wake.from, -1) // marked right before the event
	if sent < 0 {
		return -1
	}
	if e := &t.rec.Events[sent]; e.What != mark.Send && e.What != mark.Close || uses[e.Ref] > 2 {
		return -1
	}
	return sent
}

// isCase reports whether an operation is the beginning of a receive, or of a case of a select
// statement that waits, of which each case has one.
func isCase(what mark.Op) bool {
	return what == mark.Select.Beginning() || what == mark.Receive.Beginning()
}

// nearby is how many events away the operation is looked for that a wait, or its end, is of. They
// are of all goroutines: on many processors others' events lie between. Too few, and the part is
// left as it is; more only take time.
const nearby = 512

// operationBeside returns the event of a goroutine that is the first one behind another event, or
// with step -1 the last one before it; -1 if that is no operation, or not nearby.
func (t *Traces) operationBeside(g, event, step int32) int32 {
	first, end := max(0, event-nearby), min(int32(len(t.rec.Events)), event+nearby)
	for k := event + step; first <= k && k < end; k += step {
		if e := &t.rec.Events[k]; e.G == g {
			if e.Kind == trace.EvOperate {
				return k
			}
			return -1
		}
	}
	return -1
}

// operationOf returns the event of a goroutine's first operation behind an event, -1 if none is
// nearby.
func (t *Traces) operationOf(g, event int32) int32 {
	for k := event + 1; k < min(event+nearby, int32(len(t.rec.Events))); k++ {
		if e := &t.rec.Events[k]; e.G == g && e.Kind == trace.EvOperate {
			return k
		}
	}
	return -1
}

// channelUses returns by object how many operations there are: elements that are sent to it and
// received from it, also by select statements with a default, its close, and receives behind that.
func channelUses(r *trace.Recording) []int32 {
	uses := make([]int32, r.Objects)
	for e := range r.All() {
		if e.Kind == trace.EvOperate && (e.What == mark.Send || e.What == mark.Receive || e.What == mark.TrySend || e.What == mark.TryReceive || e.What == mark.Close || e.What == mark.Closed) {
			uses[e.Ref]++
		}
	}
	return uses
}

// pooled returns a recording of all operations with those on pools in place of those on their
// waiters' channels, nil if there are none. The recording has marks of operations; those of others
// than such waiters stay as they are.
func pooled(r *trace.Recording) *Completion {
	t := NewTraces(r)
	uses := channelUses(r)
	var found []*explanation
	var replaced []int32
	for _, part := range t.Parts() {
		r.Rests()
		if what := t.operation(part); what != mark.Receive && what != mark.Send {
			continue
		}
		operations, since, ok := t.ofWaiters(part, uses)
		if !ok {
			continue
		}
		if x := t.explain(part); x != nil && (x.places() || x.lent()) {
			x.since = since
			found, replaced = append(found, x), append(replaced, operations...)
		}
	}
	if len(found) == 0 {
		return nil
	}
	slices.Sort(replaced)
	return &Completion{Likely: marked(r, found, nil, nil, slices.Compact(replaced))}
}
