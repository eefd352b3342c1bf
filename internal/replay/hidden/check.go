package hidden

import (
	"cmp"
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/model"
)

// The consistency test of a hypothesis: the operations, seen and assumed, must agree with when
// goroutines waited and when they did not. Both are evidence. A lock is free for a goroutine that
// does not wait, and held when one begins to. A channel has an element for a goroutine that
// receives at once, and always the same number of elements when a receiver waits, which is none.
//
//	level   0   1   2   1   0   0         one producer, one consumer
//	            s   s   r   r   R~~~r     s sends, r receives, R begins to wait
//	without the second, unseen s: R begins at -1, and elsewhere at 0
//
// How many elements a channel has when the window begins is not recorded. So levels are counted
// from 0, and the level at which receivers wait is minus that number (a flow balance: what is in is
// what has come in less what has gone out). The level at which senders wait is the capacity more.
//
// Times are a little wrong: an inferred operation stands where it usually is done, and an operation
// and its event are some instructions apart. So up to 5 % may contradict (1 - Fairness). TestUnseen
// holds that the operations of seven stock programs come out within 5 % of their number,
// TestUnseenIsNotTold that a channel which is never found empty is left alone.

// An Incident is an operation, or the beginning of a wait, in the order of time.
type Incident struct {
	rank float64 // the order of incidents at one event: seen, handed over, assumed
	at   int32   // event, at or behind which it is
	g    int32
	op   int32   // the operation: seen ones first, then inferred ones
	what mark.Op // the operation, or its beginning
	seen bool    // its op is an index of seen; else of candidates, or behind the seen ones
}

// contradicted returns which part of the operations and waits contradict each other, from 0 to 1; 1
// if they cannot be those of one object. It is for the operations that tell has put in place. For a
// channel it also finds the capacity.
func (x *explanation) contradicted() float64 {
	if x.lock {
		return x.locks()
	}
	return x.counts()
}

// possible returns the incidents if all candidates were done, in order. The op of one that is not
// seen is its candidate. It sorts once for all combinations of assumptions: each leaves some of the
// candidates out, and none changes the order.
func (x *explanation) possible(may []candidate) []Incident {
	all := make([]Incident, 0, 2*len(x.seen)+len(may))
	for k, i := range x.seen {
		a := &x.t.actions[i]
		e := Incident{at: a.from, g: a.g, what: x.t.slots[a.slot].what, seen: true, op: int32(k)}
		if !a.waited {
			all = append(all, e)
			continue
		}
		// A wait is two incidents. One from before the window has no beginning in it, one that
		// outlasts the window has no end.
		if !a.since {
			begin := e
			begin.what = begin.what.Beginning()
			all = append(all, begin)
		}
		switch {
		case a.given >= 0: // behind what lets it go on, at the same event, before it runs
			e.at, e.rank = a.given, 0.5
			all = append(all, e)
		case a.to >= 0:
			e.at = a.to
			all = append(all, e)
		}
	}
	// An unseen operation is before an event, which is behind all that belongs to the one before.
	for k := range may {
		u := &may[k]
		all = append(all, Incident{at: u.before - 1, rank: 1 + u.rank, g: u.g, what: u.what, op: int32(k)})
	}
	slices.SortStableFunc(all, func(a, b Incident) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank)) })
	return all
}

// incidents returns the seen and the inferred operations, in order, until the next call, which uses
// the same memory. The op of an inferred one is its index in told, behind the seen ones.
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

// leastWaits is how often a channel must have been found empty for that to be known. A part has
// LeastHandovers waits at least; where half of them are for elements and half for room, both levels
// are known. Were it lower, one misplaced operation could make up the level, and with it the
// capacity; were it higher, channels that are both found empty and found full would be dropped.
const leastWaits = LeastHandovers / 2

