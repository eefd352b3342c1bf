package plan

import (
	"time"

	"github.com/otelprof/otelprof/causal/internal/validate"
)

// Abort is the conditions under which the breaker opens and ends the plan for good: when more roots
// than can be by chance are slower than the 99th percentile without delays, or fail, and when the
// change is as large as this. Of the chances of a false alarm all together are at most 1 % in an
// hour.
type Abort struct {
	// P99Ratio opens it when the 99th percentile of the duration of local root spans is
	// that many times the one without delays. By default 1.2.
	P99Ratio float64 `json:"p99_ratio" yaml:"p99_ratio"`
	// P99 opens it when that percentile is above this; zero for never.
	P99 Duration `json:"p99,omitempty" yaml:"p99"`
	// ErrDelta opens it when the share of failed local roots rises by more. By default 0.5 %.
	ErrDelta Percent `json:"err_delta" yaml:"err_delta"`
	// Window is the time over which both are taken. By default 10 s.
	Window Duration `json:"window" yaml:"window"`
	// MinSamples is the least number of roots for a verdict. By default 200.
	MinSamples int `json:"min_samples" yaml:"min_samples"`
}

func defaultAbort() Abort {
	return Abort{P99Ratio: 1.2, ErrDelta: 0.005, Window: Duration(10 * time.Second), MinSamples: 200}
}

// DefaultBreaker are the caps on a plan's rules for the breaker where the program names none: twice
// the 99th percentile, 5 points of failures, over a minute, by 1000 roots.
func DefaultBreaker() Abort {
	return Abort{P99Ratio: 2, ErrDelta: 0.05, Window: Duration(time.Minute), MinSamples: 1000}
}

// Validate checks every value; prefix stands before its key.
func (a Abort) Validate(v *validate.Errors, prefix string) {
	v.That(a.P99Ratio > 1 && a.P99Ratio <= 1000, prefix+"p99_ratio", a.P99Ratio, "must be in (1, 1000]")
	v.In(prefix+"p99", time.Duration(a.P99), 0, time.Hour)
	v.That(a.ErrDelta > 0 && a.ErrDelta <= 1, prefix+"err_delta", a.ErrDelta, "must be in (0%%, 100%%]")
	v.In(prefix+"window", time.Duration(a.Window), time.Second, 10*time.Minute)
	v.That(a.MinSamples >= 1 && a.MinSamples <= 1e6, prefix+"min_samples", a.MinSamples, "must be in [1, 1000000]")
}

// Tighten returns the stricter of each rule.
func (a Abort) Tighten(caps Abort) Abort {
	p99 := min(a.P99, caps.P99)
	if p99 == 0 { // no rule
		p99 = max(a.P99, caps.P99)
	}
	return Abort{
		P99Ratio: min(a.P99Ratio, caps.P99Ratio), P99: p99, ErrDelta: min(a.ErrDelta, caps.ErrDelta),
		Window: min(a.Window, caps.Window), MinSamples: min(a.MinSamples, caps.MinSamples),
	}
}
