package causal

import (
	"context"
	"time"

	"github.com/otelprof/otelprof/causal/internal/classes"
	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/causal/internal/requests"
	"github.com/otelprof/otelprof/causal/internal/virtualtime"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/spans"
)

// hook is what the controller lets spans call.
type hook struct{ c *Controller }

var _ spans.AfterEnder = hook{}

// OnStart implements spans.Hook. While no plan runs it costs a few loads.
func (h hook) OnStart(ctx context.Context, r *spans.Span) context.Context {
	if h.c.enabled && (scheduling() || h.c.run.Load() != nil) {
		requests.Start(r, h.c.exemptsNow)
	}
	if o := virtualtime.Current.Load(); o != nil {
		o.StartSpan(r)
	}
	if sched.Present {
		if s := live.scheduled.Load(); s != nil {
			s.startSpan(r)
		}
	}
	return ctx
}

// OnEnd implements spans.Hook.
func (h hook) OnEnd(r *spans.Span) {
	if sched.Present {
		beforeEndSpan(r)
	}
}

// AfterEnd implements spans.AfterEnder: it counts visits of progress points and pays the
// delay. While no plan runs it costs a few atomic loads.
func (h hook) AfterEnd(r *spans.Span) time.Duration {
	h.c.recorder.SawSpan()
	if h.c.enabled {
		defer requests.End(r)
	}
	f := virtualtime.Frames.Get(r)
	if f != nil {
		virtualtime.EndSpan(virtualtime.Current.Load(), f, r)
	}
	if sched.Present {
		endScheduled(r)
	}
	run := h.c.run.Load()
	if f != nil || run != nil {
		classes.Of(r).Ended(r)
	}
	if run == nil {
		return 0
	}
	return run.endSpan(f, r)
}

// endSpan does a plan's work at the end of a span, whose frame may be nil. It returns the delay.
func (run *run) endSpan(f *ledger.Frame, r *spans.Span) (delay time.Duration) {
	defer run.contain()
	v := run.verdict(r)
	delay = run.inForce().atEnd(f, r, v.region)
	if r.Parent() == nil {
		if traces := &run.guard.Traces; traces.Count() > 0 && requests.TopOf(r) == r {
			traces.Ended(requests.TraceOf(r))
		}
		run.breaker.Observe(r.Duration()+delay, r.Failed())
		run.rooted.Add(int64(r.Duration()))
	}
	for k, i := range v.progress {
		run.durations.record(i, r)
		run.visit(i, v.paths[k])
	}
	return delay
}
