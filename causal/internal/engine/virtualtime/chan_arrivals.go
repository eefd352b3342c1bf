package virtualtime

import (
	"slices"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/clock"
)

// An arrival is a goroutine at a select statement, which may end for another reason.
type arrival struct {
	l     *ledger.Ledger
	at    int64
	place *Letter
}

// mostArrivals is how many are remembered. Of those that have waited longest it is forgotten that
// they have.
const mostArrivals = 64

// Arrive books that the goroutine has come to a select statement.
func (t *Table) Arrive(o *Observation, l *ledger.Ledger, at int64) {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	t.leave(l)
	if len(t.Arrived) == mostArrivals {
		t.leave(t.Arrived[0].l)
	}
	t.Arrived = append(t.Arrived, arrival{l, at, t.Invite(o, l, at)})
}

// leave forgets the goroutine's arrival, and returns it.
func (t *Table) leave(l *ledger.Ledger) (a arrival, ok bool) {
	i := slices.IndexFunc(t.Arrived, func(a arrival) bool { return a.l == l })
	if i < 0 {
		return a, false
	}
	a = t.Arrived[i]
	t.Arrived = slices.Delete(t.Arrived, i, i+1)
	t.withdraw(a.place)
	return a, true
}

// Selected books that a select statement has received an element with the letter.
func (t *Table) Selected(o *Observation, l *ledger.Ledger, x *Letter, buffered int) {
	got := clock.Now()
	t.Mu.Lock()
	defer t.Mu.Unlock()
	at := got
	if a, ok := t.leave(l); ok {
		at = a.at
		o.Arrive(l, at)
	}
	t.Taken(o, l, x, at, got, buffered)
}

// SentSelected books that a select statement has sent an element with the letter.
func (t *Table) SentSelected(o *Observation, l *ledger.Ledger, x *Letter, buffered int) {
	got := clock.Now()
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if !x.found {
		t.find(x, buffered)
	}
	o.Arrive(l, x.At)
	o.Acquire(l, x.At, got, &x.place)
}
