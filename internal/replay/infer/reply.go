package infer

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
)

// A server that answers requests in batches receives several elements before any of their work is
// done, so that no work follows an element. What travels with an element then is its origin, to
// which the answer goes.

// replied is which part of the elements must be answered by their receivers, for the answers to be
// theirs.
const replied = 0.9

// reply finds the sends that answer an element which their goroutine has received before. In the
// replay they go to the sender of the element that was received there.
func reply(p *model.Program) {
	sent := make([]model.Place, len(p.Segments)) // by segment
	for i := range sent {
		sent[i] = model.Place{List: -1, Op: -1}
	}
	next := make([]int32, len(p.Segments)) // by segment: what its sender receives first behind the send, 0 for nothing
	for l := range p.Lists {
		received := int32(0)
		for k := len(p.Lists[l].Ops) - 1; k >= 0; k-- {
			o := &p.Lists[l].Ops[k]
			switch {
			case o.Kind == model.OpReceive:
				received = o.Segment
			case o.Kind == model.OpSend && o.Segment > 0:
				sent[o.Segment], next[o.Segment] = model.Place{List: int32(l), Op: int32(k)}, received
				if !o.Tries { // what was sent before is not what it waits for an answer to
					received = 0
				}
			}
		}
	}
	p.Answers = make([]model.Place, len(p.Segments))
	for i := range p.Answers {
		p.Answers[i] = model.Place{List: -1, Op: -1}
	}
	for l := range p.Lists {
		if p.Lists[l].Serves < 0 {
			replyIn(p, int32(l), sent, next)
		}
	}
}

// replyIn finds the answers of one list. Elements of other channels, such as the connections of a
// pool, have none.
func replyIn(p *model.Program, list int32, sent []model.Place, next []int32) {
	l := &p.Lists[list]
	type tally struct {
		received, answered int
		senders            map[int32]bool
	}
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
// that answer them. It returns behind which ops there are elements to be answered.
func pairs(p *model.Program, l *model.List, sent []model.Place, next []int32, of func(object int32) bool, found func(k int, element int32, answered bool)) []bool {
	pending := map[int32]int32{} // elements by the one that their senders wait for next
	type way struct{ from, object int32 }
	last := map[way]int32{} // these
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
