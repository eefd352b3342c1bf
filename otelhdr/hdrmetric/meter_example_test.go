package hdrmetric_test

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelprof/otelprof/otelhdr/hdrmetric"
)

func ExampleWrapMeterProvider() {
	ctx := context.Background()
	producer := hdrmetric.NewProducer() // for a PeriodicReader, with the temporality of its exporter
	reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(producer))
	provider := hdrmetric.WrapMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), producer)

	duration, err := provider.Meter("shop").Float64Histogram("checkout.duration", metric.WithUnit("s"))
	if err != nil {
		fmt.Println(err)
		return
	}
	paid := metric.WithAttributeSet(attribute.NewSet(attribute.String("outcome", "paid")))
	for ms := range 1000 {
		duration.Record(ctx, float64(ms+1)/1000, paid)
	}

	var collected metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &collected); err != nil {
		fmt.Println(err)
		return
	}
	m := collected.ScopeMetrics[0].Metrics[0]
	p := m.Data.(metricdata.ExponentialHistogram[float64]).DataPoints[0]
	outcome, _ := p.Attributes.Value("outcome")
	fmt.Println(m.Name, m.Unit, outcome.AsString())
	fmt.Println("count", p.Count, "sum", p.Sum, "scale", p.Scale)
	fmt.Printf("median %.2f\n", quantileOf(p, 0.5))
	// Output:
	// checkout.duration s paid
	// count 1000 sum 500.5 scale 8
	// median 0.50
}
