package infer

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
)

// A server that answers requests in batches receives several elements before any of their work is
// done, so that no work follows an element. What travels with an element then is its origin, to
// which the answer goes:
//
//	client 1   sends to queue, waits at its own channel 1
//	client 2   sends to queue, waits at its own channel 2
//	server     receives a, receives b, works 5 ms, sends to channel 1, sends to channel 2
//
// In the replay client 2 may come first. The server's list would still answer client 1 first, which
// has not asked yet, and client 2 would get an answer for nothing. So each answer is tied to the
// receive of the element that it is for: it goes to the sender of whichever element was received
// there.
//
// Which answer is for which element shows in who receives it next: a sender that receives behind
// its send, with no other send in between, waits for the answer to it. The rule is held against all
// elements of a channel: nine in ten must be answered, and come from two goroutines at least, as
// with one there is nothing to be decided. Elements of a pool are sent back without an answer, and
// fail that. Goroutines that serve have their work with each element instead, and are left alone.

// replied is which part of the elements must be answered by their receivers, for the answers to be
// theirs. With a larger part, elements whose sender or answer is outside of the window would refute
// the rule; with a smaller one, channels of a pool whose elements meet by chance would pass.
const replied = 0.9

// reply finds the sends that answer an element which their goroutine has received before. In the
// replay they go to the sender of the element that was received there. Segments must be known, and
// which lists serve. Behind it p.Answers has an entry for each segment.
func reply(p *model.Program) {
	sent := model.Nowhere(len(p.Segments)) // by segment
	next := make([]int32, len(p.Segments)) // by segment: what its sender receives first behind the send, 0 for nothing
	// Each list from its end: what a goroutine receives next behind a send is then known already.
	for l := range p.Lists {
		received := int32(0)
		for k := len(p.Lists[l].Ops) - 1; k >= 0; k-- {
			o := &p.Lists[l].Ops[k]
			switch {
			case o.Kind == model.OpReceive:
				received = o.Segment
			case o.Kind == model.OpSend && o.Segment > 0:
				sent[o.Segment], next[o.Segment] = model.Place{List: int32(l), Op: int32(k)}, received
				// An offer that may be dropped is not what its sender waits for an answer to.
				if !o.Tries { // what was sent before is not what it waits for an answer to
					received = 0
				}
			}
		}
	}
	for l := range p.Lists {
		if p.Lists[l].Serves < 0 {
			replyIn(p, int32(l), sent, next)
		}
	}
}

// replyIn finds the answers of one list. Elements of other channels, such as the connections of a
// pool, have none. Where there are unanswered elements the list must not begin anew: the next time
// round their answers would go to nothing.
func replyIn(p *model.Program, list int32, sent []model.Place, next []int32) {
	l := &p.Lists[list]
	type tally struct {
		received, answered int
		senders            map[int32]bool
	}
	// The first way through counts, over all channels, the second notes, for the channels that have
	// answers.
	tallies := map[int32]*tally{} // by channel
	pairs(p, l, sent, next, func(int32) bool { return true }, func(_ int, element int32, answered bool) {
		object := p.Op(p.Segments[element]).Arg
		t := tallies[object]
		if t == nil {
			t = &tally{senders: map[int32]bool{}}
			tallies[object] = t
		}
		if !answered {
			t.received++
			return
		}
		t.answered++
		t.senders[sent[element].List] = true
	})
	// One sender would get its answers in order in any case.
	replies := func(object int32) bool {
		t := tallies[object]
		return t != nil && t.received >= hidden.LeastHandovers && len(t.senders) > 1 && float64(t.answered) >= replied*float64(t.received)
	}
	pending := pairs(p, l, sent, next, replies, func(k int, element int32, answered bool) {
		if answered {
			l.Ops[k].Answers = element
			p.Answers[element] = model.Place{List: list, Op: int32(k)}
		}
	})
	first := slices.IndexFunc(l.Ops, func(o model.Op) bool {
		return o.Kind == model.OpReceive && o.Segment > 0 && p.Answers[o.Segment].List == list
	})
	for k := range max(0, first) { // what is sent there answers what was received before the window
		l.Ops[k].Free, l.Ops[k].Loose = false, false
	}
	for k := range pending {
		received := l.Ops[k].Kind == model.OpReceive && replies(l.Ops[k].Arg) // also one whose sender or answer is not in the window
		if pending[k] || received {
			l.Ops[k].Free, l.Ops[k].Loose = false, false
		}
	}
}

// pairs calls found for the elements that a list receives from some channels, and for the sends
// that answer them. It returns behind which ops there are elements to be answered, by op. Sent and
// next are by segment. An answer is a send of the very element that the sender of the received one
// receives next. If a sender sends to the same channel once more before it had one, it has gone on
// without (a timeout): its older element counts as not answered.
func pairs(p *model.Program, l *model.List, sent []model.Place, next []int32, of func(object int32) bool, found func(k int, element int32, answered bool)) []bool {
	pending := map[int32]int32{} // elements by the one that their senders wait for next
	type way struct{ from, object int32 }
	last := map[way]int32{} // by sender and channel: the last of these
	open := make([]bool, len(l.Ops))
	for k := range l.Ops {
		switch o := &l.Ops[k]; {
		case o.Segment == 0 || p.Objects[o.Arg].Inferred:
		case o.Kind == model.OpReceive && sent[o.Segment].List >= 0 && of(o.Arg):
			found(k, o.Segment, false)
			from := way{sent[o.Segment].List, o.Arg}
			delete(pending, last[from]) // whose answer was not seen: its sender has gone on
			if n := next[o.Segment]; n > 0 {
				pending[n], last[from] = o.Segment, n
			}
		case o.Kind == model.OpSend:
			if e, ok := pending[o.Segment]; ok {
				found(k, e, true)
				delete(pending, o.Segment)
			}
		}
		open[k] = len(pending) > 0
	}
	return open
}
