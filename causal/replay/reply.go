package replay

import "slices"

// Who answers requests in batches receives several elements before any of their work is done, so that no work follows an
// element. What travels with an element then is to whom the answer goes.

// replied is which part of the elements must be answered by who received them, for the answers to be theirs.
const replied = 0.9

// reply finds the sends that answer an element which their goroutine has received before. In the replay they go to who sent
// the element that was received there.
func (p *program) reply() {
	sent := make([]place, len(p.segments)) // by segment
	for i := range sent {
		sent[i] = place{-1, -1}
	}
	next := make([]int32, len(p.segments)) // by segment: what its sender receives first behind the send, 0 for nothing
	for l := range p.lists {
		received := int32(0)
		for k, o := range slices.Backward(p.lists[l].ops) {
			switch {
			case o.kind == opReceive:
				received = o.segment
			case o.kind == opSend && o.segment > 0:
				sent[o.segment], next[o.segment] = place{int32(l), int32(k)}, received
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

// replyIn finds the answers of one list.
func (p *program) replyIn(list int32, sent []place, next []int32) {
	l := &p.lists[list]
	type answer struct{ op, element int32 }
	var all []answer
	pending := map[int32]int32{} // elements by the one that their senders wait for next
	senders := map[int32]bool{}
	received := 0
	open := make([]bool, len(l.ops)) // elements are to be answered behind an op
	for k := range l.ops {
		switch o := &l.ops[k]; {
		case o.segment == 0 || p.objects[o.arg].inferred:
		case o.kind == opReceive && sent[o.segment].list >= 0:
			received++
			if n := next[o.segment]; n > 0 {
				pending[n] = o.segment
			}
		case o.kind == opSend:
			if e, ok := pending[o.segment]; ok {
				all = append(all, answer{int32(k), e})
				senders[sent[e].list] = true
				delete(pending, o.segment)
			}
		}
		open[k] = len(pending) > 0
	}
	if received < leastHandovers || len(senders) < 2 || float64(len(all)) < replied*float64(received) {
		return
	}
	for _, a := range all {
		l.ops[a.op].answers = a.element
		p.answers[a.element] = place{list, a.op}
	}
	for k := range l.ops {
		if open[k] {
			l.ops[k].free, l.ops[k].loose = false, false
		}
	}
}
