package spans

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// ownIDs makes IDs, as a program's own generator.
type ownIDs struct{}

func (ownIDs) NewIDs(context.Context) (trace.TraceID, trace.SpanID) {
	return trace.TraceID{1}, trace.SpanID{1}
}
func (ownIDs) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return trace.SpanID{2} }

// dropsAll is a program's own sampler.
type dropsAll struct{}

func (dropsAll) Description() string { return "dropsAll" }
func (dropsAll) ShouldSample(sdktrace.SamplingParameters) sdktrace.SamplingResult {
	return sdktrace.SamplingResult{Decision: sdktrace.Drop}
}

func sampledBy(s sdktrace.Sampler) trace.TracerProvider {
	return sdktrace.NewTracerProvider(sdktrace.WithSampler(s))
}

// foretold reports whether the SDK was not asked to make a span.
func foretold(s trace.Span) bool {
	p, ok := s.(*plainSpan)
	if !ok {
		return false
	}
	_, ok = p.Span.(*unsampled)
	return ok
}

// remote is a context with a parent in another process, not sampled.
func remote(t *testing.T) (context.Context, trace.SpanContext) {
	state, err := trace.ParseTraceState("vendor=value,other=1")
	if err != nil {
		t.Fatal(err)
	}
	sc := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{7}, SpanID: trace.SpanID{8}, TraceFlags: 2, TraceState: state,
	})
	return trace.ContextWithRemoteSpanContext(t.Context(), sc), sc
}

// TestForetoldSpanIsAsTheSDKs holds that what is made without the SDK has what the SDK gives to
// such a span.
func TestForetoldSpanIsAsTheSDKs(t *testing.T) {
	for name, sampler := range map[string]sdktrace.Sampler{
		"never":        sdktrace.NeverSample(),
		"parent-based": sdktrace.ParentBased(sdktrace.NeverSample()),
		"ratio":        sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0)),
	} {
		t.Run(name, func(t *testing.T) {
			tp := WrapTracerProvider(sampledBy(sampler))
			defer tp.Shutdown(t.Context())
			for _, begin := range []func() (context.Context, trace.SpanContext){
				func() (context.Context, trace.SpanContext) { return remote(t) },
				func() (context.Context, trace.SpanContext) { return t.Context(), trace.SpanContext{} },
			} {
				ctx, above := begin()
				ctx, root := tp.Tracer("a").Start(ctx, "root")
				if foretold(root) {
					t.Fatal("the SDK was not asked for a root")
				}
				seen := map[trace.SpanID]bool{root.SpanContext().SpanID(): true}
				for range 3 {
					var s trace.Span
					ctx, s = tp.Tracer("b").Start(ctx, "below", trace.WithAttributes(attribute.Int("k", 1)))
					own := s.SpanContext()
					if !foretold(s) {
						t.Error("the SDK was asked for a span that it leaves out for sure")
					}
					if want := root.SpanContext().WithSpanID(own.SpanID()); !own.Equal(want) || !own.IsValid() || own.IsRemote() || seen[own.SpanID()] {
						t.Errorf("span context %+v, want that of the root, %+v, with an ID of its own", own, want)
					}
					if above.IsValid() && (own.TraceState().String() != above.TraceState().String() || own.TraceFlags() != above.TraceFlags()) {
						t.Errorf("state %v and flags %v, want those of the remote parent, %v and %v", own.TraceState(), own.TraceFlags(), above.TraceState(), above.TraceFlags())
					}
					if _, ok := s.(sdktrace.ReadOnlySpan); ok || s.IsRecording() || s.TracerProvider() != trace.TracerProvider(tp) {
						t.Error("a span that is not sampled records, or has another provider")
					}
					if trace.SpanFromContext(ctx) != s {
						t.Error("the span is not the current one")
					}
					seen[own.SpanID()] = true
					s.SetAttributes(attribute.Int("k", 2))
					s.AddEvent("event")
					s.AddLink(trace.Link{})
					s.RecordError(context.Canceled)
					defer s.End()
				}
				root.End()
			}
		})
	}
}

// TestSDKIsAsked is about all spans of which it is not certain what the SDK makes of them.
func TestSDKIsAsked(t *testing.T) {
	never := sdktrace.NeverSample()
	child := func(tp *TracerProvider, opts ...trace.SpanStartOption) trace.Span {
		ctx, root := tp.Tracer("").Start(t.Context(), "root")
		_, s := tp.Tracer("").Start(ctx, "child", opts...)
		s.End()
		root.End()
		return s
	}
	for name, base := range map[string]trace.TracerProvider{
		"own generator":        sdktrace.NewTracerProvider(sdktrace.WithSampler(never), sdktrace.WithIDGenerator(ownIDs{})),
		"own sampler":          sampledBy(dropsAll{}),
		"own sampler in one":   sampledBy(sdktrace.ParentBased(dropsAll{}, sdktrace.WithLocalParentNotSampled(dropsAll{}))),
		"sampled all the same": sampledBy(sdktrace.ParentBased(never, sdktrace.WithLocalParentNotSampled(sdktrace.AlwaysSample()))),
		"sampled":              sampledBy(sdktrace.AlwaysSample()),
		"noop":                 noop.NewTracerProvider(),
		"nothing":              nil,
	} {
		tp := WrapTracerProvider(base)
		if foretold(child(tp)) {
			t.Errorf("%s: the SDK was not asked", name)
		}
		if err := tp.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}

	tp := WrapTracerProvider(sampledBy(sdktrace.ParentBased(never)))
	defer tp.Shutdown(t.Context())
	if !foretold(child(tp)) || !foretold(child(tp, trace.WithSpanKind(trace.SpanKindClient))) {
		t.Error("the SDK was asked for a child that it leaves out")
	}
	if s := child(tp, trace.WithNewRoot()); foretold(s) {
		t.Error("the SDK was not asked for a root")
	}
	other := WrapTracerProvider(sampledBy(sdktrace.AlwaysSample()))
	defer other.Shutdown(t.Context())
	ctx, root := tp.Tracer("").Start(t.Context(), "root")
	defer root.End()
	if _, s := other.Tracer("").Start(ctx, "another provider's"); foretold(s) || !s.IsRecording() {
		t.Error("another provider's sampler was not asked")
	}
	if _, s := tp.Tracer("").Start(trace.ContextWithSpan(ctx, noop.Span{}), "hidden"); foretold(s) {
		t.Error("the SDK was not asked below a span that is not its own")
	}
}

// TestUnsampledAllocs holds that a span which the SDK is not asked for takes one allocation, which
// is fewer than the SDK takes.
func TestUnsampledAllocs(t *testing.T) {
	tp := WrapTracerProvider(sampledBy(sdktrace.NeverSample()))
	defer tp.Shutdown(t.Context())
	tr := tp.Tracer("allocs")
	ctx, root := tr.Start(t.Context(), "root")
	defer root.End()
	if n := testing.AllocsPerRun(500, func() { _, s := tr.Start(ctx, "op"); s.End() }); n > 1 {
		t.Errorf("%v allocations, want 1", n)
	}
}
