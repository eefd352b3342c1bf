package replay

import (
	"cmp"
	"slices"
)

// Where work travels with the request, which connection it goes over is an accident of the recording: whichever is free is
// taken. A channel of one connection, of which two requests had no need at a time, would hold up the second one where both
// happen to need it at once in the replay, and for ever if the first one waits for the second. So a channel that decides nothing
// is not an object: each of its elements is a wait of its receiver for its sender.

// An exchange is what was done on a channel.
type exchange struct {
	sends, receives []place
	full            bool // a sender waited
}

// pair puts waits for goroutines in place of the operations on channels that decide nothing: that have one element, or belong to a
// connection.
func (p *program) pair() {
	all := make([]exchange, len(p.objects))
	for l := range p.lists {
		for k := range p.lists[l].ops {
			switch o := &p.lists[l].ops[k]; o.kind {
			case opSend:
				x := &all[o.arg]
				x.sends = append(x.sends, place{int32(l), int32(k)})
				x.full = x.full || o.site != 0
			case opReceive:
				x := &all[o.arg]
				x.receives = append(x.receives, place{int32(l), int32(k)})
			}
		}
	}
	carries := p.carriers(all)
	from := p.singles(all)
	for i := range all {
		switch x := &all[i]; {
		case len(x.receives) == 0 && !x.full && !p.cases[int32(i)]: // by who waited before the window
			p.discard(x.sends)
		case len(x.sends) == 0 || len(x.receives) == 0 || p.cases[int32(i)]:
		case p.objects[i].capacity == 0 && len(x.sends) > 1 && p.repliesTo(x, from):
			p.detached(x, 0)
		case x.full && p.objects[i].capacity == 0: // the sender waits for the receiver, too
		case len(x.sends) == 1 && len(x.receives) == 1 && p.objects[i].count == 0, !x.full && carries[x.receiver()]:
			p.detached(x, int(p.objects[i].count))
		}
	}
}

// singles returns which lists sent the elements that were alone on their channels, by the op that received each.
func (p *program) singles(all []exchange) map[place]int32 {
	from := map[place]int32{}
	for i := range all {
		if x := &all[i]; len(x.sends) == 1 && len(x.receives) == 1 {
			from[x.receives[0]] = x.sends[0].list
		}
	}
	return from
}

// repliesTo reports whether one goroutine sends all elements, each behind one that the receiver had sent to it, on a channel of that request,
// and no other since: the two of them meet there, even if other goroutines use the channel.
func (p *program) repliesTo(x *exchange, from map[place]int32) bool {
	if len(x.sends) != len(x.receives) || slices.ContainsFunc(x.sends, func(at place) bool { return at.list != x.sends[0].list }) {
		return false
	}
	p.inOrder(x)
	theirs := 0
	for n, at := range x.sends {
		for k := at.op - 1; k >= max(0, at.op-within); k-- {
			if by, ok := from[place{at.list, k}]; ok {
				if by == x.receives[n].list {
					theirs++
				}
				break
			}
		}
	}
	return float64(theirs) >= fairness*float64(len(x.sends))
}

// inOrder has the operations in the order in which they began.
func (p *program) inOrder(x *exchange) {
	begun := func(a, b place) int { return cmp.Compare(p.op(a).d, p.op(b).d) }
	slices.SortStableFunc(x.sends, begun)
	slices.SortStableFunc(x.receives, begun)
}

// receiver returns the list that receives all elements, none if there are several.
func (x *exchange) receiver() int32 {
	if slices.ContainsFunc(x.receives, func(at place) bool { return at.list != x.receives[0].list }) {
		return none
	}
	return x.receives[0].list
}

const none = -1

// carriers returns the lists of goroutines that carry what others send through the network: they have no spans and wait for the
// network, or exchange elements with one that does, and with no other goroutine.
func (p *program) carriers(all []exchange) map[int32]bool {
	spans, waits := make([]bool, len(p.lists)), map[int32]bool{}
	for l := range p.lists {
		for k := range p.lists[l].ops {
			switch o := &p.lists[l].ops[k]; {
			case o.kind == opOpen:
				spans[l] = true
			case o.kind == opOut && o.reason == waitNetwork:
				waits[int32(l)] = true
			}
		}
	}
	carries := map[int32]bool{}
	for l := range waits {
		carries[l] = !spans[l]
	}
	for i := range all {
		x := &all[i]
		if len(x.sends) < 2 || len(x.receives) < 2 || x.receiver() == none {
			continue
		}
		from, to := x.sends[0].list, x.receiver()
		if slices.ContainsFunc(x.sends, func(at place) bool { return at.list != from }) {
			continue
		}
		for _, ends := range [][2]int32{{from, to}, {to, from}} {
			if waits[ends[0]] && !spans[ends[0]] && !spans[ends[1]] {
				carries[ends[1]] = true
			}
		}
	}
	return carries
}

// detached has each receive of a channel wait for its send alone. Elements that were there at first have none.
func (p *program) detached(x *exchange, there int) {
	p.inOrder(x)
	site := int32(0) // of one that waited
	for _, at := range x.receives {
		if s := p.op(at).site; s != 0 {
			site = s
		}
	}
	there = min(there, len(x.receives))
	for k, at := range x.receives {
		o := p.op(at)
		if o.site == 0 {
			o.d, o.site = o.at, site
		}
		n := k - there
		if n < 0 || n >= len(x.sends) {
			o.pass()
			continue
		}
		wake := p.op(x.sends[n])
		o.kind, o.arg, o.d, o.reason, o.tries = opWait, p.tokens, o.at-o.d, waitReceive, false
		wake.kind, wake.arg, wake.d, wake.site, wake.reason, wake.tries = opWake, p.tokens, 0, o.site, waitReceive, false
		p.tokens++
	}
	p.discard(x.sends[min(len(x.sends), max(0, len(x.receives)-there)):])
}

// discard has sends of elements that nothing receives take no time.
func (p *program) discard(sends []place) {
	for _, at := range sends {
		p.op(at).pass()
	}
}

// pass has an op do nothing.
func (o *op) pass() { *o = op{kind: opRun, at: o.at, set: o.set, free: o.free, loose: o.loose} }
