package virtualtime

import (
	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/goroutine"
)

// A Relay is the place where one goroutine leaves its stamp for the next. It takes memory when it
// is first used while something is observed. Its holder guards it.
type Relay struct{ stamp *ledger.Stamp }

// unmarked is the stamp that no goroutine has left. It is never written.
var unmarked ledger.Stamp

// Leave replaces the stamp with the ledger's, now.
func (r *Relay) Leave(o *Observation, l *ledger.Ledger) {
	if r.stamp == nil {
		r.stamp = new(ledger.Stamp)
	}
	o.Stamp(l, clock.Now(), r.stamp)
}

// Merge makes the stamp that of both (the join of two happens-before edges).
func (r *Relay) Merge(other *ledger.Stamp) {
	if r.stamp == nil {
		r.stamp = new(ledger.Stamp)
	}
	r.stamp.Merge(other)
}

// Read returns the stamp, which the caller must not change.
func (r *Relay) Read() *ledger.Stamp {
	if r.stamp == nil {
		return &unmarked
	}
	return r.stamp
}

// Clear forgets the stamp.
func (r *Relay) Clear() {
	if r.stamp != nil {
		*r.stamp = ledger.Stamp{}
	}
}

// Ledger returns the ledger of the calling goroutine.
func (o *Observation) Ledger() *ledger.Ledger {
	return Books.Of(goroutine.Current(), nil, o.Setting)
}

// Fork returns the ledger of a goroutine that the caller is about to start, nil if nothing is
// observed.
func Fork() *ledger.Ledger {
	o := Current.Load()
	if o == nil {
		return nil
	}
	defer o.contain()
	return o.Ledger().Fork(o.Setting, clock.Now())
}

// WithLedger runs f with l, which may be nil, as the ledger of the goroutine.
func WithLedger(l *ledger.Ledger, f func()) {
	if o := Current.Load(); l != nil && o != nil {
		id := goroutine.Current()
		Books.Adopt(id, l, o.Setting)
		defer Books.Forget(id)
	}
	f()
}
