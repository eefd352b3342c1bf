package replay

import (
	"cmp"
	"slices"
)

// A sequence is the rule of what is done in turn: goroutines go on in the order in which they took numbers (tickets), as one that writes in order
// what several work out side by side. The numbers are not in the recording; that they are taken with a lock, or with an element, is.

// leastInOrder is which part of the goroutines that go on must do so in the order in which they took numbers.
const leastInOrder = 0.99

// A ticket is a number that a goroutine has taken, and where.
type ticket struct {
	pass *section
	list int32
	op   int // -1 where that was before the window
	at   int64
}

// sequence finds the op with which goroutines take numbers: of all that each does once before it goes on, the first one in whose order
// all of them go on, and that determines which ones have to wait.
func sequence(c *condition) replacement {
	passes := slices.SortedStableFunc(slices.Values(c.passes), func(a, b *section) int { return cmp.Compare(a.at, b.at) })
	done := c.signalled()
	for _, key := range c.numbering(passes) {
		tickets := c.ticketsBy(key, passes)
		if tickets == nil || !c.inSequence(tickets, done) {
			continue
		}
		return func(b *builder, edits map[int32]*edit) {
			object := b.newObject(objectInfo{kind: objectSequence})
			take := func(e *edit, at int, x ticket) {
				e.after[at] = append(e.after[at], op{kind: opTicket, arg: object, at: x.at, late: -1})
			}
			for list, x := range c.last(key, tickets) {
				take(editOf(edits, list), x.op, x)
				b.holdOn(list, x.op, len(b.p.lists[list].ops)-1)
			}
			for _, x := range tickets {
				e := editOf(edits, x.list)
				if x.op < 0 {
					b.p.objects[object].tickets = append(b.p.objects[object].tickets, atFirst(x.list))
				} else {
					take(e, x.op, x)
				}
				s := x.pass
				b.skip(e, s, s.first, s.lock)
				e.before[s.lock] = append(e.before[s.lock], b.waiting(s, opTurn, object))
				signal, ok := done[s]
				if !ok { // it waits when the window ends
					b.holdOn(x.list, max(0, x.op), len(b.p.lists[x.list].ops)-1)
				} else {
					b.holdOn(x.list, max(0, x.op), signal)
					e.before[signal] = append(e.before[signal], op{kind: opNext, arg: object, at: b.p.lists[s.list].ops[signal].at, late: -1})
				}
			}
		}
	}
	return nil
}

// holdOn keeps a list from beginning anew from one op to another.
func (b *builder) holdOn(list int32, from, to int) {
	for k := from; k <= to; k++ {
		o := &b.p.lists[list].ops[k]
		o.free, o.loose = false, false
	}
}

// atFirst is the ticket of a list that has it when the window begins. Tickets that are taken later are the runners'.
func atFirst(list int32) int32 { return -2 - list }

// signalled returns the signals of the sections that have one.
func (c *condition) signalled() map[*section]int {
	done := map[*section]int{}
	for _, s := range c.signals {
		done[s.section] = s.op
	}
	return done
}

// numbering returns the kinds of ops that goroutines may take numbers with, in the order in which the goroutine that goes on last
// does them.
func (c *condition) numbering(passes []*section) (keys []anchor) {
	last := passes[len(passes)-1]
	ops := c.p.lists[last.list].ops
	for k := c.behind(last); k < last.first; k++ {
		if key, ok := c.numbers(&ops[k]); ok && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// numbers reports whether a number may be taken with an op.
func (c *condition) numbers(o *op) (anchor, bool) {
	return anchor{kind: o.kind, arg: o.arg}, o.kind == opLock && o.arg != c.lock || o.kind == opReceive
}

// behind returns the first op of a list behind the section in which its goroutine went on before.
func (c *condition) behind(s *section) int {
	from := 0
	for _, before := range c.passes {
		if before.list == s.list && before.end < s.first {
			from = max(from, before.end+1)
		}
	}
	return from
}

// ticketsBy returns the tickets of the goroutines that go on, in that order; nil if there are not as many as passes.
func (c *condition) ticketsBy(key anchor, passes []*section) []ticket {
	behind := map[int32]int{} // by list: where it went on before
	var tickets []ticket
	for _, s := range passes {
		from, later := behind[s.list]
		x := c.ticketIn(key, s.list, from, s.first)
		x.pass = s
		if x.op < 0 && later {
			return nil
		}
		behind[s.list] = s.end + 1
		tickets = append(tickets, x)
	}
	return tickets
}

// ticketIn returns the ticket that a list takes first between two ops.
func (c *condition) ticketIn(key anchor, list int32, from, to int) ticket {
	ops := c.p.lists[list].ops
	for k := from; k < to; k++ {
		if o, ok := c.numbers(&ops[k]); ok && o == key {
			return ticket{list: list, op: k, at: ops[k].at}
		}
	}
	return ticket{list: list, op: -1}
}

// last returns the tickets of the goroutines that have not gone on when the window ends, by list.
func (c *condition) last(key anchor, tickets []ticket) map[int32]ticket {
	behind := map[int32]int{}
	for _, x := range tickets {
		behind[x.list] = x.pass.end + 1
	}
	all := map[int32]ticket{}
	for list, from := range behind {
		if x := c.ticketIn(key, list, from, len(c.p.lists[list].ops)); x.op >= 0 {
			all[list] = x
		}
	}
	return all
}

// inSequence reports whether goroutines go on in the order of their tickets, and wait for the ones before.
func (c *condition) inSequence(tickets []ticket, done map[*section]int) bool {
	ordered := 0
	var f fit
	for i := range tickets {
		if i == 0 {
			continue
		}
		before, s := &tickets[i-1], tickets[i].pass
		if before.at <= tickets[i].at {
			ordered++
		}
		signal, ok := done[before.pass]
		if !ok {
			continue
		}
		at := c.p.lists[before.list].ops[signal].at
		if s.waits >= 0 {
			f.note(fitWaited, at > s.came)
		} else {
			f.note(fitPassed, at <= s.came)
		}
		f.note(fitWentOn, at <= s.at)
	}
	return float64(ordered) >= leastInOrder*float64(len(tickets)-1) && float64(f.all[fitWentOn]) >= agreeing*float64(len(tickets)-1) && f.good()
}

// turn lets a runner go on if no lower number than its own is left, or reports that it must wait. The elements of a sequence are the
// tickets of the goroutines that have not gone on, in order.
func (s *simulation) turn(b *object, i int32) bool {
	mine := s.ticketOf(b, i)
	if mine == none || b.elements.first() == mine {
		return true
	}
	b.others.push(i)
	return false
}

// nextTurn gives a runner's ticket back, and has the next one go on.
func (s *simulation) nextTurn(b *object, i, proc int32) {
	if mine := s.ticketOf(b, i); mine != none {
		b.elements.remove(mine)
	}
	if b.elements.len() == 0 {
		return
	}
	next := b.elements.first()
	for _, w := range b.others.all[b.others.head:] {
		if s.ticketOf(b, w) == next {
			b.others.remove(w)
			s.grant(w, proc)
			return
		}
	}
}

// ticketOf returns the first ticket of a runner, none if it has not any.
func (s *simulation) ticketOf(b *object, i int32) int32 {
	for _, x := range b.elements.all[b.elements.head:] {
		if x == i || x == atFirst(s.runners[i].list) {
			return x
		}
	}
	return none
}
