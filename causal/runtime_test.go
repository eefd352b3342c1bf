//go:build otelprof_runtime

package causal

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/sched"
	"github.com/otelprof/otelprof/spans"
)

// All other tests are about wrappers, and most are in bubbles, which the scheduler's time does not belong to.
func init() { wrappersOnly = true }

// inRuntime runs f on goroutines until the test is over, under a controller that experiments on "critical".
func inRuntime(t *testing.T, limits Limits, f func(context.Context, trace.Tracer)) *Controller {
	t.Helper()
	wrappersOnly = false
	t.Cleanup(func() { wrappersOnly = true })
	c, err := New(WithExperiments(limits))
	if err != nil {
		t.Fatal(err)
	}
	tp := spans.Wrap(nil, spans.WithHook(c.Hook()))
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for ctx.Err() == nil {
				f(ctx, tp.Tracer("test"))
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := tp.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	plan, err := ParsePlan(fmt.Appendf(nil, `{api: causal/v1, id: %q, mode: overlap, expires_at: %q,
		regions: [{span: critical}], progress: [{span: done, type: throughput}, {span: request, type: latency}], grid: {speedups: [50]},
		timing: {warmup: 0s, experiment: 30ms, cooloff: 5ms, max_experiment: 1s},
		limits: {per_span: 10ms, per_trace: 1s, duty: 100%%, total: %s}, abort: {p99_ratio: 1000, err_delta: 100%%, min_samples: 1}}`,
		t.Name(), time.Now().Add(time.Minute).UTC().Format(time.RFC3339), time.Duration(limits.Total)))
	if err == nil {
		err = c.Apply(plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var generous = Limits{PerSpan: Duration(time.Second), PerTrace: Duration(time.Minute), Duty: 1, Total: Duration(time.Hour)}

// eventually waits for a condition, on a machine of any speed.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("30 s, and still not: %s", what)
		}
	}
}

// plainMutex is a program of which nobody has been told.
func plainMutex() func(context.Context, trace.Tracer) {
	var mu sync.Mutex
	return func(ctx context.Context, tracer trace.Tracer) {
		ctx, request := tracer.Start(ctx, "request")
		defer request.End()
		time.Sleep(2 * time.Millisecond)
		mu.Lock()
		_, span := tracer.Start(ctx, "critical")
		time.Sleep(time.Millisecond)
		span.End()
		mu.Unlock()
		Progress(ctx, "done")
	}
}

func TestRuntimeExperiment(t *testing.T) {
	c := inRuntime(t, generous, plainMutex())
	eventually(t, "numbers for throughput and for latency", func() bool {
		curves := c.Profile().Curves
		metrics := map[Metric]bool{}
		for _, curve := range curves {
			if curve.Mode == ModeOverlap && slices.ContainsFunc(curve.Effects, func(e Effect) bool { return e.Withheld == "" }) {
				metrics[curve.Metric] = true
			}
		}
		return metrics[MetricThroughput] && metrics[MetricLatencyP50]
	})
	if got := c.Status().Handover; got != HandoverRuntime {
		t.Errorf("Handover = %q, want %q", got, HandoverRuntime)
	}
	p := c.Profile()
	if !slices.Contains(p.Notes, NoteRuntime) || p.Delay == 0 {
		t.Errorf("notes %q, delay %v, want to be told of runtime mode, and some", p.Notes, p.Delay)
	}
	c.Stop("enough")
	if _, inForce := sched.Growth(); inForce {
		t.Error("the scheduler goes on after Stop")
	}
}

func TestRuntimeLimits(t *testing.T) {
	limits := generous
	limits.Total = Duration(2 * time.Millisecond)
	c := inRuntime(t, limits, plainMutex())
	eventually(t, "limits.total is used up", func() bool { return c.Status().State == StateSpent })
	if _, inForce := sched.Growth(); inForce {
		t.Error("the scheduler goes on")
	}
}

// A span below one of the region, on another goroutine, is of the region.
func TestRuntimeBelow(t *testing.T) {
	var most sync.Map
	c := inRuntime(t, generous, func(ctx context.Context, tracer trace.Tracer) {
		inner, span := tracer.Start(ctx, "critical")
		var wg sync.WaitGroup
		wg.Go(func() {
			_, below := tracer.Start(inner, "below")
			defer below.End()
			if e := scheduledSpans.Get(spans.RegionFromContext(trace.ContextWithSpan(inner, below))); e != nil {
				most.Store(e.inside, true)
			}
		})
		wg.Wait()
		span.End()
		Progress(ctx, "done")
		_, request := tracer.Start(ctx, "request")
		request.End()
	})
	eventually(t, "an experiment", func() bool { return c.Profile().Experiments > 3 })
	if _, inside := most.Load(true); !inside {
		t.Error("no span below the region was taken to be of it")
	}
}

// Who answers health checks is not delayed.
func TestRuntimeHealthChecks(t *testing.T) {
	var spent sync.Map
	work := plainMutex()
	c := inRuntime(t, generous, func(ctx context.Context, tracer trace.Tracer) {
		done := make(chan bool)
		go func() {
			defer close(done)
			_, span := tracer.Start(ctx, "GET /healthz")
			_, before := sched.Books()
			time.Sleep(time.Millisecond)
			_, after := sched.Books()
			if after > before {
				spent.Store(after-before, true)
			}
			span.End()
		}()
		work(ctx, tracer)
		<-done
	})
	eventually(t, "delays withheld for health checks", func() bool { return c.Status().Withheld["health_check"] > 10 })
	// An experiment may have ended in the middle of one and the next begun; then it is not known there.
	n := 0
	spent.Range(func(any, any) bool { n++; return true })
	if n > 3 {
		t.Errorf("%d health checks were delayed", n)
	}
}
