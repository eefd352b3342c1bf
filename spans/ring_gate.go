package spans

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/internal/registry"
)

// ringGate is what a [Ring] publishes of its wishes, so that the goroutine which ends a session
// knows, without a lock, that the ring would not want it: then the session does not go to the
// worker. At high rates that are nearly all.
//
// The ring writes while it holds its lock, and a goroutine that ends a session only in takes. Each
// word by itself excludes one reason to want a session, so a reader needs no consistent view of all
// of them: what it reads was true at the moment when it read it, and a session ends at no exact
// moment. A gate that is open excludes nothing.
type ringGate struct {
	ready [2]atomic.Int64 // on the line of now: when a session without and with errors is wanted as a recent one
	below atomic.Uint64   // of a session's draw: from here on it is not wanted for the sample
	// slow has, by name, the longest duration that is not wanted among the slowest, in ns; wantsAll
	// for none.
	slow *registry.Registry[string, atomic.Int64]
}

const (
	wantsAll = math.MinInt64 // less than any duration, and before any time
	// gateNames is how many names have a word of their own. The gate is open for all others.
	gateNames = 4096
)

func newRingGate() *ringGate {
	g := &ringGate{slow: registry.New(gateNames, registry.String, newSlow)}
	for i := range g.ready {
		g.ready[i].Store(wantsAll)
	}
	g.below.Store(math.MaxUint64)
	return g
}

func newSlow(int) *atomic.Int64 {
	slow := new(atomic.Int64)
	slow.Store(wantsAll)
	return slow
}

// closed reports whether the ring certainly does not want a session that ends at a time, or now if
// that is 0. Slow is the word of its name, nil if there is none.
func (g *ringGate) closed(slow *atomic.Int64, draw uint64, duration time.Duration, errors int, at int64) bool {
	if slow == nil || int64(duration) > slow.Load() || draw < g.below.Load() {
		return false
	}
	if at == 0 {
		at = now()
	}
	return !g.takes(&g.ready[min(errors, 1)], at)
}

// takes reports whether the ring may want a session that ends at a time as a recent one. Of
// sessions that end before it has looked at the first, which is milliseconds later, it would want
// no other, so that one closes the gate behind it, for as long as the next one has to wait at
// least. The ring sets the exact time when it has looked.
func (g *ringGate) takes(ready *atomic.Int64, at int64) bool {
	for {
		from := ready.Load()
		switch {
		case at < from:
			return false
		case from == wantsAll || ready.CompareAndSwap(from, at+int64(time.Second/recentRate)):
			return true
		}
	}
}

// slowOf returns the word of the name of a root, nil if there is none. The region remembers it: it
// has one provider, which has one store.
func (g *ringGate) slowOf(root *Span) *atomic.Int64 {
	stats := root.lastStats()
	if slow := stats.slow.Load(); slow != nil {
		return slow
	}
	slow := g.slow.Get(root.Name())
	if slow != nil && stats.overflow == nil {
		stats.slow.Store(slow)
	}
	return slow
}

// setSlow publishes from which duration on sessions of a name are wanted among the slowest.
func (g *ringGate) setSlow(name string, longest int64) {
	slow := g.slow.Get(name)
	if slow == nil {
		slow = g.slow.Add(name, newSlow)
	}
	if slow != g.slow.Other() {
		slow.Store(longest)
	}
}

// setReady publishes when the next session is wanted as a recent one.
func (g *ringGate) setReady(errors int, p *pace) {
	ready := int64(wantsAll)
	if p.left < 1 {
		ready = sinceEpoch(p.last) + int64((1-p.left)/recentRate*float64(time.Second))
	}
	g.ready[min(errors, 1)].Store(ready)
}
