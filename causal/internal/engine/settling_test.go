package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/breaker"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
)

// TestSettlesForLongRequests: an arm is over in the requests that began in it, unless these are far
// longer than most.
func TestSettlesForLongRequests(t *testing.T) {
	for name, tt := range map[string]struct {
		roots  []time.Duration
		lo, hi time.Duration
	}{
		"alike":      {slices.Repeat([]time.Duration{time.Second}, 10), 2900 * time.Millisecond, 3100 * time.Millisecond},
		"long polls": {append(slices.Repeat([]time.Duration{10 * time.Millisecond}, 95), slices.Repeat([]time.Duration{30 * time.Second}, 5)...), 14 * time.Second, 16 * time.Second},
		"short":      {slices.Repeat([]time.Duration{time.Millisecond}, 10), 50 * time.Millisecond, 50 * time.Millisecond},
	} {
		run := &Run{Plan: &plan.Plan{Mode: profile.ModeSlowdown, Timing: plan.Timing{Cooloff: plan.Duration(50 * time.Millisecond), MaxExperiment: plan.Duration(time.Minute)}}}
		run.Breaker, _ = breaker.New(plan.Abort{P99Ratio: 1.2, ErrDelta: .005, Window: plan.Duration(10 * time.Second), MinSamples: 1})
		for _, d := range tt.roots {
			run.Breaker.Observe(d, false)
		}
		run.Breaker.Baseline(time.Now())
		if got := run.settling(); got < tt.lo || got > tt.hi {
			t.Errorf("%s: %v, want %v to %v", name, got, tt.lo, tt.hi)
		}
	}
}
