package replay

import (
	"cmp"
	"math"
	"slices"
)

// choose comes to a select statement, or reports that the runner must wait there.
func (s *simulation) choose(i int32, o *instruction) bool {
	r := &s.runners[i]
	c := &s.p.choices[o.arg]
	if r.chooses {
		r.chooses, r.granted = false, false
		s.goOnAs(r, o.arg, r.got)
		return true
	}
	s.out.choices++
	if len(c.cases) == 0 {
		s.out.untold++
	}
	if len(c.past) == 0 {
		r.burst = s.now
	}
	strays := false
	ready := s.pick(c.cases, func(object int32) bool {
		goesOn := s.goesOn(o.arg, object)
		strays = strays || !goesOn
		return goesOn
	})
	if ready != none {
		r.element, _ = s.receive(s.channel(ready), -1)
		s.goOnAs(r, o.arg, ready)
		return true
	}
	if strays {
		s.out.strayed++
	}
	for _, object := range c.cases {
		if s.goesOn(o.arg, object) {
			s.channel(object).others.push(i)
		}
	}
	end := &s.code[s.x.ends[o.arg]]
	r.chooses, r.late = true, int64(end.late)
	switch x := &s.p.statements[c.statement]; {
	case x.whole && len(c.past) > 0: // what is left of it
		s.backIn(i, s.scaled(max(x.limit, c.untimed), o.set)-(s.now-r.burst))
	case c.object == none:
		s.backIn(i, s.shortened(end))
	case x.limit > 0:
		s.backIn(i, s.scaled(max(x.limit, c.untimed), o.set))
	}
	return false
}

// hasElement reports whether a receive from a channel need not wait.
func (s *simulation) hasElement(object int32) bool {
	b := s.channel(object)
	return b.count > 0 || b.queue.len() > 0
}

// draw returns a number below n.
func (s *simulation) draw(n uint64) uint64 {
	if n == 1 {
		return 0
	}
	s.random = s.random*6364136223846793005 + 1442695040888963407
	return (s.random >> 33) % n
}

// backIn has a runner come back after d, if nothing else ends its wait.
func (s *simulation) backIn(i int32, d int64) {
	s.runners[i].due = s.now + max(0, d)
	s.at(d, happenBack, i)
}

// back ends a wait for something outside, or for a timer of a select statement that has not ended.
func (s *simulation) back(i int32) {
	r := &s.runners[i]
	switch {
	case r.due != s.now:
	case r.state == away:
		s.ready(i, -1)
	case r.chooses && r.state == blocked && !r.granted:
		o := &s.code[r.pc]
		c := &s.p.choices[o.arg]
		if !s.goesOn(o.arg, none) {
			s.out.strayed++
			return
		}
		if slices.ContainsFunc(c.cases, s.hasElement) { // that the list cannot go on with
			s.out.strayed++
		}
		for _, object := range c.cases {
			s.channel(object).others.remove(i)
		}
		r.got = none
		s.grant(i, -1)
	}
}

// chosen ends the wait of a runner for one of several channels, if it waits so, by an element of an object.
func (s *simulation) chosen(i int32, b *object) {
	r := &s.runners[i]
	var objects []int32
	switch {
	case r.chooses:
		objects = s.p.choices[s.code[r.pc].arg].cases
	case r.attends:
		objects, r.attends = s.p.stations[s.code[r.pc].ref].objects, false
	}
	for _, object := range objects {
		if other := s.channel(object); other == b {
			r.got = object
		} else {
			other.others.remove(i)
		}
	}
}

// examples returns the choices of a list that ended by an object, or a timer, as choice i may.
func (p *program) examples(i, object int32) []int32 {
	c := &p.choices[i]
	s := &p.statements[c.statement]
	if !s.decides || c.blind {
		return nil
	}
	return s.like[c.like(p, c.outcome(p, object))]
}

// examples returns what program.examples does, which has been looked up before.
func (x *executable) examples(p *program, i, object int32) []int32 {
	all := x.likes[x.likeOf[i]:]
	for k, other := range p.choices[i].cases {
		if other == object {
			return all[k]
		}
	}
	return all[len(p.choices[i].cases)] // a timer
}

// goesOn reports whether it is known what a goroutine does if a choice ends by an object, or a timer.
func (s *simulation) goesOn(i, object int32) bool {
	return object == s.p.choices[i].object || len(s.x.examples(s.p, i, object)) > 0
}

