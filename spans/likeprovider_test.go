package spans_test

import (
	"context"
	"runtime/debug"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/otelprof/otelprof/spans"
)

// Tracers have no spans after a shutdown of the SDK or of the wrapper, whether or not their scope
// was there before.
func TestTracerAfterShutdownHasNoSpans(t *testing.T) {
	type shutdown interface{ Shutdown(context.Context) error }
	for _, opts := range [][]spans.Option{nil, {spans.WithoutRecording()}} {
		for _, bySDK := range []bool{false, true} {
			sdk, ended := newRecorded()
			tp := wrap(t, sdk, opts...)
			ctx, open := tp.Tracer("known").Start(t.Context(), "open")
			var s shutdown = tp
			if bySDK {
				s = sdk
			}
			if err := s.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, scope := range []string{"known", "new"} {
				_, span := tp.Tracer(scope).Start(t.Context(), "late")
				if span.IsRecording() || span.SpanContext().IsValid() {
					t.Errorf("scope %s, shut down by the SDK %t: span %v records or is valid", scope, bySDK, span.SpanContext())
				}
				span.End()
				_, below := tp.Tracer(scope).Start(ctx, "below")
				if below.IsRecording() || !below.SpanContext().Equal(open.SpanContext()) {
					t.Errorf("scope %s: span %v below one that is open, want its context %v", scope, below.SpanContext(), open.SpanContext())
				}
				below.End()
			}
			if !open.IsRecording() {
				t.Error("the open span ended with one below it")
			}
			open.End()
			if got := regionOf(t, tp, "late").Count; got != 0 || len(ended.Ended()) != 0 {
				t.Errorf("%d late spans measured and %d exported, want none", got, len(ended.Ended()))
			}
		}
	}
}

// An unsampled span is handed on by a tracer without spans, and must not end with what was started
// below it.
func TestTracerAfterShutdownLeavesUnsampledSpansOpen(t *testing.T) {
	sdk, _ := newRecorded(sdktrace.WithSampler(sdktrace.NeverSample()))
	tp := wrap(t, sdk)
	ctx, open := tp.Tracer("").Start(t.Context(), "open")
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, below := tp.Tracer("").Start(ctx, "below")
	below.End()
	if got := regionOf(t, tp, "open").Count; got != 0 {
		t.Errorf("%d open spans have ended, want none", got)
	}
	open.End()
}

// A provider that never had spans goes on being measured.
func TestTracerOfNothingIsMeasuredAfterShutdown(t *testing.T) {
	for _, base := range []trace.TracerProvider{nil, noop.NewTracerProvider()} {
		tp := spans.WrapTracerProvider(base)
		if err := tp.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, s := tp.Tracer("").Start(t.Context(), "late")
		s.End()
		if got := regionOf(t, tp, "late").Count; got != 1 {
			t.Errorf("%d spans measured, want 1", got)
		}
	}
}

func TestProcessorsReachTheWrappedProvider(t *testing.T) {
	type registrar interface {
		RegisterSpanProcessor(sdktrace.SpanProcessor)
		UnregisterSpanProcessor(sdktrace.SpanProcessor)
	}
	sdk := sdktrace.NewTracerProvider()
	var tp trace.TracerProvider = wrap(t, sdk)
	ended := tracetest.NewSpanRecorder()
	one := func() { _, s := tp.Tracer("").Start(t.Context(), "a"); s.End() }
	one()
	tp.(registrar).RegisterSpanProcessor(ended)
	one()
	tp.(registrar).UnregisterSpanProcessor(ended)
	one()
	if got := len(ended.Ended()); got != 1 {
		t.Errorf("the processor saw %d spans, want the one while it was registered", got)
	}
	without := wrap(t, noop.NewTracerProvider())
	without.RegisterSpanProcessor(ended) // nothing to reach
	without.UnregisterSpanProcessor(ended)
}

// onStart is a processor that does something to each span as it starts.
type onStart func(sdktrace.ReadWriteSpan)

func (f onStart) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) { f(s) }
func (onStart) OnEnd(sdktrace.ReadOnlySpan)                           {}
func (onStart) ForceFlush(context.Context) error                      { return nil }
func (onStart) Shutdown(context.Context) error                        { return nil }

