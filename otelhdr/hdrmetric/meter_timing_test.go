package hdrmetric_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/otelhdr/hdrmetric"
)

// requestAttributes are the attributes of one HTTP request.
func requestAttributes() []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("http.request.method", "GET"),
		attribute.String("http.route", "/v1/items/{id}"),
		attribute.Int("http.response.status_code", 200),
	}
}

func BenchmarkInstrumentRecord(b *testing.B) {
	p := hdrmetric.WrapMeterProvider(noop.NewMeterProvider(), hdrmetric.NewProducer())
	h, err := p.Meter("bench").Float64Histogram("request.duration", metric.WithUnit("s"))
	if err != nil {
		b.Fatal(err)
	}
	ctx, kvs := context.Background(), requestAttributes()
	set := attribute.NewSet(requestAttributes()...)
	reused := []metric.RecordOption{metric.WithAttributeSet(set)}
	var sixteen [16][]metric.RecordOption
	for i := range sixteen {
		sixteen[i] = []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(append(requestAttributes(), attribute.Int("n", i))...))}
	}
	bound := h.(interface {
		Bind(...attribute.KeyValue) metric.Float64Histogram
	}).Bind(kvs...)
	unsampled, sampled := spanContext(ctx, 1, 0), spanContext(ctx, 2, trace.FlagsSampled)
	for _, bm := range []struct {
		name   string
		record func(i int)
	}{
		{"none", func(int) { h.Record(ctx, 0.0125) }},
		{"set", func(int) { h.Record(ctx, 0.0125, reused...) }},
		{"sets=16", func(i int) { h.Record(ctx, 0.0125, sixteen[i&15]...) }},
		{"set_percall", func(int) { h.Record(ctx, 0.0125, metric.WithAttributeSet(set)) }},
		{"attrs=3", func(int) { h.Record(ctx, 0.0125, metric.WithAttributes(kvs...)) }},
		{"bound", func(int) { bound.Record(ctx, 0.0125) }},
		{"bound/span=unsampled", func(int) { bound.Record(unsampled, 0.0125) }},
		{"bound/span=sampled", func(int) { bound.Record(sampled, 0.0125) }},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				bm.record(i)
				i++
			}
		})
	}
}

// BenchmarkProduce collects 100 series of some five octaves each, of which all have something new.
func BenchmarkProduce(b *testing.B) {
	for _, temporality := range []metricdata.Temporality{metricdata.CumulativeTemporality, metricdata.DeltaTemporality} {
		b.Run("temporality="+temporality.String(), func(b *testing.B) {
			producer := hdrmetric.NewProducer(hdrmetric.WithTemporality(temporality))
			h, err := hdrmetric.WrapMeterProvider(nil, producer).Meter("bench").Float64Histogram("h", metric.WithUnit("s"))
			if err != nil {
				b.Fatal(err)
			}
			var sets [100]metric.RecordOption
			for i := range sets {
				sets[i] = metric.WithAttributeSet(attribute.NewSet(attribute.Int("i", i)))
			}
			r := rand.New(rand.NewPCG(1, 2))
			record := func(n int) {
				for range n {
					for _, set := range sets {
						h.Record(b.Context(), 0.001*math.Exp(0.6*r.NormFloat64()), set)
					}
				}
			}
			record(1000)
			b.ReportAllocs()
			for b.Loop() {
				record(1) // so that deltas have something to report; 5 µs
				if _, err := producer.Produce(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
