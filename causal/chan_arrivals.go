package causal

import (
	"slices"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/clock"
)

// An arrival is a goroutine at a select statement, which may end for another reason.
type arrival struct {
	l     *ledger.Ledger
	at    int64
	place *letter
}

// mostArrivals is how many are remembered. Of those that have waited longest it is forgotten that
// they have.
const mostArrivals = 64

// arrive books that the goroutine has come to a select statement.
func (t *table) arrive(o *observation, l *ledger.Ledger, at int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leave(l)
	if len(t.arrived) == mostArrivals {
		t.leave(t.arrived[0].l)
	}
	t.arrived = append(t.arrived, arrival{l, at, t.invite(o, l, at)})
}

// leave forgets the goroutine's arrival, and returns it.
func (t *table) leave(l *ledger.Ledger) (a arrival, ok bool) {
	i := slices.IndexFunc(t.arrived, func(a arrival) bool { return a.l == l })
	if i < 0 {
		return a, false
	}
	a = t.arrived[i]
	t.arrived = slices.Delete(t.arrived, i, i+1)
	t.withdraw(a.place)
	return a, true
}

// selected books that a select statement has received an element with the letter.
func (t *table) selected(o *observation, l *ledger.Ledger, x *letter, buffered int) {
	got := clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	at := got
	if a, ok := t.leave(l); ok {
		at = a.at
		o.arrive(l, at)
	}
	t.taken(o, l, x, at, got, buffered)
}

// sentSelected books that a select statement has sent an element with the letter.
func (t *table) sentSelected(o *observation, l *ledger.Ledger, x *letter, buffered int) {
	got := clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !x.found {
		t.find(x, buffered)
	}
	o.arrive(l, x.at)
	o.acquire(l, x.at, got, &x.place)
}