// Regions and sessions have the names and statuses that are exported.
func TestWhatProcessorsSetIsMeasured(t *testing.T) {
	for name, c := range map[string]struct {
		start  func(sdktrace.ReadWriteSpan)
		during func(trace.Span)
	}{
		"name":                    {start: func(s sdktrace.ReadWriteSpan) { s.SetName("renamed") }},
		"status":                  {start: func(s sdktrace.ReadWriteSpan) { s.SetStatus(codes.Error, "p") }},
		"name and status":         {start: func(s sdktrace.ReadWriteSpan) { s.SetName("renamed"); s.SetStatus(codes.Error, "p") }},
		"a name before another":   {func(s sdktrace.ReadWriteSpan) { s.SetName("renamed") }, func(s trace.Span) { s.SetName("last") }},
		"Ok before an error":      {func(s sdktrace.ReadWriteSpan) { s.SetStatus(codes.Ok, "") }, func(s trace.Span) { s.SetStatus(codes.Error, "late") }},
		"an end before a rename":  {func(s sdktrace.ReadWriteSpan) { s.End() }, func(s trace.Span) { s.SetName("late") }},
		"an end before an error":  {func(s sdktrace.ReadWriteSpan) { s.End() }, func(s trace.Span) { s.SetStatus(codes.Error, "late") }},
		"rename, end, and rename": {func(s sdktrace.ReadWriteSpan) { s.SetName("renamed"); s.End() }, func(s trace.Span) { s.SetName("late") }},
	} {
		t.Run(name, func(t *testing.T) {
			sdk, ended := newRecorded(sdktrace.WithSpanProcessor(onStart(c.start)))
			tp := wrap(t, sdk)
			_, s := tp.Tracer("").Start(t.Context(), "x")
			if c.during != nil {
				c.during(s)
			}
			s.End()
			exported := ended.Ended()[0]
			var errs uint64
			if exported.Status().Code == codes.Error {
				errs = 1
			}
			if r := regionOf(t, tp, exported.Name()); r.Count != 1 || r.Errors != errs {
				t.Errorf("region %q has %d spans and %d errors, want 1 and %d", exported.Name(), r.Count, r.Errors, errs)
			}
			rec := storedOne(t, tp)
			if span := rec.Spans[0]; rec.Name != exported.Name() || span.Name != exported.Name() || uint64(rec.Errors) != errs || span.Status != exported.Status().Code {
				t.Errorf("session %q with %d errors, span %q %v: want %q and %v", rec.Name, rec.Errors, span.Name, span.Status, exported.Name(), exported.Status())
			}
		})
	}
}

// A panic is recovered and raised again as often as by the SDK alone, and leaves the same event
// behind.
func TestPanicsAreRaisedAsOftenAsByTheSDK(t *testing.T) {
	raised := func(tp trace.TracerProvider) (n int) {
		defer func() {
			_ = recover()
			n = strings.Count(string(debug.Stack()), "panic(")
		}()
		for _, name := range []string{"a", "record-only", "unsampled", "ended"} {
			_, s := tp.Tracer("").Start(t.Context(), name)
			defer s.End()
			if name == "ended" {
				s.End()
			}
		}
		panic("boom")
	}
	events := func(r *tracetest.SpanRecorder) (n int) {
		for _, s := range r.Ended() {
			n += len(s.Events())
		}
		return n
	}
	for name, c := range map[string]struct {
		sdk  []sdktrace.TracerProviderOption
		ours []spans.Option
		like []sdktrace.TracerProviderOption // the bare SDK that is to be compared with
	}{
		"recorded":   {},
		"SDK's":      {sdk: []sdktrace.TracerProviderOption{sdktrace.WithoutPanicRecording()}, like: []sdktrace.TracerProviderOption{sdktrace.WithoutPanicRecording()}},
		"ours":       {ours: []spans.Option{spans.WithoutPanicRecording()}, like: []sdktrace.TracerProviderOption{sdktrace.WithoutPanicRecording()}},
		"idle":       {ours: []spans.Option{spans.WithoutRecording()}},
		"idle SDK's": {[]sdktrace.TracerProviderOption{sdktrace.WithoutPanicRecording()}, []spans.Option{spans.WithoutRecording()}, []sdktrace.TracerProviderOption{sdktrace.WithoutPanicRecording()}},
		"idle ours":  {nil, []spans.Option{spans.WithoutRecording(), spans.WithoutPanicRecording()}, []sdktrace.TracerProviderOption{sdktrace.WithoutPanicRecording()}},
	} {
		t.Run(name, func(t *testing.T) {
			byName := sdktrace.WithSampler(byName{})
			bare, bareEnded := newRecorded(append(c.like, byName)...)
			base, ended := newRecorded(append(c.sdk, byName)...)
			want, got := raised(bare), raised(wrap(t, base, c.ours...))
			if got != want {
				t.Errorf("%d frames of panic, the SDK alone has %d", got, want)
			}
			if got, want := events(ended), events(bareEnded); got != want {
				t.Errorf("%d events, the SDK alone has %d", got, want)
			}
		})
	}
}

// TestSDKMetricsAreOfTheApplicationOnly switches on the SDK's metrics of itself. It runs in a
// process of its own, since what is learned of the SDK is learned once.
func TestSDKMetricsAreOfTheApplicationOnly(t *testing.T) {
	if !alone(t, "OTEL_GO_X_OBSERVABILITY=true") {
		return
	}
	reader := sdkmetric.NewManualReader()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	sdk, _ := newRecorded()
	tp := wrap(t, sdk)
	ctx, a := tp.Tracer("").Start(t.Context(), "a")
	_, b := tp.Tracer("").Start(ctx, "b")
	b.End()
	a.End()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if sum, ok := m.Data.(metricdata.Sum[int64]); ok {
				for _, p := range sum.DataPoints {
					got[m.Name] += p.Value
				}
			}
		}
	}
	if started, ok := got["otel.sdk.span.started"]; !ok || started != 2 || got["otel.sdk.span.live"] != 0 {
		t.Errorf("the SDK counts %v, want 2 spans started and none live", got)
	}
}
