package causal

import (
	"context"
	"time"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/sched"
	"github.com/otelprof/otelprof/spans"
)

// hook is what the controller lets spans call.
type hook struct{ c *Controller }

var _ spans.AfterEnder = hook{}

// OnStart implements spans.Hook. While no experiment runs it costs one atomic load.
func (h hook) OnStart(ctx context.Context, r *spans.Region) context.Context {
	if o := live.observation.Load(); o != nil {
		o.startSpan(r)
	}
	if sched.Present {
		if s := inForce.Load(); s != nil {
			s.startSpan(r)
		}
	}
	return ctx
}

// OnEnd implements spans.Hook.
func (h hook) OnEnd(r *spans.Region) {
	if sched.Present {
		beforeEndSpan(r)
	}
}

// AfterEnd implements spans.AfterEnder: it counts visits of progress points and pays the
// delay. While no plan runs it costs a few atomic loads.
func (h hook) AfterEnd(r *spans.Region) time.Duration {
	h.c.recorder.SawSpan()
	f := live.frame.Get(r)
	if f != nil {
		endSpan(live.observation.Load(), f, r)
	}
	if sched.Present {
		endScheduled(r)
	}
	run := h.c.run.Load()
	if f != nil || run != nil {
		classOf(r).ended(r)
	}
	if run == nil {
		return 0
	}
	return run.endSpan(f, r)
}

// endSpan is what a plan does at the end of a span, whose frame may be nil. It returns the delay.
func (run *run) endSpan(f *ledger.Frame, r *spans.Region) (delay time.Duration) {
	defer run.contain()
	v := run.verdict(r)
	if d := run.dilation.Load(); d != nil {
		delay = run.stretch(d, r, v)
	} else if o := run.overlap.Load(); o != nil {
		delay = o.payAtEnd(f, r)
	} else {
		delay = point()
	}
	if r.Parent() == nil {
		run.guard.traces.ended(r)
		run.breaker.observe(r.Duration()+delay, r.Failed())
	}
	for _, i := range v.progress {
		run.visit(i)
	}
	return delay
}
