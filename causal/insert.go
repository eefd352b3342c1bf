package causal

import (
	"time"

	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/spans"
)

// A wait is a way to let d pass since start, a time of the clock, or less if valid turns false.
// It returns the time that has passed.
type wait func(start int64, d time.Duration, valid func() bool) time.Duration

// insert holds the goroutine up for want at the end of the region, if all rules allow it and
// as long as valid. Before is what has been inserted in the same call already. It returns
// the delay.
func (run *run) insert(r *spans.Span, want, before time.Duration, by wait, valid func() bool) time.Duration {
	if !valid() {
		return 0
	}
	now := time.Now()
	if rule := run.allows(r, now, want, before); rule != ruleNone {
		run.guard.withhold(rule)
		if rule.fatal() {
			run.end(rule)
		}
		return 0
	}
	spent := by(clock.Now(), want, valid)
	run.guard.settle(time.Now(), want, spent)
	run.guard.traces.settle(r, want, spent)
	return spent
}
