package cond

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// A sequence is the rule of what is done in turn (a ticket lock, ordered output): goroutines go on
// in the order in which they took numbers, as one that writes in order what several work out side
// by side. The numbers are not in the recording; that they are taken with a lock, or with an
// element, is.
//
//	A   take 1 |=== works ===|write|
//	B     take 2 |==| wait ~~~~~~~~|write|
//	C       take 3 |=========| wait ~~~~~|write|
//
// B was done first and waited for A. With a faster A it waits for less; with a faster B alone
// nothing is won. A count would be wrong here: any signal would let B or C go on.
//
// The principle: if goroutines go on in the order in which they passed some other operation, for
// 99 % of them, and each waits exactly until the one before has signalled, that operation is where
// the number is taken. It is looked for among operations that order goroutines by themselves, Lock
// of another lock and Receive. Numbers that are taken by an atomic counter leave nothing: the rule
// does not fit, and the recorded order stays, which is right as long as numbers are taken in that
// order. Workload Fasta of integration/accuracy is such a program.

// leastInOrder is which part of the goroutines that go on must do so in the order in which they
// took numbers. It is above Agreeing: what really is in turn is so always, and goroutines that only
// tend to keep their order, as equal workers do, must not be taken for it. The rest is for the
// window's edges.
const leastInOrder = 0.99

// A ticket is a number that a goroutine has taken, and where: at is ns of the recording's clock, 0
// where that was before the window.
type ticket struct {
	pass *section // in which it goes on; nil if that is behind the window
	list int32
	op   int // -1 where that was before the window
	at   int64
}

// sequence finds the op with which goroutines take numbers: of all that each does once before it
// goes on, the first one in whose order all of them go on, and that determines which ones have to
// wait. It goes through the lists of all passes once for each kind of op that it tries.
//
// The replay takes a ticket behind that op (OpTicket), waits until it is the lowest (OpTurn) before
// it has the lock, and gives it back at the signal (OpNext). A ticket that is never given back
// would let no later one go on: a section that goes on without a signal, though the window goes on,
// is not a case that this handles.
func sequence(c *condition) replacement {
	passes := slices.SortedStableFunc(slices.Values(c.passes), func(a, b *section) int { return cmp.Compare(a.at, b.at) })
	done := c.signalled()
	for _, key := range c.numbering(passes) {
		tickets := c.ticketsBy(key, passes)
		if tickets == nil || !c.inSequence(tickets, done) {
			continue
		}
		return func(b *model.Builder, edits Edits) {
			object := b.NewObject(model.ObjectInfo{Kind: model.ObjectSequence})
			take := func(e *Edit, at int, x ticket) {
				e.After[at] = append(e.After[at], model.Op{Kind: model.OpTicket, Arg: object, At: x.at, Late: -1})
			}
			// Of tickets that are still out when the window ends the turn is behind it: the list
			// must not begin anew in between, where it would take one more.
			for list, x := range c.last(key, tickets) {
				take(edits.Of(list), x.op, x)
				holdOn(b, list, x.op, len(b.P.Lists[list].Ops)-1)
			}
			for _, x := range tickets {
				s := x.pass
				e := edits.instead(b, s, model.OpTurn, object)
				if x.op < 0 {
					// Taken before the window. They go on in this order, and so they were taken.
					b.P.Objects[object].Tickets = append(b.P.Objects[object].Tickets, model.AtFirst(x.list))
				} else {
					take(e, x.op, x)
				}
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

// holdOn keeps a list from beginning anew from one op to another, both included: the round that
// begins there would have what the one before took, or lack it.
func holdOn(b *model.Builder, list int32, from, to int) {
	for k := from; k <= to; k++ {
		o := &b.P.Lists[list].Ops[k]
		o.Free, o.Loose = false, false
	}
}

// signalled returns the signals of the sections that have one: the op, the last one of several.
func (c *condition) signalled() map[*section]int {
	done := map[*section]int{}
	for _, s := range c.signals {
		done[s.section] = s.op
	}
	return done
}

// numbering returns the kinds of ops that goroutines may take numbers with, in the order in which
// the goroutine that goes on last does them. One example is enough: what is not among its ops is
// not done by each. Passes are in order of time, and not empty.
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

// numbers reports whether a number may be taken with an op: it must order goroutines itself. The
// condition's own lock does, but it is taken to go on.
func (c *condition) numbers(o *model.Op) (Anchor, bool) {
	return Anchor{Kind: o.Kind, Arg: o.Arg}, o.Kind == model.OpLock && o.Arg != c.lock || o.Kind == model.OpReceive
}

// behind returns the first op of a list behind the section in which its goroutine went on before, 0
// for the first section.
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
// as many as passes. Passes are in the order in which they went on. The first pass of a goroutine
// may have its ticket from before the window; a later one must have taken it since the one before.
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

// ticketIn returns the ticket that a list takes first between two ops, in [from, to), with op -1
// for none.
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
// before. Tickets are in the order in which goroutines went on.
func (c *condition) inSequence(tickets []ticket, done map[*section]int) bool {
	ordered := 0
	var f Fit
	for i := 1; i < len(tickets); i++ {
		// Two neighbors suffice: if each is behind the one before it, all are in order.
		before, s := &tickets[i-1], tickets[i].pass
		if before.at <= tickets[i].at {
			ordered++
		}
		signal, ok := done[before.pass]
		if !ok {
			continue
		}
		// A goroutine must wait if the one before has not signalled when it comes, and has to have
		// its signal when it goes on.
		at := c.p.Lists[before.list].Ops[signal].At
		if s.waits >= 0 {
			f.Note(FitWaited, at > s.came)
		} else {
			f.Note(FitPassed, at <= s.came)
		}
		f.Note(fitWentOn, at <= s.at)
	}
	// Nearly all must signal: without that the fit has no cases, and would be good for nothing.
	return float64(ordered) >= leastInOrder*float64(len(tickets)-1) && float64(f.all[fitWentOn]) >= model.Agreeing*float64(len(tickets)-1) && f.good()
}
