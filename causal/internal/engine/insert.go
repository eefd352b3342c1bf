package engine

import (
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/admission"
	"github.com/otelprof/otelprof/causal/internal/engine/requests"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/spans"
)

// A wait is a way to let d pass since start, a time of the clock, or less if valid turns false.
// It returns the time that has passed.
type wait func(start int64, d time.Duration, valid func() bool) time.Duration

// insert holds the goroutine up for want at the end of the region, if all rules allow it and
// as long as valid. Before is what has been inserted in the same call already. It returns
// the delay. The limits take what has passed by the clock, also where a wait does not count what
// others had of the processor.
func (run *Run) insert(r *spans.Span, want, before time.Duration, by wait, valid func() bool) time.Duration {
	if !valid() {
		return 0
	}
	now := time.Now()
	if rule := run.allows(r, now, want, before); rule != admission.RuleNone {
		run.Guard.Withhold(rule)
		if rule.Fatal() {
			run.End(rule)
		}
		return 0
	}
	start := clock.Now()
	spent := by(start, want, valid)
	held := max(spent, time.Duration(clock.Now()-start))
	run.Guard.Settle(time.Now(), want, held)
	run.Guard.Traces.Settle(requests.TraceOf(r), want, held)
	return spent
}

// allows checks every condition for inserting want now, and reserves it.
func (run *Run) allows(r *spans.Span, now time.Time, want, before time.Duration) admission.Rule {
	limits := &run.Guard.Limits
	if run.exempts(r) {
		return admission.RuleHealth
	}
	if before+want > time.Duration(limits.PerSpan) {
		return admission.RulePerSpan
	}
	if deadline, ok := r.Deadline(); ok && deadline.Sub(now) < 2*want {
		return admission.RuleDeadline
	}
	if !run.Guard.Traces.Reserve(requests.TraceOf(r), requests.TopOf(r).Ended(), before+requests.Delayed(r), want, time.Duration(limits.PerTrace)) {
		return admission.RulePerTrace
	}
	rule := run.Guard.Reserve(now, want)
	if rule != admission.RuleNone {
		run.Guard.Traces.Settle(requests.TraceOf(r), want, 0)
	}
	return rule
}
