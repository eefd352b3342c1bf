package replay

// A client of a server makes a channel for the answer, and may have gone on without it. In a replay the same request may be made again
// while the server still works on it, as an example of what is done when no answer comes in time: then its answer must not be taken
// for that of the new one.

// findRequests finds the elements whose answer goes to a channel that is made for the select statement behind them.
func (p *program) findRequests() {
	p.asks = nil
	for i := range p.choices {
		c := &p.choices[i]
		if c.made == none {
			continue
		}
		l := &p.lists[c.list]
		for k := c.op - 1; k >= 0 && l.ops[k].kind != opChoose; k-- {
			if o := &l.ops[k]; o.kind == opSend && o.segment > 0 && p.op(p.segments[o.segment]).head {
				if p.asks == nil {
					p.asks = make([]int32, len(p.segments))
				}
				p.asks[o.segment], c.asks = c.made+1, true
				break
			}
		}
	}
}

// A request is how often one has been made, and how often work on it has begun.
type request struct{ made, begun int32 }

// asked returns the channel for the answer to an element, none if none is known.
func (p *program) asked(element int32) int32 {
	if p.asks == nil {
		return none
	}
	return p.asks[element] - 1
}

// request notes that a request is made, with a channel of its own for the answer.
func (s *simulation) request(element int32) {
	if made := s.p.asked(element); made != none {
		s.requests[element].made++
		s.standIn[made] = made
		s.objects[made].begin(&s.p.objects[made])
	}
}

// works notes that a runner begins to work on an element.
func (s *simulation) works(r *runner, element int32) {
	r.serving = 0
	if s.p.asked(element) != none {
		s.requests[element].begun++
		r.serving, r.request = element, s.requests[element].begun
	}
}

// outdated reports whether a runner sends to a channel the answer to a request that has been made again since.
func (s *simulation) outdated(r *runner, object int32) bool {
	return r.serving > 0 && s.p.asked(r.serving) == object && r.request < s.requests[r.serving].made
}
