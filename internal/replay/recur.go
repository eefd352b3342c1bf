package replay

import "slices"

// The lists begin anew, but not with their first op, and do not come to their last one. A wait whose end is only before or
// behind what is done again would never end: recur finds these.

// How often a place is reached.
const (
	reachedNever = iota
	reachedOnce
	reachedAgain
)

// A tide holds how often places are reached. It rises from the goroutines that are there at first, along the elements that they
// send and the goroutines that they start.
type tide struct {
	p     *program
	heads [][]int32 // by list: the receives with which its work begins
	// reached is how often each list's pieces are: the first one, up to the first head, and one from each head.
	reached [][]uint8
}

func newTide(p *program) *tide {
	t := &tide{p: p, heads: make([][]int32, len(p.lists)), reached: make([][]uint8, len(p.lists))}
	for l := range p.lists {
		for k := 0; p.lists[l].serves >= 0 && k < len(p.lists[l].ops); k++ {
			if o := &p.lists[l].ops[k]; o.kind == opReceive && o.head {
				t.heads[l] = append(t.heads[l], int32(k))
			}
		}
		t.reached[l] = make([]uint8, len(t.heads[l])+1)
	}
	for i := range p.lists {
		switch l := &p.lists[i]; {
		case l.set:
			t.rise(int32(i), 0, reachedAgain)
		case !l.born || l.spawned.list < 0:
			t.rise(int32(i), 0, reachedOnce)
		}
	}
	for i := range p.objects {
		for _, e := range p.objects[i].elements {
			t.rise(p.segments[e].list, t.piece(p.segments[e]), reachedOnce)
		}
	}
	return t
}

// piece returns the piece that an op is in.
func (t *tide) piece(at place) int {
	n, exact := slices.BinarySearch(t.heads[at.list], at.op)
	if exact {
		n++
	}
	return n
}

// of returns how often an op is reached.
func (t *tide) of(at place) uint8 { return t.within(at, t.reached[at.list][t.piece(at)]) }

// within is how often an op is reached whose piece is reached so often.
func (t *tide) within(at place, r uint8) uint8 {
	l := &t.p.lists[at.list]
	switch {
	case l.serves >= 0 || l.to == 0 || r == reachedNever:
		return r
	case at.op >= l.to:
		return reachedNever
	case at.op >= l.from:
		return reachedAgain
	}
	return r
}

// rise has a piece reached at least so often.
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
		l := &t.p.lists[x.list]
		from, to := int32(0), int32(len(l.ops))
		if x.piece > 0 {
			from = t.heads[x.list][x.piece-1]
		}
		if x.piece < len(t.heads[x.list]) {
			to = t.heads[x.list][x.piece]
		}
		for k := from; k < to; k++ {
			o := &l.ops[k]
			switch {
			case o.kind == opSend && o.segment > 0:
				if at := t.p.segments[o.segment]; t.p.op(at).head {
					pending = append(pending, rising{at.list, t.piece(at), t.within(place{x.list, k}, x.r)})
				}
			case o.kind == opSpawn:
				pending = append(pending, rising{o.arg, 0, t.within(place{x.list, k}, x.r)})
			}
		}
	}
}

// recur marks the waits, and what ends them, that are done less often than the other side is.
func (p *program) recur() {
	t := newTide(p)
	nowhere := place{-1, -1} // where one side is not in the recording, or has become an object's
	wakes, waits := slices.Repeat([]place{nowhere}, int(p.tokens)), slices.Repeat([]place{nowhere}, int(p.tokens))
	for l := range p.lists {
		for k := range p.lists[l].ops {
			p.rec.restsAt(k)
			switch o := &p.lists[l].ops[k]; o.kind {
			case opWake:
				wakes[o.arg] = place{int32(l), int32(k)}
			case opWait:
				waits[o.arg] = place{int32(l), int32(k)}
			}
		}
	}
	mark := func(o *op, other uint8) {
		o.never, o.once = other == reachedNever, other == reachedOnce
		if o.once {
			o.nth = p.onces
			p.onces++
		}
	}
	for token, at := range waits {
		p.rec.restsAt(token)
		if at != nowhere && wakes[token] != nowhere {
			mark(p.op(at), t.of(wakes[token]))
			mark(p.op(wakes[token]), t.of(at))
		}
	}
	for l := range p.lists {
		for k := range p.lists[l].ops {
			o := &p.lists[l].ops[k]
			if o.kind == opSend && o.segment > 0 && p.objects[o.arg].inferred {
				at := p.segments[o.segment]
				if q := p.op(at); q.kind == opReceive && !q.head {
					mark(q, t.of(place{int32(l), int32(k)}))
					mark(o, t.of(at))
				}
			}
		}
	}
}
