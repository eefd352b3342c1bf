package hidden

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/model"
)

// What operations are assumed must agree with when goroutines waited: a lock is free for a
// goroutine that does not wait, a channel has an element for one that receives at once, and has
// always the same number of elements when a receiver waits.

// An Incident is an operation, or the beginning of a wait, in the order of time.
type Incident struct {
	rank float64
	at   int32 // event
	g    int32
	op   int32   // the operation: seen ones first, then inferred ones
	what mark.Op // the operation, or its beginning
	seen bool
}

// contradicted returns which part of the operations and waits contradict each other, 1 if they
// cannot be those of one object.
func (x *explanation) contradicted() float64 {
	if x.lock {
		return x.locks()
	}
	return x.counts()
}

// possible returns the incidents if all candidates were done, in order. The op of one that is not
// seen is its candidate.
func (x *explanation) possible(may []candidate) []Incident {
	all := make([]Incident, 0, 2*len(x.seen)+len(may))
	for k, i := range x.seen {
		a := &x.t.actions[i]
		e := Incident{at: a.from, g: a.g, what: x.t.slots[a.slot].what, seen: true, op: int32(k)}
		if !a.waited {
			all = append(all, e)
			continue
		}
		if !a.since {
			begin := e
			begin.what = begin.what.Beginning()
			all = append(all, begin)
		}
		switch {
		case a.given >= 0: // behind what lets it go on
			e.at, e.rank = a.given, 0.5
			all = append(all, e)
		case a.to >= 0:
			e.at = a.to
			all = append(all, e)
		}
	}
	for k := range may {
		u := &may[k]
		all = append(all, Incident{at: u.before - 1, rank: 1 + u.rank, g: u.g, what: u.what, op: int32(k)})
	}
	slices.SortStableFunc(all, func(a, b Incident) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank)) })
	return all
}

// incidents returns the seen and the inferred operations, in order, until the next call.
func (x *explanation) incidents() []Incident {
	x.now = slices.Grow(x.now[:0], len(x.order))
	for i := range x.order {
		e := x.order[i]
		if !e.seen {
			number := x.number[e.op]
			if number < 0 {
				continue
			}
			e.op = int32(len(x.seen)) + number
		}
		x.now = append(x.now, e)
	}
	return x.now
}

// leastWaits is how often a channel must have been found empty for that to be known.
const leastWaits = LeastHandovers / 2

// counts holds the operations against those of one channel, and finds its capacity.
func (x *explanation) counts() float64 {
	level := int32(0)
	all := x.incidents()
	lowest := int32(0)
	empty, full := map[int32]int{}, map[int32]int{}
	for _, e := range all {
		switch {
		case e.what == mark.Receive.Beginning():
			empty[level]++
		case e.what == mark.Send.Beginning():
			full[level]++
		case e.seen: // it ends a wait: what one puts in, the other one takes out
		case e.what == mark.Send:
			level++
		case e.what == mark.Receive:
			level--
		}
		lowest = min(lowest, level)
	}
	nothing, waits, right := usual(empty)
	everything, more, rightToo := usual(full)
	wrong := waits - right + more - rightToo
	total := waits + more
	x.capacity = model.Unlimited
	x.Counted, x.There = more == 0 && waits >= leastWaits && nothing <= 0, -nothing
	if more > 0 {
		if waits < leastWaits {
			nothing = lowest
		}
		x.capacity = everything - nothing
	}
	if x.capacity < 0 || more > 0 && waits < leastWaits && !x.places() {
		return 1
	}
	level = 0
	for _, e := range all {
		if e.seen {
			continue
		}
		total++
		switch e.what {
		case mark.Send:
			if more > 0 && level >= everything {
				wrong++
			}
			level++
		case mark.Receive:
			if waits >= leastWaits && level <= nothing {
				wrong++
			}
			level--
		}
	}
	return float64(wrong) / float64(max(1, total))
}

// places reports whether the elements are places that goroutines have: each is received by the
// goroutine that sent it, or by one that this one has started. Of another channel that is never
// found empty it is not known how many elements it holds.
func (x *explanation) places() bool {
	sent, received := map[int32]int{}, map[int32]int{}
	all := 0
	each := func(g int32, what mark.Op) {
		if what == mark.Send {
			sent[g]++
		} else {
			received[g]++
			all++
		}
	}
	for _, i := range x.seen {
		each(x.t.actions[i].g, x.t.slots[x.t.actions[i].slot].what)
	}
	for _, u := range x.told {
		each(u.g, u.what)
	}
	theirs := 0
	for g, n := range received {
		own := min(n, sent[g])
		sent[g] -= own
		theirs, received[g] = theirs+own, n-own
	}
	for g, n := range received {
		if by := x.t.parents[g]; n > 0 && by >= 0 {
			own := min(n, sent[by])
			sent[by] -= own
			theirs += own
		}
	}
	return float64(theirs) >= Fairness*float64(all)
}

// usual returns the number that is counted most often, the least of several, and how many were
// counted.
func usual(counts map[int32]int) (number int32, all, most int) {
	for n, c := range counts {
		all += c
		if c > most || c == most && n < number {
			number, most = n, c
		}
	}
	return number, all, most
}
