package spans_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/spans"
)

type userKey struct{}

func TestContextOfASpanContinuesTheCallers(t *testing.T) {
	for _, sampler := range []sdktrace.Sampler{sdktrace.AlwaysSample(), sdktrace.NeverSample()} {
		sdk, _ := newRecorded(sdktrace.WithSampler(sampler))
		tr := wrap(t, sdk).Tracer("")
		deadline := time.Now().Add(time.Hour)
		parent, stop := context.WithDeadline(context.WithValue(t.Context(), userKey{}, "value"), deadline)
		parent, cancel := context.WithCancelCause(parent)
		ctx, s := tr.Start(parent, "a")
		derived, done := context.WithCancel(ctx)
		inner, in := tr.Start(context.WithValue(derived, hookKey{}, 1), "b")

		if got := ctx.Value(userKey{}); got != "value" {
			t.Errorf("Value = %v, want the caller's", got)
		}
		if got, ok := inner.Deadline(); !ok || !got.Equal(deadline) || inner.Err() != nil {
			t.Errorf("Deadline() = %v, %t, Err() = %v", got, ok, inner.Err())
		}
		if trace.SpanFromContext(inner) != in || trace.SpanFromContext(derived) != s || ctx.Value(hookKey{}) != nil {
			t.Error("a context has the span of another")
		}
		if fmt.Sprint(inner) == "" {
			t.Error("a context prints as nothing")
		}
		why := errors.New("why")
		cancel(why)
		<-inner.Done()
		if !errors.Is(inner.Err(), context.Canceled) || !errors.Is(context.Cause(inner), why) {
			t.Errorf("Err() = %v, Cause = %v; want canceled, %v", inner.Err(), context.Cause(inner), why)
		}
		if left := context.WithoutCancel(inner); left.Err() != nil || trace.SpanFromContext(left) != in {
			t.Error("WithoutCancel lost the span or kept the cancellation")
		}
		in.End()
		s.End()
		done()
		stop()
	}
}

// TestHookMayPutAnotherSpanOnTop holds that a context which a hook made from the one it got
// can be looked through to its end.
func TestHookMayPutAnotherSpanOnTop(t *testing.T) {
	other, _ := newRecorded()
	h := &recordingHook{onStart: func(ctx context.Context, _ *spans.Span) context.Context {
		ctx, s := other.Tracer("").Start(context.WithValue(ctx, hookKey{}, 1), "of the hook")
		s.End()
		return ctx
	}}
	ctx, s := wrapSDK(t, spans.WithHook(h)).Tracer("").Start(context.WithValue(t.Context(), userKey{}, 2), "a")
	defer s.End()
	if trace.SpanFromContext(ctx) != s || ctx.Value(hookKey{}) != 1 || ctx.Value(userKey{}) != 2 || ctx.Value("unknown") != nil {
		t.Errorf("span %T, values %v and %v", trace.SpanFromContext(ctx), ctx.Value(hookKey{}), ctx.Value(userKey{}))
	}
}
