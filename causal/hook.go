package causal

import (
	"context"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/engine/classes"
	"github.com/otelprof/otelprof/causal/internal/engine/requests"
	"github.com/otelprof/otelprof/causal/internal/engine/virtualtime"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/spans"
)

// hook is what the controller lets spans call.
type hook struct{ c *Controller }

var _ spans.AfterEnder = hook{}

// OnStart implements spans.Hook. While no plan runs it costs a few loads.
func (h hook) OnStart(ctx context.Context, r *spans.Span) context.Context {
	if h.c.enabled && (engine.Scheduling() || h.c.run.Load() != nil) {
		requests.Start(r, h.c.exemptsNow)
	}
	if o := virtualtime.Current.Load(); o != nil {
		o.StartSpan(r)
	}
	if sched.Present {
		engine.StartScheduled(r)
	}
	return ctx
}

// OnEnd implements spans.Hook.
func (h hook) OnEnd(r *spans.Span) {
	if sched.Present {
		engine.BeforeEndSpan(r)
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
		engine.EndScheduled(r)
	}
	run := h.c.run.Load()
	if f != nil || run != nil {
		classes.Of(r).Ended(r)
	}
	if run == nil {
		return 0
	}
	return run.EndSpan(f, r)
}

// exemptsNow reports whether nothing below a span that starts may be delayed. Of those below
// others, which are many, only the plan in force is asked, which remembers.
func (c *Controller) exemptsNow(r *spans.Span) bool {
	if r.Parent() == nil {
		return engine.IsHealthCheck(c.Exempt, r)
	}
	run := c.run.Load()
	return run != nil && run.ExemptsBelow(r)
}
