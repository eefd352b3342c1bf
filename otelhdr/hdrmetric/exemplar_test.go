package hdrmetric_test

import (
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/otelhdr/hdrmetric"
)

// spanContext returns a context with a span, sampled or not.
func spanContext(ctx context.Context, id byte, flags trace.TraceFlags) context.Context {
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{id}, SpanID: trace.SpanID{id, 1}, TraceFlags: flags,
	}))
}

// TestConformsExemplars compares exemplars, of which there are no more than a reservoir keeps, so
// that chance plays no part.
func TestConformsExemplars(t *testing.T) {
	filtered := sdkmetric.NewView(sdkmetric.Instrument{Name: "filtered"}, sdkmetric.Stream{AttributeFilter: attribute.NewAllowKeysFilter("http.route")})
	small := sdkmetric.NewView(sdkmetric.Instrument{Name: "small"}, sdkmetric.Stream{
		ExemplarReservoirProviderSelector: func(sdkmetric.Aggregation) exemplar.ReservoirProvider {
			return func(attribute.Set) exemplar.Reservoir { return new(lastOffered) }
		},
	})
	for _, env := range []string{"", "trace_based", "always_on", "always_off", " Always_On "} {
		t.Run(env, func(t *testing.T) {
			t.Setenv("OTEL_METRICS_EXEMPLAR_FILTER", env)
			compare(t, setting{views: []sdkmetric.View{filtered, small}}, func(p metric.MeterProvider, collect func()) error {
				n, err := p.Meter("m").Int64Histogram("n")
				if err != nil {
					return err
				}
				for range 2 {
					for _, name := range []string{"plain", "filtered", "small"} {
						h, err := p.Meter("m").Float64Histogram(name, metric.WithUnit("s"))
						if err != nil {
							return err
						}
						h.Record(t.Context(), 1)
						h.Record(spanContext(t.Context(), 1, 0), 2)
						h.Record(spanContext(t.Context(), 2, trace.FlagsSampled), 3)
						h.Record(spanContext(t.Context(), 3, trace.FlagsSampled), -4, metric.WithAttributes(requestAttributes()...))
						h.Record(context.Background(), 5, metric.WithAttributes(requestAttributes()...))
					}
					n.Record(spanContext(t.Context(), 4, trace.FlagsSampled), 6)
					collect()
				}
				n.Record(spanContext(t.Context(), 5, trace.FlagsSampled), 7)
				collect()
				return nil
			})
		})
	}
}

// A lastOffered keeps one exemplar, and does not say that it may be used concurrently.
type lastOffered struct{ e []exemplar.Exemplar }

// Offer implements exemplar.Reservoir.
func (l *lastOffered) Offer(ctx context.Context, at time.Time, v exemplar.Value, dropped []attribute.KeyValue) {
	id := trace.SpanContextFromContext(ctx).TraceID()
	l.e = []exemplar.Exemplar{{Value: v, Time: at, TraceID: id[:], FilteredAttributes: dropped}}
}

// Collect implements exemplar.Reservoir.
func (l *lastOffered) Collect(dest *[]exemplar.Exemplar) { *dest = append((*dest)[:0], l.e...) }

func TestExemplarFilterOption(t *testing.T) {
	for _, tt := range []struct {
		name   string
		filter exemplar.Filter
		want   int
	}{
		{"always on", exemplar.AlwaysOnFilter, 2},
		{"always off", exemplar.AlwaysOffFilter, 0},
		{"trace based", exemplar.TraceBasedFilter, 1},
		{"own", func(ctx context.Context) bool { return !trace.SpanContextFromContext(ctx).IsSampled() }, 1},
	} {
		producer := hdrmetric.NewProducer()
		reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(producer))
		p := hdrmetric.WrapMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), producer, hdrmetric.WithExemplarFilter(tt.filter))
		h, err := p.Meter("m").Float64Histogram("h")
		if err != nil {
			t.Fatal(err)
		}
		bound := h.(interface {
			Bind(...attribute.KeyValue) metric.Float64Histogram
		}).Bind()
		bound.Record(context.Background(), 1)
		bound.Record(spanContext(t.Context(), 1, trace.FlagsSampled), 2)
		if got := len(onlyPoint[float64](t, reader).Exemplars); got != tt.want {
			t.Errorf("%s: %d exemplars, want %d", tt.name, got, tt.want)
		}
	}
}

// TestExemplarsAreCapped records more than a reservoir keeps.
func TestExemplarsAreCapped(t *testing.T) {
	t.Setenv("OTEL_METRICS_EXEMPLAR_FILTER", "always_on")
	reader, p := newReader(t, hdrmetric.WithTemporality(metricdata.DeltaTemporality))
	h, err := p.Meter("m").Float64Histogram("h")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for i := range 500 {
			h.Record(t.Context(), float64(i))
		}
		if got := len(onlyPoint[float64](t, reader).Exemplars); got != 20 {
			t.Errorf("%d exemplars, want 20", got)
		}
	}
}
