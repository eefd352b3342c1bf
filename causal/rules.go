package causal

import (
	"time"

	"github.com/otelprof/otelprof/spans"
)

// rule is why a delay is not inserted.
type rule int

const (
	ruleNone rule = iota
	ruleEarly
	ruleExpired
	ruleLife
	ruleLease
	ruleTotal
	rulePerSpan
	rulePerTrace
	ruleDuty
	ruleDeadline
	ruleHealth
	ruleIdle
	numRules
)

var ruleNames = [numRules]string{"", "not_before", "expired", "allowed.life", "lease", "limits.total", "limits.per_span", "limits.per_trace", "limits.duty", "deadline", "health_check", "idle_connection"}

// fatal reports whether the rule ends the plan.
func (r rule) fatal() bool {
	return r == ruleExpired || r == ruleLife || r == ruleLease || r == ruleTotal
}

// distorts reports whether the rule makes what is being measured wrong, if it is often applied. Idle connections are
// held against the requests that came, not against delays.
func (r rule) distorts() bool { return r != ruleNone && r != ruleHealth && r != ruleIdle }

// allows checks every condition for inserting want now, and reserves it.
func (run *run) allows(r *spans.Span, now time.Time, want, before time.Duration) rule {
	limits := &run.guard.limits
	if run.exempts(r) {
		return ruleHealth
	}
	if before+want > time.Duration(limits.PerSpan) {
		return rulePerSpan
	}
	if deadline, ok := r.Deadline(); ok && deadline.Sub(now) < 2*want {
		return ruleDeadline
	}
	if !run.guard.traces.reserve(r, before, want, time.Duration(limits.PerTrace)) {
		return rulePerTrace
	}
	rule := run.guard.reserve(now, want)
	if rule != ruleNone {
		run.guard.traces.settle(r, want, 0)
	}
	return rule
}
