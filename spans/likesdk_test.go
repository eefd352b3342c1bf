package spans_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/spans"
)

// A program starts spans of tp and returns what it saw of them.
type program func(tp trace.TracerProvider) (seen []any)

// byName samples spans by what their name contains.
type byName struct{}

func (byName) Description() string { return "byName" }

func (byName) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	r := sdktrace.SamplingResult{
		Decision:   sdktrace.RecordAndSample,
		Tracestate: trace.SpanContextFromContext(p.ParentContext).TraceState(),
		Attributes: []attribute.KeyValue{attribute.String("sampler", "byName")},
	}
	switch {
	case strings.Contains(p.Name, "unsampled"):
		r.Decision = sdktrace.Drop
	case strings.Contains(p.Name, "record-only"):
		r.Decision = sdktrace.RecordOnly
	}
	return r
}

// runBoth runs a program on the bare SDK and on the wrapped one and returns what was
// exported and seen, on a time line without the clock.
func runBoth(t *testing.T, run program) (bare, wrapped []any) {
	t.Helper()
	results := make([][]any, 2)
	for i := range results {
		sdk, ended := newRecorded(
			sdktrace.WithSampler(byName{}),
			sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "shop"))),
			sdktrace.WithRawSpanLimits(sdktrace.SpanLimits{
				AttributeValueLengthLimit: -1, AttributeCountLimit: 8, EventCountLimit: 4, LinkCountLimit: 4,
				AttributePerEventCountLimit: 8, AttributePerLinkCountLimit: 8,
			}))
		var tp trace.TracerProvider = sdk
		if i == 1 {
			tp = wrap(t, sdk)
		}
		results[i] = run(tp)
		for _, stub := range tracetest.SpanStubsFromReadOnlySpans(ended.Ended()) {
			results[i] = append(results[i], normalised(stub))
		}
	}
	return results[0], results[1]
}

// normalised takes out what the clock and the layout of the stack decide, and the
// number of children, which is documented to differ.
func normalised(s tracetest.SpanStub) tracetest.SpanStub {
	untimed := func(t time.Time) time.Time {
		if t.Year() != begin.Year() {
			return time.Time{}
		}
		return t
	}
	s.ChildSpanCount = 0
	s.StartTime, s.EndTime = untimed(s.StartTime), untimed(s.EndTime)
	s.Events = slices.Clone(s.Events)
	for i := range s.Events {
		event := &s.Events[i]
		event.Time = untimed(event.Time)
		event.Attributes = slices.Clone(event.Attributes) // the worker still reads those of the span
		for j, kv := range event.Attributes {
			if kv.Key == "exception.stacktrace" {
				event.Attributes[j] = kv.Key.Bool(strings.Contains(kv.Value.AsString(), "spans_test."))
			}
		}
	}
	return s
}

func compareBoth(t *testing.T, programs map[string]program) {
	t.Helper()
	for name, run := range programs {
		t.Run(name, func(t *testing.T) {
			bare, wrapped := runBoth(t, run)
			if diff := cmp.Diff(bare, wrapped, byValue); diff != "" {
				t.Errorf("wrapped spans differ from the SDK's (-sdk +wrapped):\n%s", diff)
			}
			if len(bare) == 0 {
				t.Error("the program showed nothing")
			}
		})
	}
}

