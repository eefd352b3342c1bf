package spans_test

import (
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/otelprof/otelprof/internal/http/own"
)

// TestOwnRequests wants no span, here or at the exporter, of what otelprof itself does.
func TestOwnRequests(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	p := wrap(t, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)))
	tracer := p.Tracer("net/http")
	ctx, span := tracer.Start(own.Context(context.Background()), "GET /api/v1/regions")
	_, below := tracer.Start(ctx, "render")
	below.End()
	span.End()
	if n := len(p.Regions()) + len(recorder.Ended()); n != 0 {
		t.Errorf("%d regions and spans, want none", n)
	}
	_, span = tracer.Start(context.Background(), "GET /orders")
	span.End()
	if n := len(p.Regions()); n != 1 || len(recorder.Ended()) != 1 {
		t.Errorf("%d regions, %d spans, want 1 of each", n, len(recorder.Ended()))
	}
}
