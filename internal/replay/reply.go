package replay

import "slices"

// A server that answers requests in batches receives several elements before any of their work is done, so that no work follows an
// element. What travels with an element then is its origin, to which the answer goes.

// replied is which part of the elements must be answered by their receivers, for the answers to be theirs.
const replied = 0.9

// reply finds the sends that answer an element which their goroutine has received before. In the replay they go to the sender of
// the element that was received there.
func (p *program) reply() {
	sent := make([]place, len(p.segments)) // by segment
	for i := range sent {
		sent[i] = place{-1, -1}
	}
	next := make([]int32, len(p.segments)) // by segment: what its sender receives first behind the send, 0 for nothing
	for l := range p.lists {
		received := int32(0)
		for k := len(p.lists[l].ops) - 1; k >= 0; k-- {
			o := &p.lists[l].ops[k]
			switch {
			case o.kind == opReceive:
				received = o.segment
			case o.kind == opSend && o.segment > 0:
				sent[o.segment], next[o.segment] = place{int32(l), int32(k)}, received
				if !o.tries { // what was sent before is not what it waits for an answer to
					received = 0
				}
			}
		}
	}
	p.answers = make([]place, len(p.segments))
	for i := range p.answers {
		p.answers[i] = place{-1, -1}
	}
	for l := range p.lists {
		if p.lists[l].serves < 0 {
			p.replyIn(int32(l), sent, next)
		}
	}
}

// replyIn finds the answers of one list. Elements of other channels, such as the connections of a pool, have none.
func (p *program) replyIn(list int32, sent []place, next []int32) {
	l := &p.lists[list]
	type tally struct {
		received, answered int
		senders            map[int32]bool
	}
	tallies := map[int32]*tally{} // by channel
	p.pairs(l, sent, next, func(int32) bool { return true }, func(_ int, element int32, answered bool) {
		object := p.op(p.segments[element]).arg
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
		t.senders[sent[element].list] = true
	})
	replies := func(object int32) bool {
		t := tallies[object]
		return t != nil && t.received >= leastHandovers && len(t.senders) > 1 && float64(t.answered) >= replied*float64(t.received)
	}
	pending := p.pairs(l, sent, next, replies, func(k int, element int32, answered bool) {
		if answered {
			l.ops[k].answers = element
			p.answers[element] = place{list, int32(k)}
		}
	})
	first := slices.IndexFunc(l.ops, func(o op) bool { return o.kind == opReceive && o.segment > 0 && p.answers[o.segment].list == list })
	for k := range max(0, first) { // what is sent there answers what was received before the window
		l.ops[k].free, l.ops[k].loose = false, false
	}
	for k := range pending {
		received := l.ops[k].kind == opReceive && replies(l.ops[k].arg) // also one whose sender or answer is not in the window
		if pending[k] || received {
			l.ops[k].free, l.ops[k].loose = false, false
		}
	}
}

// pairs calls found for the elements that a list receives from some channels, and for the sends that answer them. It returns behind
// which ops there are elements to be answered.
func (p *program) pairs(l *list, sent []place, next []int32, of func(object int32) bool, found func(k int, element int32, answered bool)) []bool {
	pending := map[int32]int32{} // elements by the one that their senders wait for next
	type way struct{ from, object int32 }
	last := map[way]int32{} // these
	open := make([]bool, len(l.ops))
	for k := range l.ops {
		switch o := &l.ops[k]; {
		case o.segment == 0 || p.objects[o.arg].inferred:
		case o.kind == opReceive && sent[o.segment].list >= 0 && of(o.arg):
			found(k, o.segment, false)
			from := way{sent[o.segment].list, o.arg}
			delete(pending, last[from]) // whose answer was not seen: its sender has gone on
			if n := next[o.segment]; n > 0 {
				pending[n], last[from] = o.segment, n
			}
		case o.kind == opSend:
			if e, ok := pending[o.segment]; ok {
				found(k, e, true)
				delete(pending, o.segment)
			}
		}
		open[k] = len(pending) > 0
	}
	return open
}
