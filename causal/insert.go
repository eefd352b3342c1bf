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
func (run *run) insert(r *spans.Region, v verdict, want, before time.Duration, by wait, valid func() bool) time.Duration {
	now := time.Now()
	if rule := run.allows(r, v, now, want, before); rule != ruleNone {
		run.guard.withhold(rule)
		if rule.fatal() {
			run.end(rule)
		}
		return 0
	}
	spent := by(clock.Now(), want, valid)
	run.guard.settle(want, spent)
	return spent
}

// allows checks every condition for inserting want now, and reserves it.
func (run *run) allows(r *spans.Region, v verdict, now time.Time, want, before time.Duration) rule {
	limits := &run.guard.limits
	if v.exempt {
		return ruleHealth
	}
	if before+want > time.Duration(limits.PerSpan) {
		return rulePerSpan
	}
	if delayed(r)+before+want > time.Duration(limits.PerTrace) {
		return rulePerTrace
	}
	if deadline, ok := r.Deadline(); ok && deadline.Sub(now) < 2*want {
		return ruleDeadline
	}
	return run.guard.reserve(now, want)
}

// delayed is how much was inserted so far in the trace of r. Where no session adds it up, the
// spans above know what was inserted below them.
func delayed(r *spans.Region) (sum time.Duration) {
	if s := r.Session(); s != nil {
		return s.Delay()
	}
	for ; r != nil; r = r.Parent() {
		sum += r.Delay()
	}
	return sum
}