func TestWrappedSpanEqualsTheSDKs(t *testing.T) {
	ctx := context.Background()
	compareBoth(t, map[string]program{
		"everything a span has": func(tp trace.TracerProvider) []any {
			tr := tp.Tracer("scope", trace.WithInstrumentationVersion("v1"), trace.WithSchemaURL("https://example.com/s"),
				trace.WithInstrumentationAttributes(attribute.Bool("a", true)))
			ctx, root := tr.Start(ctx, "root", trace.WithSpanKind(trace.SpanKindServer),
				trace.WithAttributes(attribute.Int("start", 1)))
			link := trace.Link{SpanContext: root.SpanContext(), Attributes: []attribute.KeyValue{attribute.Int("l", 1)}}
			_, child := tr.Start(ctx, "child", trace.WithLinks(link), trace.WithSpanKind(trace.SpanKindClient))
			child.SetAttributes(attribute.String("k", "v"), attribute.StringSlice("s", []string{"a", "b"}))
			child.AddEvent("event", trace.WithAttributes(attribute.Float64("f", 1.5)))
			child.AddLink(link)
			child.RecordError(errors.New("no"))
			child.RecordError(errors.New("no"), trace.WithStackTrace(true))
			child.RecordError(nil)
			child.SetStatus(codes.Error, "bad")
			child.SetName("renamed")
			child.End()
			root.SetStatus(codes.Ok, "ignored")
			root.SetStatus(codes.Error, "too late")
			root.End()
			return nil
		},
		"limits": func(tp trace.TracerProvider) []any {
			_, s := tp.Tracer("").Start(ctx, "limits")
			for i := range 20 {
				s.SetAttributes(attribute.Int(fmt.Sprint(i), i))
				s.AddEvent("e")
				s.AddLink(trace.Link{Attributes: []attribute.KeyValue{attribute.Int("i", i)}})
			}
			s.End()
			return nil
		},
		"times": func(tp trace.TracerProvider) []any {
			_, s := tp.Tracer("").Start(ctx, "given", at(0))
			s.AddEvent("e", at(ms))
			s.End(at(2 * ms))
			_, s = tp.Tracer("").Start(ctx, "end before start", at(2*ms))
			s.End(at(ms))
			_, s = tp.Tracer("").Start(ctx, "only start", at(ms))
			s.End()
			_, s = tp.Tracer("").Start(ctx, "only end")
			s.End(at(ms))
			return nil
		},
		"after the end": func(tp trace.TracerProvider) (seen []any) {
			_, s := tp.Tracer("").Start(ctx, "once", at(0))
			seen = append(seen, s.IsRecording())
			s.End(at(ms))
			s.End(at(2 * ms))
			s.SetName("late")
			s.SetAttributes(attribute.Int("late", 1))
			s.AddEvent("late")
			s.SetStatus(codes.Error, "late")
			rw := s.(sdktrace.ReadWriteSpan)
			return append(seen, s.IsRecording(), rw.Name(), rw.Status(), len(rw.Attributes()), len(rw.Events()))
		},
		"end on another goroutine": func(tp trace.TracerProvider) []any {
			_, s := tp.Tracer("").Start(ctx, "moved")
			done := make(chan struct{})
			go func() { defer close(done); s.End() }()
			<-done
			return nil
		},
		"end through the context": func(tp trace.TracerProvider) []any {
			ctx, s := tp.Tracer("").Start(ctx, "a")
			trace.SpanFromContext(ctx).End()
			return []any{s.IsRecording()}
		},
		"new root": func(tp trace.TracerProvider) []any {
			tr := tp.Tracer("")
			ctx, parent := tr.Start(ctx, "parent")
			_, s := tr.Start(ctx, "root", trace.WithNewRoot())
			s.End()
			parent.End()
			return nil
		},
		"remote parent": func(tp trace.TracerProvider) []any {
			state, _ := trace.ParseTraceState("vendor=1")
			ctx := trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
				TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, TraceState: state, Remote: true,
			}))
			_, s := tp.Tracer("").Start(ctx, "local root")
			s.End()
			return nil
		},
		"sampling decisions": func(tp trace.TracerProvider) (seen []any) {
			tr := tp.Tracer("")
			ctx, a := tr.Start(ctx, "record-only")
			ctx, b := tr.Start(ctx, "unsampled")
			_, c := tr.Start(ctx, "sampled")
			for _, s := range []trace.Span{c, b, a} {
				_, ro := s.(sdktrace.ReadOnlySpan)
				_, rw := s.(sdktrace.ReadWriteSpan)
				seen = append(seen, s.SpanContext().TraceFlags(), s.IsRecording(), ro, rw)
				s.SetAttributes(attribute.Int("k", 1))
				s.End()
			}
			return seen
		},
		"read back": func(tp trace.TracerProvider) []any {
			ctx, s := tp.Tracer("scope").Start(ctx, "read", at(0), trace.WithSpanKind(trace.SpanKindConsumer))
			s.SetAttributes(attribute.Int("k", 1))
			rw := trace.SpanFromContext(ctx).(sdktrace.ReadWriteSpan)
			stub := tracetest.SpanStubFromReadOnlySpan(rw)
			s.End()
			return []any{stub}
		},
		"nil context": func(tp trace.TracerProvider) []any {
			var none context.Context
			ctx, s := tp.Tracer("").Start(none, "orphan")
			s.End()
			return []any{ctx != nil, trace.SpanContextFromContext(ctx)}
		},
		"no end options": func(tp trace.TracerProvider) []any {
			_, s := tp.Tracer("").Start(ctx, "stack", trace.WithAttributes())
			s.End(trace.WithStackTrace(true))
			return nil
		},
	})
}

