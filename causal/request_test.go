package causal

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/internal/engine/requests"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
	"github.com/otelprof/otelprof/spans"
)

// newSDKTracer returns a tracer whose spans have IDs and attributes.
func newSDKTracer(t *testing.T, c *Controller) trace.Tracer {
	t.Helper()
	tp := spans.WrapTracerProvider(sdktrace.NewTracerProvider(), spans.WithHook(c.Hook()))
	t.Cleanup(func() {
		if err := tp.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tp.Tracer("t")
}

// Nothing below a health check is delayed, however it is recognised, and wherever it is answered.
func TestBelowHealthChecksNothingIsDelayed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t, wide, nil)
		b.tr = newSDKTracer(t, b.c)
		dilate(b.run, 1, experiment.SparesNone)
		ctx := context.Background()
		below := func(ctx context.Context, name string, opts ...trace.SpanStartOption) time.Duration {
			ctx, root := b.tr.Start(ctx, name, opts...)
			sum := b.span(ctx, "SELECT 1", 3*time.Millisecond)
			ctx, middle := b.tr.Start(ctx, "middle")
			sum += b.span(ctx, "below", 2*time.Millisecond)
			before := time.Now()
			middle.End()
			root.End()
			return sum + time.Since(before)
		}
		b.want("below a health check", below(ctx, "GET /healthz"), 0)
		b.want("below one that its path tells", below(ctx, "GET", trace.WithAttributes(attribute.String("url.path", "/healthz"))), 0)
		b.want("below another", below(ctx, "GET /orders"), 5*time.Millisecond)
		b.want("below another path", below(ctx, "GET", trace.WithAttributes(attribute.String("url.path", "/orders"))), 5*time.Millisecond)
		health, root := b.tr.Start(ctx, "GET /healthz")
		health, call := b.tr.Start(health, "call", trace.WithSpanKind(trace.SpanKindClient))
		b.want("in the same process, across a connection", below(arrived(call), "GET /state"), 0)
		call.End()
		root.End()
		_ = health
		if got := b.c.Status().Withheld["health_check"]; got == 0 {
			t.Error("no delay was withheld for health checks")
		}
	})
}

// arrived is the context of a server that the call of a span has reached.
func arrived(call trace.Span) context.Context {
	return trace.ContextWithRemoteSpanContext(context.Background(), call.SpanContext().WithRemote(true))
}

// Where the process calls itself, limits.per_trace is for all of it together.
func TestPerTraceAcrossConnectionsOfTheProcess(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t, wide, nil)
		b.tr = newSDKTracer(t, b.c)
		b.run.Guard.Limits.PerTrace = plan.Duration(10 * time.Millisecond)
		dilate(b.run, 1, experiment.SparesNone)
		ctx, root := b.tr.Start(context.Background(), "root")
		sum := time.Duration(0)
		for range 4 {
			_, call := b.tr.Start(ctx, "call", trace.WithSpanKind(trace.SpanKindClient))
			sum += b.span(arrived(call), "answer", 4*time.Millisecond)
			before := time.Now()
			call.End()
			sum += time.Since(before)
		}
		before := time.Now()
		root.End()
		if sum += time.Since(before); sum > 10*time.Millisecond || sum < 5*time.Millisecond {
			t.Errorf("a trace was delayed by %v, limits.per_trace is 10ms", sum)
		}
		if n := requests.Calls.Known.Load(); n != 0 {
			t.Errorf("%d calls are known when all have ended", n)
		}
	})
}

// What a call of the process to itself owes is paid where it is answered: the caller, which waits
// for that, owes nothing more.
func TestCallOfItselfIsPaidOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newController(t, unloaded)
		tr := newSDKTracer(t, c)
		run := force(t, c, mustParse(t, idle, wideLimits, "mode: overlap", "regions: [{span: region}]"))
		run.Spin, run.Sleep = sleepily, sleepily
		ctx := context.Background()
		_, s := tr.Start(ctx, "region")
		s.End()
		run.Begin(experiment.Arm{Speedup: 0.5, Spared: 0})

		requests, answers := make(chan trace.Span), make(chan time.Duration)
		go func() { // the server's connection, which others have used before
			for call := range requests {
				_, s := tr.Start(arrived(call), "answer", trace.WithSpanKind(trace.SpanKindServer))
				time.Sleep(10 * time.Millisecond)
				before := time.Now()
				s.End()
				answers <- time.Since(before)
			}
		}()
		defer close(requests)
		go func() { // always in the region
			for run.Influence.Load() != nil {
				_, s := tr.Start(ctx, "region")
				time.Sleep(time.Millisecond)
				s.End()
			}
		}()
		for i := range 3 {
			time.Sleep(time.Second) // the connection is idle
			ctx, root := tr.Start(ctx, "root")
			ended := func(s trace.Span) time.Duration {
				before := time.Now()
				s.End()
				return time.Since(before)
			}
			_, first := tr.Start(ctx, "work")
			ended(first) // pays for the time before
			_, call := tr.Start(ctx, "call", trace.WithSpanKind(trace.SpanKindClient))
			requests <- call
			server := <-answers
			caller := ended(call)
			ended(root)
			// Half of 10 ms, and half of the time that takes, and so on.
			if server < 8*time.Millisecond || server > 13*time.Millisecond || caller > 2*time.Millisecond {
				t.Errorf("call %d: the server was delayed by %v, want about 10ms; its caller by %v more, want nothing", i, server, caller)
			}
		}
		c.StopPlan("enough")
		time.Sleep(2 * time.Millisecond)
	})
}

// Calls that never end are forgotten with the last plan, not sooner.
func TestCallsThatNeverEnd(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, other := newBench(t, wide, nil), newBench(t, wide, nil)
		tr := newSDKTracer(t, b.c)
		ended := make([]trace.Span, 200)
		for i := range ended {
			_, _ = tr.Start(context.Background(), "for ever", trace.WithSpanKind(trace.SpanKindClient))
			_, ended[i] = tr.Start(context.Background(), "call", trace.WithSpanKind(trace.SpanKindClient))
		}
		for _, x := range []struct {
			c    *Controller
			want int64
		}{{other.c, int64(2 * len(ended))}, {b.c, 0}} {
			x.c.StopPlan("enough")
			synctest.Wait()
			if n := requests.Calls.Known.Load(); n != x.want {
				t.Errorf("%d calls are known, want %d", n, x.want)
			}
		}
		for _, s := range ended {
			s.End()
		}
		if n := requests.Calls.Known.Load(); n != 0 {
			t.Errorf("%d calls are known when more have ended", n)
		}
	})
}

// Where the process calls itself more often than now and then, an experiment has no number.
func TestCallsOfItselfWithhold(t *testing.T) {
	for calls, withheld := range map[uint64]bool{0: false, 10: false, 11: true, 5000: true} {
		want := profile.Withheld{}
		if withheld {
			want = profile.Withheld{Code: withheldcode.CallsItself, Count: int64(calls), Of: 1000}
		}
		if why := (experiment.Evidence{Visits: 1000, Calls: calls, Check: experiment.SelfCheck{}}).Withheld(); why != want {
			t.Errorf("%d calls of itself for 1000 visits: %+v, want %+v", calls, why, want)
		}
	}
}
