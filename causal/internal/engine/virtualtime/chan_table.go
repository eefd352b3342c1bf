package virtualtime

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

// A Letter is what a sender writes into an element, and what is written for it.
type Letter struct {
	Sent  ledger.Stamp
	place ledger.Stamp // that the element takes, or of the receiver if there are no places
	At    int64        // when the sender arrived
	// found is true when place is written, with the zero stamp if no receiver has left one.
	found bool
	// Readers is how many still need the letter: the receiver, and the sender if it waits.
	Readers int8

	listed bool
	next   *Letter
}

// Unstamped is the letter of a sender that is not observed. It is never written.
var Unstamped Letter

// mostPlaces is how many free places are remembered. A channel with more of them is not full, and
// no sender waits for a place in it.
const mostPlaces = 256

// Table is what goroutines that meet at a channel leave for each other.
type Table struct {
	Places int // the channel's capacity
	Marks  traced.Chan

	Mu sync.Mutex
	// Free are the places that have been emptied, the oldest first. The letters' place tells by
	// which receiver. A channel without places has one for each receiver that waits instead.
	Free letters
	// Waiting are the senders whose elements have no place yet.
	Waiting letters
	Closed  Relay
	Arrived []arrival
	spare   letters
}

// Letter returns one for an element that is received by a goroutine that is observed.
func (t *Table) Letter() *Letter {
	x := t.spare.pop()
	if x == nil {
		x = new(Letter)
	}
	x.Readers, x.found = 1, false
	return x
}

// Drop releases one reference to the letter.
func (t *Table) Drop(x *Letter) {
	if x.Readers--; x.Readers == 0 {
		t.spare.push(x)
	}
}

// Offered books that an element with the letter was sent at once, and so many are in the channel.
func (t *Table) Offered(o *Observation, l *ledger.Ledger, x *Letter, at int64, buffered int) {
	t.find(x, buffered)
	if t.Places == 0 {
		o.Stamp(l, at, &x.Sent) // of the arrival: the later of the two need not wait
	}
	o.Acquire(l, at, at, &x.place)
	if t.Places > 0 {
		o.Stamp(l, at, &x.Sent)
	}
}

// find finds the place that an element with the letter has taken, after which so many were in the
// channel: the one that has been free longest.
func (t *Table) find(x *Letter, buffered int) {
	x.found, x.place = true, ledger.Stamp{}
	if t.Places > 0 {
		free := min(t.Places, t.Places-buffered+1)
		for t.Free.N > free {
			t.Drop(t.Free.pop())
		}
		if t.Free.N < free {
			return // no receiver has emptied it, or so long ago that it does not matter
		}
	}
	if p := t.Free.pop(); p != nil {
		x.place = p.place
		t.Drop(p)
	}
}

// Expect books that a sender is about to wait.
func (t *Table) Expect(o *Observation, l *ledger.Ledger, x *Letter, at int64) {
	x.Readers = 2
	o.Stamp(l, at, &x.Sent)
	t.Waiting.push(x)
}

// Sent books the end of a wait to send. Without success the letter's element is nowhere.
func (t *Table) Sent(o *Observation, l *ledger.Ledger, x *Letter, at int64, ok bool, buffered int) {
	got := clock.Now()
	t.Mu.Lock()
	defer t.Mu.Unlock()
	t.Waiting.remove(x)
	if !ok {
		if x.found && t.Places > 0 {
			t.vacate(&x.place) // for the next
		}
		x.Readers = 1
		t.Drop(x)
		o.Resume(l, at, got)
		return
	}
	if !x.found {
		t.find(x, buffered)
	}
	o.Acquire(l, at, got, &x.place)
	t.Drop(x)
}

// Taken books that an element with the letter x was received, or nil from a closed channel, and
// so many are left.
func (t *Table) Taken(o *Observation, l *ledger.Ledger, x *Letter, at, got int64, buffered int) {
	if x == nil {
		o.Acquire(l, at, got, t.Closed.Read())
		return
	}
	if x == &Unstamped {
		o.Acquire(l, at, got, &unmarked)
	} else {
		if !x.found { // the sender has not gone on yet
			t.Waiting.remove(x)
			if t.Places > 0 {
				t.find(x, buffered+1)
			} else {
				x.found = true
				o.Stamp(l, at, &x.place)
			}
		}
		o.Acquire(l, at, got, &x.Sent)
		t.Drop(x)
	}
	if t.Places > 0 {
		var place ledger.Stamp
		o.Stamp(l, got, &place)
		t.vacate(&place)
	}
}

// vacate gives a place that has been emptied to the sender that has waited longest.
func (t *Table) vacate(place *ledger.Stamp) {
	if x := t.Waiting.pop(); x != nil {
		x.place, x.found = *place, true
		x.Sent.Merge(place) // it was not there before
		return
	}
	if t.Free.N >= min(t.Places, mostPlaces) {
		t.Drop(t.Free.pop())
	}
	p := t.Letter()
	p.place = *place
	t.Free.push(p)
}

// Invite books that a receiver is about to wait. It returns the place that it offers if the
// channel has none of its own.
func (t *Table) Invite(o *Observation, l *ledger.Ledger, at int64) *Letter {
	if t.Places > 0 {
		return nil
	}
	if t.Free.N == mostPlaces {
		t.Drop(t.Free.pop()) // the place that has been free for longest delays senders least
	}
	p := t.Letter()
	p.Readers = 2
	o.Stamp(l, at, &p.place)
	t.Free.push(p)
	return p
}

// Received books the end of a wait to receive.
func (t *Table) Received(o *Observation, l *ledger.Ledger, x, place *Letter, at int64, ok bool, buffered int) {
	got := clock.Now()
	t.Mu.Lock()
	defer t.Mu.Unlock()
	t.withdraw(place)
	if !ok {
		o.Resume(l, at, got)
		return
	}
	t.Taken(o, l, x, at, got, buffered)
}

// withdraw takes back a place from invite, which a sender may have taken.
func (t *Table) withdraw(place *Letter) {
	if place == nil {
		return
	}
	if t.Free.remove(place) {
		t.Drop(place)
	}
	t.Drop(place)
}

// letters is a list of them, first in, first out. A letter is in one list at most.
type letters struct {
	first, last *Letter
	N           int
}

func (q *letters) push(x *Letter) {
	x.listed, x.next = true, nil
	if q.last == nil {
		q.first = x
	} else {
		q.last.next = x
	}
	q.last = x
	q.N++
}

// pop returns the first, nil if there is none.
func (q *letters) pop() *Letter {
	x := q.first
	if x == nil {
		return nil
	}
	if q.first = x.next; q.first == nil {
		q.last = nil
	}
	q.N--
	x.listed, x.next = false, nil
	return x
}

// remove takes x out if it is in, and reports whether it was. It may be in no other list.
func (q *letters) remove(x *Letter) bool {
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
	q.N--
	x.listed, x.next = false, nil
	return true
}
