package causal

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/plan"
)

// TestBreakerRulesAreCaps: no plan can loosen the rules of the program, and so none can switch the
// breaker off.
func TestBreakerRulesAreCaps(t *testing.T) {
	caps := plan.Abort{P99Ratio: 1.5, P99: plan.Duration(time.Second), ErrDelta: 0.02, Window: plan.Duration(20 * time.Second), MinSamples: 500}
	for _, tt := range []struct {
		line string
		want plan.Abort
	}{
		{"abort: {p99_ratio: 1000, p99: 1h, err_delta: 100%, window: 10m, min_samples: 1000000}", caps},
		{"abort: {p99_ratio: 1000, p99: 0s, err_delta: 100%, window: 10m, min_samples: 1000000}", caps},
		{
			"abort: {p99_ratio: 1.1, p99: 100ms, err_delta: 1%, window: 5s, min_samples: 50}",
			plan.Abort{P99Ratio: 1.1, P99: plan.Duration(100 * time.Millisecond), ErrDelta: 0.01, Window: plan.Duration(5 * time.Second), MinSamples: 50},
		},
	} {
		c := newController(t, WithBreaker(caps))
		r := force(t, c, mustParse(t, idle, tt.line))
		if diff := cmp.Diff(tt.want, r.Breaker.Rules); diff != "" {
			t.Errorf("%s: rules differ, -want +got:\n%s", tt.line, diff)
		}
	}
	if got := (plan.Abort{P99: plan.Duration(time.Second)}).Tighten(plan.Abort{}).P99; got != plan.Duration(time.Second) {
		t.Errorf("a plan's own p99 without a cap = %v, want it", got)
	}
	for _, opts := range [][]Option{{WithExperiments(wide), WithBreaker(plan.Abort{})}, {WithBreaker(plan.Abort{})}} {
		if _, err := NewController(opts...); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "breaker: p99_ratio 0: must be in (1, 1000]") {
			t.Errorf("NewController of %d options with empty caps = %v", len(opts), err)
		}
	}
}
