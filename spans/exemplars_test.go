package spans_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/spans"
)

// An exemplar is what the test reads of one: which span, and for how long it was open.
type exemplar struct {
	trace, span string
	duration    time.Duration
}

func exemplarOf(span trace.Span, d time.Duration) exemplar {
	c := span.SpanContext()
	return exemplar{c.TraceID().String(), c.SpanID().String(), d}
}

// exemplarsIn collects the exemplars of regions' durations, by region.
func exemplarsIn(t *testing.T, tp *spans.TracerProvider, reader *sdkmetric.ManualReader) map[string][]exemplar {
	t.Helper()
	if err := tp.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &rm); err != nil {
		t.Fatal(err)
	}
	out := map[string][]exemplar{}
	for _, s := range rm.ScopeMetrics {
		for _, m := range s.Metrics {
			h, ok := m.Data.(metricdata.ExponentialHistogram[float64])
			if !ok {
				continue
			}
			for _, p := range h.DataPoints {
				name, _ := p.Attributes.Value(naming.RegionNameKey)
				if !slices.IsSortedFunc(p.Exemplars, func(a, b metricdata.Exemplar[float64]) int { return a.Time.Compare(b.Time) }) {
					t.Errorf("%s: not in the order of time", name.AsString())
				}
				for _, e := range p.Exemplars {
					one := exemplar{trace.TraceID(e.TraceID).String(), trace.SpanID(e.SpanID).String(), time.Duration(e.Value*1e9 + 0.5)}
					out[name.AsString()] = append(out[name.AsString()], one)
				}
			}
		}
	}
	return out
}

func wrapExemplars(t *testing.T, s sdktrace.Sampler, opts ...spans.Option) *spans.TracerProvider {
	t.Helper()
	tp := spans.WrapTracerProvider(newSDK(s), opts...)
	t.Cleanup(func() { _ = tp.Shutdown(context.Background()) })
	return tp
}

// closed is a span of this duration that began about a minute ago, plus later in milliseconds.
func closed(ctx context.Context, tp trace.TracerProvider, name string, later int, d time.Duration) trace.Span {
	begin := time.Now().Add(-time.Minute + time.Duration(later)*time.Millisecond)
	_, span := tp.Tracer("shop").Start(ctx, name, trace.WithTimestamp(begin))
	span.End(trace.WithTimestamp(begin.Add(d)))
	return span
}

func TestExemplars(t *testing.T) {
	tp := wrapExemplars(t, sdktrace.AlwaysSample())
	readers := map[string]*sdkmetric.ManualReader{
		"cumulative": newReader(t, spans.NewProducer(tp, metricdata.CumulativeTemporality)),
		"delta":      newReader(t, spans.NewProducer(tp, metricdata.DeltaTemporality)),
	}
	first := closed(t.Context(), tp, "GET /", 0, 3*time.Millisecond)
	second := closed(t.Context(), tp, "GET /", 10, 2*time.Millisecond)
	want := map[string][]exemplar{"GET /": {exemplarOf(first, 3*time.Millisecond), exemplarOf(second, 2*time.Millisecond)}}
	for name, r := range readers {
		if diff := cmp.Diff(want, exemplarsIn(t, tp, r), cmp.AllowUnexported(exemplar{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if again := exemplarsIn(t, tp, r); len(again) != 0 {
			t.Errorf("%s: told again of %v", name, again)
		}
	}
}

// A region with many spans has a few, each once, and the slowest among them wherever it came.
func TestExemplarsOfMany(t *testing.T) {
	tp := wrapExemplars(t, sdktrace.AlwaysSample())
	reader := newReader(t, spans.NewProducer(tp, metricdata.CumulativeTemporality))
	for round := range 20 {
		ctx, root := tp.Tracer("shop").Start(t.Context(), "root")
		var slowest exemplar
		for i := range 100 {
			d := time.Duration(1+i) * time.Microsecond
			if i == 5*round {
				d = time.Second
			}
			if span := closed(ctx, tp, "op", i, d); i == 5*round {
				slowest = exemplarOf(span, d)
			}
		}
		root.End()
		got := exemplarsIn(t, tp, reader)["op"]
		different := map[exemplar]bool{}
		for _, e := range got {
			different[e] = true
		}
		if len(got) > 8 || len(different) < 7 || len(different) != len(got) || !different[slowest] {
			t.Errorf("round %d: %d exemplars, %d different, with the slowest %v: want 7 or 8 with it", round, len(got), len(different), different[slowest])
		}
	}
}

// An exemplar counts for the name that its span had in the end, as its duration does.
func TestExemplarRenamed(t *testing.T) {
	tp := wrapExemplars(t, sdktrace.AlwaysSample())
	reader := newReader(t, spans.NewProducer(tp, metricdata.CumulativeTemporality))
	_, span := tp.Tracer("shop").Start(t.Context(), "GET")
	span.SetName("GET /orders")
	span.End()
	got := exemplarsIn(t, tp, reader)
	if len(got) != 1 || len(got["GET /orders"]) != 1 || got["GET /orders"][0].span != span.SpanContext().SpanID().String() {
		t.Errorf("exemplars %v, want one of GET /orders", got)
	}
}

// No exemplar leads to a span that is not exported, and none comes from the future.
func TestExemplarsLeftOut(t *testing.T) {
	none := func(why string, tp *spans.TracerProvider, ends ...trace.SpanEndOption) {
		t.Helper()
		reader := newReader(t, spans.NewProducer(tp, metricdata.CumulativeTemporality))
		_, span := tp.Tracer("shop").Start(t.Context(), "op")
		span.End(ends...)
		if got := exemplarsIn(t, tp, reader); len(got) != 0 {
			t.Errorf("%s: exemplars %v, want none", why, got)
		}
	}
	none("not sampled", wrapExemplars(t, sdktrace.NeverSample()))
	noSession := spans.WithSessionFilter(func(context.Context, string) bool { return false })
	none("without a session", wrapExemplars(t, sdktrace.AlwaysSample(), noSession))
	none("in an hour", wrapExemplars(t, sdktrace.AlwaysSample()), trace.WithTimestamp(time.Now().Add(time.Hour)))
	t.Setenv("OTEL_METRICS_EXEMPLAR_FILTER", " Always_Off")
	none("switched off", wrapExemplars(t, sdktrace.AlwaysSample()))
}

// A span of another provider in a session is an exemplar of its own provider.
func TestExemplarsOfTwoProviders(t *testing.T) {
	a, b := wrapSDK(t), wrapSDK(t)
	r := sdkmetric.NewManualReader(sdkmetric.WithProducer(spans.NewProducer(b, metricdata.CumulativeTemporality)))
	sdkmetric.NewMeterProvider(sdkmetric.WithReader(r))
	ctx, root := a.Tracer("a").Start(context.Background(), "root")
	_, c := b.Tracer("b").Start(ctx, "child")
	c.End()
	root.End()
	if err := a.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := exemplarsIn(t, b, r)["child"]; len(got) != 1 {
		t.Errorf("%d exemplars, want 1", len(got))
	}
}
