package simulator

import "github.com/otelprof/otelprof/causal/internal/ledger"

// Rules are some of those that experiments with delays are made of, see [Config.Without].
type Rules uint

// The rules that a world can go without.
const (
	// Handover: ledgers learn which goroutine waits for which, but not from package sync.
	Handover Rules = 1 << iota
	// Stamps: a goroutine that waits takes over the virtual time of the one that it waited for.
	Stamps
	// FreeHandover: so does a goroutine that gets a lock or an element without waiting.
	FreeHandover
	// Slots: a freed place in a queue carries a stamp, as an element does.
	Slots
	// Inheritance: a goroutine begins with the virtual time of its parent.
	Inheritance
	// Implied: a span is taken to wait for its children on other goroutines.
	Implied
	// PayFirst: debt is paid before another goroutine is let go on, not only at the end of a span.
	PayFirst
	// PayAgain: what the growth adds during a payment is paid at once.
	PayAgain
	// Prepayment: a payment that takes too long counts in full.
	Prepayment
)

func (w *World) without(r Rules) bool { return w.config.Without&r != 0 }

// books returns the goroutine's ledger.
func (g *Goroutine) books() *ledger.Ledger {
	if g.ledger == nil {
		g.ledger = ledger.New()
	}
	return g.ledger
}

// told returns what ledgers are kept for, nil if waits are not reported to them.
func (w *World) told() *ledger.Setting {
	if w.without(Handover) {
		return nil
	}
	return w.config.Setting
}

// arrive is to be called before the goroutine waits for another one.
func (g *Goroutine) arrive(at int64) {
	if s := g.world.told(); s != nil {
		g.books().Arrive(s, at)
	}
}

// acquire is to be called when the goroutine has got what it asked for at a time.
func (g *Goroutine) acquire(at int64, st *ledger.Stamp, waited bool) {
	s := g.world.told()
	switch {
	case s == nil:
	case !waited && g.world.without(FreeHandover|Stamps):
	case g.world.without(Stamps):
		g.books().Resume(s, at, g.world.now)
	default:
		g.books().Acquire(s, at, g.world.now, st)
	}
}

// stamp is to be called before the goroutine lets another one go on.
func (g *Goroutine) stamp(st *ledger.Stamp) {
	if s := g.world.told(); s != nil {
		g.books().Stamp(s, g.world.now, st)
	}
}
