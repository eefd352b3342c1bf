package causal

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/spans"
)

// A dilation is what is being inserted at the moment: every region is made longer by factor
// times its self time, but for the spared one.
//
// Stretching everything leaves the picture as it is, only larger, like a photograph. If one
// region is spared, what comes out is the picture in which that region is faster by
// s = factor/(1+factor), again enlarged by 1+factor.
type dilation struct {
	factor float64 // 0 inserts nothing
	spared int     // index of the region in the run, or sparesNone

	inserted atomic.Int64 // number of delays
}

const (
	noRegion   = -1 // a region that the plan does not select
	sparesNone = -2
)

// hook is what the controller lets spans call.
type hook struct{ c *Controller }

var _ spans.AfterEnder = hook{}

// OnStart implements spans.Hook.
func (h hook) OnStart(ctx context.Context, _ *spans.Region) context.Context { return ctx }

// OnEnd implements spans.Hook.
func (h hook) OnEnd(*spans.Region) {}

// AfterEnd implements spans.AfterEnder: it counts visits of progress points and pays the
// delay. While no plan runs it costs one atomic load.
func (h hook) AfterEnd(r *spans.Region) time.Duration {
	run := h.c.run.Load()
	if run == nil {
		return 0
	}
	defer h.c.latchOnPanic(run)
	v := run.verdict(r)
	var delay time.Duration
	if d := run.dilation.Load(); d != nil && d.factor > 0 && d.spared != v.region {
		delay = run.insert(d, r, v)
	}
	if r.Parent() == nil {
		run.breaker.observe(r.Duration()+delay, r.Failed())
	}
	for _, i := range v.progress {
		run.progress[i].Add(1)
	}
	return delay
}

// insert makes the region longer, as far as all rules allow, and returns by how much.
func (run *run) insert(d *dilation, r *spans.Region, v verdict) time.Duration {
	want := time.Duration(d.factor * float64(r.SelfTime()))
	if want <= 0 || r.Kind() == trace.SpanKindConsumer {
		return 0
	}
	now := time.Now()
	if rule := run.allows(r, v, now, want); rule != ruleNone {
		run.guard.withhold(rule)
		if rule.fatal() {
			run.end(rule)
		}
		return 0
	}
	spun := run.spin(now, want, func() bool { return run.dilation.Load() == d })
	run.guard.settle(want, spun)
	d.inserted.Add(1)
	return spun
}

// allows checks every condition for inserting want now, and reserves it.
func (run *run) allows(r *spans.Region, v verdict, now time.Time, want time.Duration) rule {
	limits := &run.guard.limits
	if v.exempt {
		return ruleHealth
	}
	if want > time.Duration(limits.PerSpan) {
		return rulePerSpan
	}
	if delayed(r)+want > time.Duration(limits.PerTrace) {
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

// spin burns processor time until d has passed since start, as work would, or until valid
// turns false. It does not sleep: the goroutine that pays must not let others run in its
// place. It returns the time spent.
func spin(start time.Time, d time.Duration, valid func() bool) time.Duration {
	for {
		spent := time.Since(start)
		if spent >= d || !valid() {
			return spent
		}
	}
}