// goOnAs goes on as the recorded goroutine did when a select statement ended by an object, or a timer: here, or else, until what it
// does again and again is over, where it once ended so. The element is that of the runner.
func (s *simulation) goOnAs(r *runner, i, object int32) {
	n := i
	if object == none {
		s.out.late++
	}
	c := &s.p.choices[i]
	x := c
	if object != c.object {
		all := s.x.examples(s.p, i, object)
		n = all[s.draw(uint64(len(all)))]
		x = &s.p.choices[n]
		if r.until == 0 {
			r.from = i
		}
		r.until = s.x.rounds[n]
		ops := s.p.lists[c.list].ops
		for k, at := range x.past {
			if mine, theirs := ops[c.past[k]].segment, ops[at].segment; mine > 0 && theirs > 0 {
				s.took[theirs] = s.took[mine]
			}
		}
		for k, span := range x.open {
			if theirs := s.x.spans[span]; theirs > 0 {
				s.began[theirs] = s.began[s.x.spans[c.open[k]]]
			}
		}
		if mine, theirs := c.own(s.p), x.own(s.p); mine != none && theirs != none && !x.asks { // what is on its way comes here
			s.standIn[theirs] = s.standIn[mine]
		}
	}
	s.renew(c.list, x.end)
	r.pc = s.x.ends[n]
	if r.granted = object != none; !r.granted {
		r.pc++
		r.element = 0
	}
}

// comeBack has a runner that went on elsewhere go on where its own list does what it does again and again the next time.
func (s *simulation) comeBack(r *runner) {
	c := &s.p.choices[r.from]
	r.pc, r.until = s.x.rounds[r.from], 0
	s.renew(c.list, s.p.lists[c.list].roundEnds(c.end))
}

// roundEnds returns the op with which what a list does again and again is over, at or behind an op.
func (l *list) roundEnds(from int32) int32 {
	n, _ := slices.BinarySearch(l.rounds, from)
	return l.rounds[n]
}

// renew makes the channel new that is made for the next choice of a list behind an op, as for each request.
func (s *simulation) renew(list, behind int32) {
	l := &s.p.lists[list]
	n := s.p.choiceBehind(list, behind)
	if n == len(s.p.choices) || s.p.choices[n].list != list || l.to > 0 && s.p.choices[n].end >= l.to { // the first one again
		n = s.p.choiceBehind(list, l.from-1)
	}
	if n == len(s.p.choices) || s.p.choices[n].list != list {
		return
	}
	if made := s.p.choices[n].made; made != none {
		s.standIn[made] = made
		s.objects[made].begin(&s.p.objects[made])
	}
}

// choiceBehind returns the number of the first choice of a list, or a later one, that ends behind an op.
func (p *program) choiceBehind(list, op int32) int {
	n, _ := slices.BinarySearchFunc(p.choices, place{list, op + 1}, func(x choice, at place) int {
		return cmp.Or(cmp.Compare(x.list, at.list), cmp.Compare(x.end, at.op))
	})
	return n
}

// remove takes one out, if it is there.
func (q *queue) remove(x int32) {
	if k := slices.Index(q.all[q.head:], x); k >= 0 {
		q.all = slices.Delete(q.all, q.head+k, q.head+k+1)
		if q.head == len(q.all) {
			q.reset()
		}
	}
}

// later returns by how much the part of the select statements is larger that timers ended.
func (o *outcome) later(base *outcome) float64 {
	return max(0, float64(o.late)/float64(max(1, o.choices))-float64(base.late)/float64(max(1, base.choices)))
}

// crowdsOut reports whether it is known why a faster region makes the program slower: what comes too late is done again, or elements
// have to wait since others are taken first.
func (o *outcome) crowdsOut(base *outcome) bool {
	rate := func(o *outcome) float64 { return float64(o.second) / float64(max(1, o.ended)) }
	return o.later(base) > mostStrayed || rate(o) > 1.1*rate(base)
}

// straying returns which part of the select statements ended in ways of which the recording has no example, more or less than with
// nothing changed, and of which it is not known whether they would.
func (o *outcome) straying(base *outcome) float64 {
	n, m := float64(max(1, o.choices)), float64(max(1, base.choices))
	return math.Abs(float64(o.strayed)/n-float64(base.strayed)/m) + float64(o.untold)/n
}
