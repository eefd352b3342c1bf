package spans_test

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/spans"
)

func ExampleWrapTracerProvider() {
	ctx := context.Background()
	tp := spans.WrapTracerProvider(sdktrace.NewTracerProvider())
	defer func() { _ = tp.Shutdown(ctx) }()

	// The program goes on as before. Timestamps make this example come out the same each time.
	tracer := tp.Tracer("shop")
	start := time.Now()
	after := func(d time.Duration) trace.SpanEventOption { return trace.WithTimestamp(start.Add(d)) }
	ctx, order := tracer.Start(ctx, "order", after(0))
	_, query := tracer.Start(ctx, "query", after(10*time.Millisecond))
	query.End(after(40 * time.Millisecond))
	order.End(after(50 * time.Millisecond))

	for _, r := range tp.Regions() {
		fmt.Println(r.Name, r.Count, "total", r.Total, "self", r.Self)
	}
	// Output:
	// query 1 total 30ms self 30ms
	// order 1 total 50ms self 20ms
}

func ExampleStartSession() {
	ctx := context.Background()
	tp := spans.WrapTracerProvider(sdktrace.NewTracerProvider())
	defer func() { _ = tp.Shutdown(ctx) }()
	tracer := tp.Tracer("import")

	batch, session := spans.StartSession(ctx, "nightly import", attribute.Int("files", 2))
	for _, file := range []string{"customers", "orders"} {
		_, span := tracer.Start(batch, file)
		span.End()
	}
	session.End()

	if err := tp.ForceFlush(ctx); err != nil {
		fmt.Println(err)
	}
	for _, s := range tp.Store().Sessions(spans.Query{Name: "nightly import"}) {
		fmt.Println(s.Name, s.Attributes[0].Value.AsInt64(), "files")
		for _, span := range s.Spans {
			fmt.Println("-", span.Name)
		}
	}
	// Output:
	// nightly import 2 files
	// - customers
	// - orders
}
