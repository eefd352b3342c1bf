package pmuattrs

import (
	"math"
	"math/rand/v2"
	"sync/atomic"

	"github.com/otelprof/otelprof/internal/glob"
	"github.com/otelprof/otelprof/spans"
)

// A rate is how many random numbers choose a span to be measured: those below it.
type rate uint64

// oneIn is the rate of 1 in n spans, of none if n is 0. With 1 a span is missed in 2^64.
func oneIn(n int) rate {
	if n == 0 {
		return 0
	}
	return rate(math.MaxUint64 / uint64(n))
}

// A rule is the rate of the spans that match both patterns.
type rule struct {
	scope, name string
	rate        rate
}

// nameState is what a hook knows of the spans of one name.
type nameState struct {
	hook *Hook
	name string
	rate rate
	// moves reports that a span ended on another goroutine than it began: such spans are not
	// measured, and a goroutine must not be locked for them.
	moves  atomic.Bool
	region atomic.Pointer[region] // of the last span that was measured
}

var names = spans.NewNameSlot[nameState]()

// chooses draws whether a span is measured. Most are not, so it comes before all else: the
// random number costs some four nanoseconds.
func (h *Hook) chooses(r *spans.Span) bool {
	limit := h.rate
	if len(h.rules) != 0 {
		limit = h.rateOf(r)
	}
	return rand.Uint64() < uint64(limit)
}

// rateOf is what the rules say about a span, remembered for its name.
func (h *Hook) rateOf(r *spans.Span) rate {
	n := h.named(r)
	switch {
	case n == nil:
		return 0
	case n.name == r.Name():
		return n.rate
	}
	return h.rules.of(r, h.rate) // one of the many names that share a place, see spans.NameSlot
}

// named returns what is known of the span's name, nil if the provider has another hook of
// this kind.
func (h *Hook) named(r *spans.Span) *nameState {
	n := names.Get(r)
	if n == nil {
		// If several goroutines come here at once, the last one's is kept. They are equal.
		n = &nameState{hook: h, name: r.Name(), rate: h.rules.of(r, h.rate)}
		names.Set(r, n)
	}
	if n.hook != h {
		return nil
	}
	return n
}

type rules []rule

func (all rules) of(r *spans.Span, byDefault rate) rate {
	for _, rule := range all {
		if glob.Match(rule.name, r.Name()) && glob.Match(rule.scope, r.Scope().Name) {
			return rule.rate
		}
	}
	return byDefault
}
