package causal

import (
	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/goroutine"
)

// A relay is the place where one goroutine leaves its stamp for the next. It takes memory when it
// is first used while something is observed. Its holder guards it.
type relay struct{ stamp *ledger.Stamp }

// unmarked is the stamp that no goroutine has left. It is never written.
var unmarked ledger.Stamp

// leave replaces the stamp with the ledger's, now.
func (r *relay) leave(o *observation, l *ledger.Ledger) {
	if r.stamp == nil {
		r.stamp = new(ledger.Stamp)
	}
	o.stamp(l, clock.Now(), r.stamp)
}

// merge makes the stamp that of both (the join of two happens-before edges).
func (r *relay) merge(other *ledger.Stamp) {
	if r.stamp == nil {
		r.stamp = new(ledger.Stamp)
	}
	r.stamp.Merge(other)
}

// read returns the stamp, which the caller must not change.
func (r *relay) read() *ledger.Stamp {
	if r.stamp == nil {
		return &unmarked
	}
	return r.stamp
}

// clear forgets the stamp.
func (r *relay) clear() {
	if r.stamp != nil {
		*r.stamp = ledger.Stamp{}
	}
}

// ledger returns the ledger of the calling goroutine.
func (o *observation) ledger() *ledger.Ledger {
	return books.of(goroutine.Current(), nil, o.setting, 0)
}

// fork returns the ledger of a goroutine that the caller is about to start, nil if nothing is
// observed.
func fork() *ledger.Ledger {
	o := current.Load()
	if o == nil {
		return nil
	}
	defer o.contain()
	return o.ledger().Fork(o.setting, clock.Now())
}

// withLedger runs f with l, which may be nil, as the ledger of the goroutine.
func withLedger(l *ledger.Ledger, f func()) {
	if o := current.Load(); l != nil && o != nil {
		id := goroutine.Current()
		books.adopt(id, l, o.setting)
		defer books.forget(id)
	}
	f()
}
