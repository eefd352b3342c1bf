package infer

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// The lists begin anew, but not with their first op, and do not come to their last one. A wait
// whose end is only before or behind what is done again would never end (a deadlock that the
// program does not have), and a wake-up whose wait is done once would be given again and again.
// recur finds these:
//
//	A   spawn B . [ work . wait 1 ] again and again
//	B   wake 1 .. [ sleep ] again and again
//
// B wakes A once, and A waits each time round: from the second time on this wait is passed over.
// Whether an op is reached never, once or again is a question of reachability: from the goroutines
// that are there at first along the elements that they send and the goroutines that they start,
// each at most as often as what leads there. The result bounds how often, and does not count: an op
// that is reached twice is reached again.
//
// A token with one side done again and one done once is done once; with one side never done, the
// other passes over it.

// How often a place is reached, in order: rise compares them.
const (
	reachedNever = iota
	reachedOnce
	reachedAgain
)

// A tide holds how often places are reached. It rises from the goroutines that are there at first,
// along the elements that they send and the goroutines that they start.
type tide struct {
	p     *model.Program
	heads [][]int32 // by list: the receives with which its work begins
	// reached is how often each list's pieces are: the first one, up to the first head, and one
	// from each head.
	reached [][]uint8
}

// newTide returns how often places are reached. Heads and segments must be known, and where lists
// begin anew. It takes as many steps as there are ops, twice at most, as each piece rises twice at
// most.
func newTide(p *model.Program) *tide {
	t := &tide{p: p, heads: make([][]int32, len(p.Lists)), reached: make([][]uint8, len(p.Lists))}
	for l := range p.Lists {
		for k := 0; p.Lists[l].Serves >= 0 && k < len(p.Lists[l].Ops); k++ {
			if o := &p.Lists[l].Ops[k]; o.Kind == model.OpReceive && o.Head {
				t.heads[l] = append(t.heads[l], int32(k))
			}
		}
		t.reached[l] = make([]uint8, len(t.heads[l])+1)
	}
	for i := range p.Lists {
		// What is there when the window begins, or comes from outside, is reached once, and then
		// again within its own loop. What timers call is set again and again.
		switch l := &p.Lists[i]; {
		case l.Set:
			t.rise(int32(i), 0, reachedAgain)
		case !l.Born || l.Spawned.List < 0:
			t.rise(int32(i), 0, reachedOnce)
		}
	}
	// Elements that channels hold at first are received, too.
	for i := range p.Objects {
		for _, e := range p.Objects[i].Elements {
			t.rise(p.Segments[e].List, t.piece(p.Segments[e]), reachedOnce)
		}
	}
	return t
}

// piece returns the piece that an op is in: a head begins the next one.
func (t *tide) piece(at model.Place) int {
	n, exact := slices.BinarySearch(t.heads[at.List], at.Op)
	if exact {
		n++
	}
	return n
}

// of returns how often an op is reached.
func (t *tide) of(at model.Place) uint8 { return t.within(at, t.reached[at.List][t.piece(at)]) }

// within is how often an op is reached whose piece is reached so often. In a goroutine that serves,
// or one that does not begin anew, that is the same for all ops of the piece.
func (t *tide) within(at model.Place, r uint8) uint8 {
	l := &t.p.Lists[at.List]
	switch {
	case l.Serves >= 0 || l.To == 0 || r == reachedNever:
		return r
	case at.Op >= l.To:
		return reachedNever
	case at.Op >= l.From:
		return reachedAgain
	}
	return r
}

// rise has a piece reached at least so often, and what follows from it. It ends, since a piece that
// is reached as often already is passed over.
func (t *tide) rise(list int32, piece int, r uint8) {
	type rising struct {
		list  int32
		piece int
		r     uint8
	}
	pending := []rising{{list, piece, r}}
	for len(pending) > 0 {
		x := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if x.r <= t.reached[x.list][x.piece] {
			continue
		}
		t.reached[x.list][x.piece] = x.r
		l := &t.p.Lists[x.list]
		from, to := int32(0), int32(len(l.Ops))
		if x.piece > 0 {
			from = t.heads[x.list][x.piece-1]
		}
		if x.piece < len(t.heads[x.list]) {
			to = t.heads[x.list][x.piece]
		}
		for k := from; k < to; k++ {
			o := &l.Ops[k]
			switch {
			case o.Kind == model.OpSend && o.Segment > 0:
				// Only at a head does another list's work begin. Elsewhere its own list leads to
				// the receive.
				if at := t.p.Segments[o.Segment]; t.p.Op(at).Head {
					pending = append(pending, rising{at.List, t.piece(at), t.within(model.Place{List: x.list, Op: k}, x.r)})
				}
			case o.Kind == model.OpSpawn:
				pending = append(pending, rising{o.Arg, 0, t.within(model.Place{List: x.list, Op: k}, x.r)})
			}
		}
	}
}

// recur marks the waits, and what ends them, that are done less often than the other side is. A
// wait or a wake-up gets Never or Once, and what is done once a number, by which a simulation knows
// that it has been.
func recur(p *model.Program) {
	t := newTide(p)
	wakes, waits := p.Wakers(), model.Nowhere(int(p.Tokens))
	for at, o := range p.All() {
		if o.Kind == model.OpWait {
			waits[o.Arg] = at
		}
	}
	mark := func(o *model.Op, other uint8) {
		o.Never, o.Once = other == reachedNever, other == reachedOnce
		if o.Once {
			o.Nth = p.Onces
			p.Onces++
		}
	}
	for token, at := range waits {
		p.Rec.RestsAt(token)
		// Else one side is not in the recording, or has become an object's.
		if at.List >= 0 && wakes[token].List >= 0 {
			mark(p.Op(at), t.of(wakes[token]))
			mark(p.Op(wakes[token]), t.of(at))
		}
	}
	// Inferred objects have one send for each receive, so that these can be short of each other as
	// tokens are. Recorded ones hold what is sent.
	for at, o := range p.All() {
		if o.Kind == model.OpSend && o.Segment > 0 && p.Objects[o.Arg].Inferred {
			to := p.Segments[o.Segment]
			if q := p.Op(to); q.Kind == model.OpReceive && !q.Head {
				mark(q, t.of(at))
				mark(o, t.of(to))
			}
		}
	}
}
