package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/otelprof/otelprof/causal/internal/plantest"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/spans"
)

// A region that computes for half of its own time is held for all that limits.per_span allows, also
// if the first half of that takes longer than it should.
func TestHoldsShareTheLimit(t *testing.T) {
	outside := time.Now()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(outside.Add(time.Hour))) // spans cannot lie before the process
		p, err := plan.Parse(plantest.Document("mode: slowdown", "limits: {per_span: 5ms, duty: 100%}"))
		if err != nil {
			t.Fatal(err)
		}
		run, err := NewRun(p, Settings{Caps: p.Limits, Breaker: p.Abort, Allowed: plan.DefaultAllowed()}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		const late = time.Microsecond
		run.Compute = func(_ int64, d time.Duration, _ func() bool) time.Duration { time.Sleep(d + late); return d + late }
		run.Sleep = func(_ int64, d time.Duration, _ func() bool) time.Duration { time.Sleep(d); return d }
		half := func() owed { return owed{each: 2.5e6, least: 1000, most: 5e6} }
		v := &slowdown{run: run, compute: half(), sleep: half()}
		run.Put(v)

		tp := spans.WrapTracerProvider(nil)
		defer func() { _ = tp.Shutdown(t.Context()) }()
		ctx, s := tp.Tracer("t").Start(context.Background(), "half")
		s.End()
		if got := v.AtEnd(nil, spans.SpanFromContext(ctx), 0); got != 5*time.Millisecond || v.sleep.sum.Load() != int64(late) {
			t.Errorf("held for %v, and %d ns of sleep are owed, want 5ms and %v", got, v.sleep.sum.Load(), late)
		}
	})
}
