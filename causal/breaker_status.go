package causal

import (
	"time"

	"github.com/otelprof/otelprof/causal/plan"
)

// A BreakerStatus is what the breaker sees of the local roots, and what opens it. The percentiles are
// exact to 1 %.
type BreakerStatus struct {
	// BaseRoots is how many roots ended before anything was delayed, BaseP99 and BaseFailed what is
	// normal since; zero until there are MinRoots of them, and until then nothing is delayed.
	BaseRoots  uint64        `json:"base_roots"`
	BaseP99    time.Duration `json:"base_p99_ns"`
	BaseFailed float64       `json:"base_failed"`
	// Roots is how many ended within Window, P99 and Failed what they look like. With less than MinRoots
	// there is no verdict.
	Roots  uint64        `json:"roots"`
	P99    time.Duration `json:"p99_ns"`
	Failed float64       `json:"failed"`
	// MinRoots and Window are the plan's.
	MinRoots uint64        `json:"min_roots"`
	Window   plan.Duration `json:"window"`
	// MostP99 and MostFailed are what opens the breaker when it is exceeded, and not by chance; zero as long as it is not
	// known.
	MostP99    time.Duration `json:"most_p99_ns"`
	MostFailed float64       `json:"most_failed"`
}

// known is the part of the status that stays, once there is a baseline.
func (b *breaker) known() BreakerStatus {
	all := b.base.all
	s := BreakerStatus{
		BaseRoots: all.durations.Count(), BaseP99: b.base.p99(), BaseFailed: all.failedShare(),
	}
	s.MostP99 = time.Duration(b.rules.P99Ratio * float64(s.BaseP99))
	if limit := time.Duration(b.rules.P99); limit > 0 {
		s.MostP99 = min(s.MostP99, limit)
	}
	s.MostFailed = min(1, s.BaseFailed+float64(b.rules.ErrDelta))
	return s
}

// tell lets [Controller.Status] have it.
func (b *breaker) tell(s BreakerStatus) {
	s.MinRoots, s.Window = uint64(b.rules.MinSamples), b.rules.Window
	b.seen.Store(&s)
}
