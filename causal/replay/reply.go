package replay

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
	for l := range p.lists {
		for k := range p.lists[l].ops {
			if o := &p.lists[l].ops[k]; o.kind == opSend && o.segment > 0 {
				sent[o.segment] = place{int32(l), int32(k)}
			}
		}
	}
	p.answers = make([]place, len(p.segments))
	for i := range p.answers {
		p.answers[i] = place{-1, -1}
	}
	for l := range p.lists {
		if p.lists[l].serves < 0 {
			p.replyIn(int32(l), sent)
		}
	}
}

// replyIn finds the answers of one list.
func (p *program) replyIn(list int32, sent []place) {
	l := &p.lists[list]
	type answer struct{ op, segment int32 }
	var all []answer
	pending := map[int32][]int32{} // segments by who sent the element
	received, last := 0, int32(-1)
	open := make([]bool, len(l.ops)) // elements are to be answered behind an op
	waiting := 0
	for k := range l.ops {
		o := &l.ops[k]
		switch {
		case o.kind == opReceive && o.segment > 0 && sent[o.segment].list >= 0 && !p.objects[o.arg].inferred:
			from := sent[o.segment].list
			pending[from] = append(pending[from], o.segment)
			received, last = received+1, o.arg
			waiting++
		case o.kind == opSend && o.segment > 0 && o.arg != last:
			to := p.segments[o.segment].list
			if q := pending[to]; len(q) > 0 {
				all = append(all, answer{int32(k), q[0]})
				pending[to] = q[1:]
				waiting--
			}
		}
		open[k] = waiting > 0
	}
	if received < leastHandovers || len(pending) < 2 || float64(len(all)) < replied*float64(received) {
		return
	}
	for _, a := range all {
		l.ops[a.op].answers = a.segment
		p.answers[a.segment] = place{list, a.op}
	}
	for k := range l.ops {
		if open[k] {
			l.ops[k].free, l.ops[k].loose = false, false
		}
	}
}
