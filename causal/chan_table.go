package causal

import (
	"sync"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/traced"
)

// A channel of Go has no room for stamps. They are in a table beside it, in the order in which
// the channel serves: elements, places and goroutines that wait, each first come, first served.
// What is not observed, or slips in between, leaves a stamp too many or too few there, and then a
// neighbour's is taken for it; the numbers of elements and places tell, and it does not last.

// A letter is what a sender writes into an element, and what is written for it.
type letter struct {
	sent  ledger.Stamp
	place ledger.Stamp // that the element takes, or of the receiver if there are no places
	at    int64        // when the sender arrived
	// found is true when place is written, with the zero stamp if no receiver has left one.
	found bool
	// readers is how many still need the letter: the receiver, and the sender if it waits.
	readers int8

	listed bool
	next   *letter
}

// unstamped is the letter of a sender that is not observed. It is never written.
var unstamped letter

// mostPlaces is how many free places are remembered. A channel with more of them is not full, and
// no sender waits for a place in it.
const mostPlaces = 256

// table is what goroutines that meet at a channel leave for each other.
type table struct {
	places int // the channel's capacity
	marks  traced.Chan

	mu sync.Mutex
	// free are the places that have been emptied, the oldest first. The letters' place tells by
	// which receiver. A channel without places has one for each receiver that waits instead.
	free letters
	// waiting are the senders whose elements have no place yet.
	waiting letters
	closed  relay
	arrived []arrival
	spare   letters
}

// letter returns one for an element that is received by a goroutine that is observed.
func (t *table) letter() *letter {
	x := t.spare.pop()
	if x == nil {
		x = new(letter)
	}
	x.readers, x.found = 1, false
	return x
}

// drop releases one reference to the letter.
func (t *table) drop(x *letter) {
	if x.readers--; x.readers == 0 {
		t.spare.push(x)
	}
}

// offered books that an element with the letter was sent at once, and so many are in the channel.
func (t *table) offered(o *observation, l *ledger.Ledger, x *letter, at int64, buffered int) {
	t.find(x, buffered)
	if t.places == 0 {
		o.stamp(l, at, &x.sent) // of the arrival: the later of the two need not wait
	}
	o.acquire(l, at, at, &x.place)
	if t.places > 0 {
		o.stamp(l, at, &x.sent)
	}
}

// find finds the place that an element with the letter has taken, after which so many were in the
// channel: the one that has been free longest.
func (t *table) find(x *letter, buffered int) {
	x.found, x.place = true, ledger.Stamp{}
	if t.places > 0 {
		free := min(t.places, t.places-buffered+1)
		for t.free.n > free {
			t.drop(t.free.pop())
		}
		if t.free.n < free {
			return // no receiver has emptied it, or so long ago that it does not matter
		}
	}
	if p := t.free.pop(); p != nil {
		x.place = p.place
		t.drop(p)
	}
}

// expect books that a sender is about to wait.
func (t *table) expect(o *observation, l *ledger.Ledger, x *letter, at int64) {
	x.readers = 2
	o.stamp(l, at, &x.sent)
	t.waiting.push(x)
}

// sent books the end of a wait to send. Without success the letter's element is nowhere.
func (t *table) sent(o *observation, l *ledger.Ledger, x *letter, at int64, ok bool, buffered int) {
	got := clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting.remove(x)
	if !ok {
		if x.found && t.places > 0 {
			t.vacate(&x.place) // for the next
		}
		x.readers = 1
		t.drop(x)
		o.resume(l, at, got)
		return
	}
	if !x.found {
		t.find(x, buffered)
	}
	o.acquire(l, at, got, &x.place)
	t.drop(x)
}

// taken books that an element with the letter x was received, or nil from a closed channel, and
// so many are left.
func (t *table) taken(o *observation, l *ledger.Ledger, x *letter, at, got int64, buffered int) {
	if x == nil {
		o.acquire(l, at, got, t.closed.read())
		return
	}
	if x == &unstamped {
		o.acquire(l, at, got, &unmarked)
	} else {
		if !x.found { // the sender has not gone on yet
			t.waiting.remove(x)
			if t.places > 0 {
				t.find(x, buffered+1)
			} else {
				x.found = true
				o.stamp(l, at, &x.place)
			}
		}
		o.acquire(l, at, got, &x.sent)
		t.drop(x)
	}
	if t.places > 0 {
		var place ledger.Stamp
		o.stamp(l, got, &place)
		t.vacate(&place)
	}
}

// vacate gives a place that has been emptied to the sender that has waited longest.
func (t *table) vacate(place *ledger.Stamp) {
	if x := t.waiting.pop(); x != nil {
		x.place, x.found = *place, true
		x.sent.Merge(place) // it was not there before
		return
	}
	if t.free.n >= min(t.places, mostPlaces) {
		t.drop(t.free.pop())
	}
	p := t.letter()
	p.place = *place
	t.free.push(p)
}

// invite books that a receiver is about to wait. It returns the place that it offers if the
// channel has none of its own.
func (t *table) invite(o *observation, l *ledger.Ledger, at int64) *letter {
	if t.places > 0 {
		return nil
	}
	if t.free.n == mostPlaces {
		t.drop(t.free.pop()) // the place that has been free for longest delays senders least
	}
	p := t.letter()
	p.readers = 2
	o.stamp(l, at, &p.place)
	t.free.push(p)
	return p
}

// received books the end of a wait to receive.
func (t *table) received(o *observation, l *ledger.Ledger, x, place *letter, at int64, ok bool, buffered int) {
	got := clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.withdraw(place)
	if !ok {
		o.resume(l, at, got)
		return
	}
	t.taken(o, l, x, at, got, buffered)
}

// withdraw takes back a place from invite, which a sender may have taken.
func (t *table) withdraw(place *letter) {
	if place == nil {
		return
	}
	if t.free.remove(place) {
		t.drop(place)
	}
	t.drop(place)
}

// letters is a list of them, first in, first out. A letter is in one list at most.
type letters struct {
	first, last *letter
	n           int
}

func (q *letters) push(x *letter) {
	x.listed, x.next = true, nil
	if q.last == nil {
		q.first = x
	} else {
		q.last.next = x
	}
	q.last = x
	q.n++
}

// pop returns the first, nil if there is none.
func (q *letters) pop() *letter {
	x := q.first
	if x == nil {
		return nil
	}
	if q.first = x.next; q.first == nil {
		q.last = nil
	}
	q.n--
	x.listed, x.next = false, nil
	return x
}

// remove takes x out if it is in, and reports whether it was. It may be in no other list.
func (q *letters) remove(x *letter) bool {
	if !x.listed {
		return false
	}
	if q.first == x {
		q.pop()
		return true
	}
	before := q.first
	for before.next != x {
		before = before.next
	}
	if before.next = x.next; x.next == nil {
		q.last = before
	}
	q.n--
	x.listed, x.next = false, nil
	return true
}
