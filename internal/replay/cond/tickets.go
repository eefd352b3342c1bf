package cond

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// A sequence is the rule of what is done in turn: goroutines go on in the order in which they took
// numbers (tickets), as one that writes in order what several work out side by side. The numbers
// are not in the recording; that they are taken with a lock, or with an element, is.

// leastInOrder is which part of the goroutines that go on must do so in the order in which they
// took numbers.
const leastInOrder = 0.99

// A ticket is a number that a goroutine has taken, and where.
type ticket struct {
	pass *section
	list int32
	op   int // -1 where that was before the window
	at   int64
}

// sequence finds the op with which goroutines take numbers: of all that each does once before it
// goes on, the first one in whose order all of them go on, and that determines which ones have to
// wait.
func sequence(c *condition) replacement {
	passes := slices.SortedStableFunc(slices.Values(c.passes), func(a, b *section) int { return cmp.Compare(a.at, b.at) })
	done := c.signalled()
	for _, key := range c.numbering(passes) {
		tickets := c.ticketsBy(key, passes)
		if tickets == nil || !c.inSequence(tickets, done) {
			continue
		}
		return func(b *model.Builder, edits map[int32]*Edit) {
			object := b.NewObject(model.ObjectInfo{Kind: model.ObjectSequence})
			take := func(e *Edit, at int, x ticket) {
				e.After[at] = append(e.After[at], model.Op{Kind: model.OpTicket, Arg: object, At: x.at, Late: -1})
			}
			for list, x := range c.last(key, tickets) {
				take(EditOf(edits, list), x.op, x)
				holdOn(b, list, x.op, len(b.P.Lists[list].Ops)-1)
			}
			for _, x := range tickets {
				e := EditOf(edits, x.list)
				if x.op < 0 {
					b.P.Objects[object].Tickets = append(b.P.Objects[object].Tickets, model.AtFirst(x.list))
				} else {
					take(e, x.op, x)
				}
				s := x.pass
				skip(b, e, s, s.first, s.lock)
				e.before[s.lock] = append(e.before[s.lock], waiting(b, s, model.OpTurn, object))
				signal, ok := done[s]
				if !ok { // it waits when the window ends
					holdOn(b, x.list, max(0, x.op), len(b.P.Lists[x.list].Ops)-1)
				} else {
					holdOn(b, x.list, max(0, x.op), signal)
					e.before[signal] = append(e.before[signal], model.Op{Kind: model.OpNext, Arg: object, At: b.P.Lists[s.list].Ops[signal].At, Late: -1})
				}
			}
		}
	}
	return nil
}

// holdOn keeps a list from beginning anew from one op to another.
func holdOn(b *model.Builder, list int32, from, to int) {
	for k := from; k <= to; k++ {
		o := &b.P.Lists[list].Ops[k]
		o.Free, o.Loose = false, false
	}
}

// signalled returns the signals of the sections that have one.
func (c *condition) signalled() map[*section]int {
	done := map[*section]int{}
	for _, s := range c.signals {
		done[s.section] = s.op
	}
	return done
}

// numbering returns the kinds of ops that goroutines may take numbers with, in the order in which
// the goroutine that goes on last does them.
func (c *condition) numbering(passes []*section) (keys []Anchor) {
	last := passes[len(passes)-1]
	ops := c.p.Lists[last.list].Ops
	for k := c.behind(last); k < last.first; k++ {
		if key, ok := c.numbers(&ops[k]); ok && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// numbers reports whether a number may be taken with an op.
func (c *condition) numbers(o *model.Op) (Anchor, bool) {
	return Anchor{Kind: o.Kind, Arg: o.Arg}, o.Kind == model.OpLock && o.Arg != c.lock || o.Kind == model.OpReceive
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

// ticketsBy returns the tickets of the goroutines that go on, in that order; nil if there are not
// as many as passes.
func (c *condition) ticketsBy(key Anchor, passes []*section) []ticket {
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
func (c *condition) ticketIn(key Anchor, list int32, from, to int) ticket {
	ops := c.p.Lists[list].Ops
	for k := from; k < to; k++ {
		if o, ok := c.numbers(&ops[k]); ok && o == key {
			return ticket{list: list, op: k, at: ops[k].At}
		}
	}
	return ticket{list: list, op: -1}
}

// last returns the tickets of the goroutines that have not gone on when the window ends, by list.
func (c *condition) last(key Anchor, tickets []ticket) map[int32]ticket {
	behind := map[int32]int{}
	for _, x := range tickets {
		behind[x.list] = x.pass.end + 1
	}
	all := map[int32]ticket{}
	for list, from := range behind {
		if x := c.ticketIn(key, list, from, len(c.p.Lists[list].Ops)); x.op >= 0 {
			all[list] = x
		}
	}
	return all
}

// inSequence reports whether goroutines go on in the order of their tickets, and wait for the ones
// before.
func (c *condition) inSequence(tickets []ticket, done map[*section]int) bool {
	ordered := 0
	var f Fit
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
		at := c.p.Lists[before.list].Ops[signal].At
		if s.waits >= 0 {
			f.Note(FitWaited, at > s.came)
		} else {
			f.Note(FitPassed, at <= s.came)
		}
		f.Note(fitWentOn, at <= s.at)
	}
	return float64(ordered) >= leastInOrder*float64(len(tickets)-1) && float64(f.all[fitWentOn]) >= model.Agreeing*float64(len(tickets)-1) && f.good()
}