// counts holds the operations against those of one channel, and finds its capacity. It returns
// which part of the waits are at another level than most, and of the unseen operations would have
// had to wait; 1 if there is no such channel.
//
// The seen operations change no level: in each meeting one goroutine puts an element in, and the
// other one takes one out. A receiver that waits gets the sender's element past the buffer, and a
// sender that waits for room gets it in the moment a receiver takes an element (send and recv in
// runtime/chan.go).
func (x *explanation) counts() float64 {
	// Go through the operations, and count at which level goroutines begin to wait.
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
	// Most waits to receive are at the level that is empty, most waits to send at the one that is
	// full. The others contradict.
	nothing, waits, right := usual(empty)
	everything, more, rightToo := usual(full)
	wrong := waits - right + more - rightToo
	total := waits + more
	// Without a wait for room the capacity is not known, and any number of elements fits. The
	// number at the start is known if receivers waited often, and only for a channel that never was
	// full: else the translation finds it from where senders waited.
	x.capacity = model.Unlimited
	x.Counted, x.There = more == 0 && waits >= leastWaits && nothing <= 0, -nothing
	if more > 0 {
		if waits < leastWaits { // it was as empty as that, at least
			nothing = lowest
		}
		x.capacity = everything - nothing
	}
	if x.capacity < 0 || more > 0 && waits < leastWaits && !x.places() {
		return 1
	}
	if more == 0 {
		everything = math.MaxInt32
	}
	if waits < leastWaits {
		nothing = math.MinInt32
	}
	unseen, impossible := unwaited(all, nothing, everything)
	return float64(wrong+impossible) / float64(max(1, total+unseen))
}

// unwaited counts the unseen operations, and of them the ones that found the channel empty or full,
// by its levels. None of them has waited, so none may have found it so.
func unwaited(all []Incident, empty, full int32) (n, impossible int) {
	level := int32(0)
	for _, e := range all {
		if e.seen {
			continue
		}
		n++
		switch e.what {
		case mark.Send:
			if level >= full {
				impossible++
			}
			level++
		case mark.Receive:
			if level <= empty {
				impossible++
			}
			level--
		}
	}
	return n, impossible
}

// places reports whether the elements are places that goroutines have (a semaphore, or a pool of
// connections): each is received by the goroutine that sent it, or by one that this one has
// started. Then the elements cannot pile up unseen, and the lowest level is that of no goroutine
// with a place. Of another channel that is never found empty it is not known how many elements it
// holds.
//
//	sem <- x; work(); <-sem            the same goroutine
//	sem <- x; go func() { <-sem }()    one that it has started
//
// It counts by goroutine, not by element, and lets 5 % be otherwise: work that crosses the window's
// borders has one side only. A ring of stages that pass elements back to the first one through one
// channel would look alike, too.
func (x *explanation) places() bool { return x.comesBack(mark.Send) }

// lent reports the same where the elements are lent: each is sent, or a channel closed, by the
// goroutine that received one, or by one that this one has started.
func (x *explanation) lent() bool { return x.comesBack(mark.Receive) }

func (x *explanation) comesBack(first mark.Op) bool {
	taken, given := map[int32]int{}, map[int32]int{}
	all := 0
	each := func(g int32, what mark.Op) {
		if what == first {
			taken[g]++
		} else {
			given[g]++
			all++
		}
	}
	for _, i := range x.seen {
		each(x.t.actions[i].g, x.t.slots[x.t.actions[i].slot].what)
	}
	for _, u := range x.told {
		each(u.g, u.what)
	}
	// First what goroutines took themselves, so that a child only has what its parent left over.
	back := 0
	for g, n := range given {
		own := min(n, taken[g])
		taken[g] -= own
		back, given[g] = back+own, n-own
	}
	for g, n := range given {
		if by := x.t.parents[g]; n > 0 && by >= 0 {
			own := min(n, taken[by])
			taken[by] -= own
			back += own
		}
	}
	return float64(back) >= Fairness*float64(all)
}

// usual returns the number that is counted most often, the least of several, how many were counted
// together, and how often that one was; zeros for none. The order of the map does not matter.
func usual(counts map[int32]int) (number int32, all, most int) {
	for n, c := range counts {
		all += c
		if c > most || c == most && n < number {
			number, most = n, c
		}
	}
	return number, all, most
}
