package pmuattrs

import (
	"math"
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

type rules []rule

func (all rules) of(r *spans.Span, byDefault rate) rate {
	for _, rule := range all {
		if glob.Match(rule.name, r.Name()) && glob.Match(rule.scope, r.Scope().Name) {
			return rule.rate
		}
	}
	return byDefault
}
