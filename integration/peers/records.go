package main

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelprof/otelprof/otelhdr/hdrmetric"
)

// recordFigures compare one Record of a float64 histogram through OpenTelemetry's API: on a meter
// provider wrapped by otelhdr, and on the SDK's with exponential histograms. Both have 20 other
// series and a reader, and neither is collected from. The context has no span, so neither side
// keeps exemplars.
func recordFigures() []figure {
	var list []figure
	add := func(name string, of call, goroutines int, x float64) {
		list = append(list, figure{
			name:       name,
			ours:       func() *side { return recordSide("otelhdr", hdrHistogram(), of) },
			peer:       func() *side { return recordSide("otel-sdk-exponential", sdkHistogram(), of) },
			records:    true,
			goroutines: goroutines,
			procs:      goroutines,
			target:     target{x: x},
		})
	}
	add("otel_record", plainCall, 1, 0)
	add("otel_record_set", setCall, 1, 5)
	add("otel_record_set_2g", setCall, 2, 8)
	add("otel_record_set_percall", setPerCall, 1, 2.5)
	add("otel_record_bound", boundCall, 1, 15)
	add("otel_record_bound_2g", boundCall, 2, 0)
	add("otel_record_attrs3", attributesCall, 1, 1.35)
	return list
}

// A call makes, of a histogram, what records one value.
type call func(metric.Float64Histogram) func(v float64)

// requestAttributes returns the attributes of one HTTP request.
func requestAttributes() []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("http.request.method", "GET"),
		attribute.String("http.route", "/v1/items/{id}"),
		attribute.Int("http.response.status_code", 200),
	}
}

// plainCall records without attributes.
func plainCall(h metric.Float64Histogram) func(float64) {
	ctx := context.Background()
	return func(v float64) { h.Record(ctx, v) }
}

// setCall records with an option that is made once, as instrumentation does that has an eye to its
// cost.
func setCall(h metric.Float64Histogram) func(float64) {
	ctx, opts := context.Background(), []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(requestAttributes()...))}
	return func(v float64) { h.Record(ctx, v, opts...) }
}

// setPerCall makes the option for each call, of a set that is made once.
func setPerCall(h metric.Float64Histogram) func(float64) {
	ctx, set := context.Background(), attribute.NewSet(requestAttributes()...)
	return func(v float64) { h.Record(ctx, v, metric.WithAttributeSet(set)) }
}

// attributesCall hands attributes over for each call; making a set of them is most of its cost on
// either side.
func attributesCall(h metric.Float64Histogram) func(float64) {
	ctx, attributes := context.Background(), requestAttributes()
	return func(v float64) { h.Record(ctx, v, metric.WithAttributes(attributes...)) }
}

// boundCall binds the attributes where the instrument can, and otherwise does as setCall: the least
// that each side offers for a fixed set.
func boundCall(h metric.Float64Histogram) func(float64) {
	binder, ok := h.(interface {
		Bind(...attribute.KeyValue) metric.Float64Histogram
	})
	if !ok {
		return setCall(h)
	}
	return plainCall(binder.Bind(requestAttributes()...))
}

func hdrHistogram() metric.Float64Histogram {
	producer := hdrmetric.NewProducer()
	reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(producer))
	return newHistogram(hdrmetric.WrapMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), producer))
}

func sdkHistogram() metric.Float64Histogram {
	return newHistogram(sdkmetric.NewMeterProvider(sdkmetric.WithReader(exponentialReader())))
}

// exponentialReader has the SDK make exponential histograms, cumulative ones.
func exponentialReader() *sdkmetric.ManualReader {
	return sdkmetric.NewManualReader(
		sdkmetric.WithTemporalitySelector(func(sdkmetric.InstrumentKind) metricdata.Temporality { return metricdata.CumulativeTemporality }),
		sdkmetric.WithAggregationSelector(func(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
			if k == sdkmetric.InstrumentKindHistogram {
				return sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20}
			}
			return sdkmetric.DefaultAggregationSelector(k)
		}))
}

// newHistogram returns a histogram that already has series.
func newHistogram(p metric.MeterProvider) metric.Float64Histogram {
	h, err := p.Meter("peers").Float64Histogram("http.server.request.duration", metric.WithUnit("s"))
	if err != nil {
		panic(err) // the name is valid
	}
	for i := range 20 {
		h.Record(context.Background(), 0.001, metric.WithAttributes(attribute.Int("i", i)))
	}
	return h
}

// durations are log-normal, in seconds; their number is a power of two.
var durations = func() []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	values := make([]float64, 1<<12)
	for i := range values {
		values[i] = 1e-4 * math.Exp(r.NormFloat64())
	}
	return values
}()

func recordSide(name string, h metric.Float64Histogram, of call) *side {
	record := of(h)
	for _, v := range durations { // buckets are there before anything is measured
		record(v)
	}
	return &side{name: name, record: record}
}

// recordParallel records n values on several goroutines at once.
func recordParallel(record func(float64), n, goroutines int) {
	loop := func() {
		for i := range n / goroutines {
			record(durations[i&(len(durations)-1)])
		}
	}
	if goroutines == 1 {
		loop()
		return
	}
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(loop)
	}
	wg.Wait()
}