func TestTracerProviderOfASpanIsTheWrapper(t *testing.T) {
	sdk, _ := newRecorded(sdktrace.WithSampler(byName{}))
	tp := wrap(t, sdk)
	for _, name := range []string{"sampled", "record-only", "unsampled"} {
		ctx, s := tp.Tracer("").Start(context.Background(), name)
		if s.TracerProvider() != trace.TracerProvider(tp) || trace.SpanFromContext(ctx).TracerProvider() != trace.TracerProvider(tp) {
			t.Errorf("TracerProvider() of a %s span is %T, want the wrapper", name, s.TracerProvider())
		}
		if trace.SpanFromContext(ctx) != s {
			t.Errorf("the context of a %s span has %T, want the span itself", name, trace.SpanFromContext(ctx))
		}
		s.End()
	}
	if tp.Unwrap() != trace.TracerProvider(sdk) {
		t.Errorf("Unwrap() = %T, want the SDK", tp.Unwrap())
	}
}

func TestTracerIsTheSameForOneScope(t *testing.T) {
	tp := wrapSDK(t)
	if tp.Tracer("a") != tp.Tracer("a") {
		t.Error(`Tracer("a") returned two tracers`)
	}
	if tp.Tracer("a") == tp.Tracer("a", trace.WithInstrumentationVersion("2")) {
		t.Error(`Tracer("a") and version 2 of it are one tracer`)
	}
}

func TestChildSpanCountOfTheWrapper(t *testing.T) {
	sdk, ended := newRecorded()
	tr := wrap(t, sdk).Tracer("")
	ctx, parent := tr.Start(context.Background(), "parent")
	for range 3 {
		ctx, child := tr.Start(ctx, "child")
		_, grandchild := tr.Start(ctx, "grandchild")
		grandchild.End()
		child.End()
	}
	parent.End()
	if got := parent.(sdktrace.ReadOnlySpan).ChildSpanCount(); got != 3 {
		t.Errorf("ChildSpanCount() = %d, want 3", got)
	}
	// The package documentation promises this; if the SDK comes to count them, it must not.
	if last := ended.Ended()[len(ended.Ended())-1]; last.ChildSpanCount() != 0 {
		t.Errorf("a span processor sees ChildSpanCount() = %d, documented as 0", last.ChildSpanCount())
	}
}

// asked is a tracer provider whose tracers answer Enabled.
type asked struct {
	trace.TracerProvider
	answer bool
}

type askedTracer struct {
	trace.Tracer
	answer bool
}

func (p asked) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {
	return askedTracer{p.TracerProvider.Tracer(name, opts...), p.answer}
}

func (t askedTracer) Enabled(context.Context) bool { return t.answer }

func TestEnabledAsksTheWrappedTracer(t *testing.T) {
	type enabler interface{ Enabled(context.Context) bool }
	sdk, _ := newRecorded()
	for _, c := range []struct {
		base trace.TracerProvider
		want bool
	}{{sdk, true}, {asked{sdk, true}, true}, {asked{sdk, false}, false}} {
		tr := wrap(t, c.base).Tracer("").(enabler)
		if got := tr.Enabled(context.Background()); got != c.want {
			t.Errorf("Enabled() above %T = %t, want %t", c.base, got, c.want)
		}
	}
}

func TestForceFlushAndShutdownReachTheWrappedProvider(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	sdk := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter, sdktrace.WithBatchTimeout(time.Hour)))
	tp := spans.WrapTracerProvider(sdk)
	_, s := tp.Tracer("").Start(context.Background(), "a")
	s.End()
	if err := tp.ForceFlush(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := len(exporter.GetSpans()); got != 1 {
		t.Errorf("%d spans exported after ForceFlush, want 1", got)
	}
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := len(exporter.GetSpans()); got != 0 { // the exporter forgets at its shutdown
		t.Errorf("the exporter still has %d spans after Shutdown, want 0", got)
	}
}
