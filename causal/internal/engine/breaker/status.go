package breaker

import (
	"time"

	"github.com/otelprof/otelprof/causal/plan"
)

// A Status is what the breaker sees of the local roots, and what opens it: see
// causal.BreakerStatus, which has the same fields.
type Status struct {
	BaseRoots  uint64
	BaseP99    time.Duration
	BaseFailed float64
	Roots      uint64
	P99        time.Duration
	Failed     float64
	MinRoots   uint64
	Window     plan.Duration
	MostP99    time.Duration
	MostFailed float64
}

// Status is what was seen at the last look, nil before the first.
func (b *Breaker) Status() *Status { return b.seen.Load() }

// known is the part of the status that stays, once there is a baseline.
func (b *Breaker) known() Status {
	all := b.base.all
	s := Status{
		BaseRoots: all.durations.Count(), BaseP99: b.base.p99(), BaseFailed: b.base.failedShare(),
	}
	s.MostP99 = time.Duration(b.Rules.P99Ratio * float64(s.BaseP99))
	if limit := time.Duration(b.Rules.P99); limit > 0 {
		s.MostP99 = min(s.MostP99, limit)
	}
	s.MostFailed = min(1, s.BaseFailed+float64(b.Rules.ErrDelta))
	return s
}

// tell keeps it.
func (b *Breaker) tell(s Status) {
	s.MinRoots, s.Window = uint64(b.Rules.MinSamples), b.Rules.Window
	b.seen.Store(&s)
}
