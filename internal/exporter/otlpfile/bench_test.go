package otlpfile

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/otelprof/otelprof/internal/otlpjson"
)

// BenchmarkSpans encodes as many spans as are encoded without a rest.
func BenchmarkSpans(b *testing.B) {
	stub := tracetest.SpanStub{Name: "POST /orders", SpanContext: someSpans()[0].SpanContext(), StartTime: time.Now(), EndTime: time.Now()}
	for _, key := range []attribute.Key{"http.route", "http.request.method", "server.address", "url.scheme"} {
		stub.Attributes = append(stub.Attributes, key.String("some text"))
	}
	stub.Attributes = append(stub.Attributes, attribute.Int("http.response.status_code", 200), attribute.Int("server.port", 8080))
	stubs := make(tracetest.SpanStubs, itemsAtOnce)
	for i := range stubs {
		stubs[i] = stub
	}
	all := stubs.Snapshots()
	for b.Loop() {
		_, _ = otlpjson.Line(tracesOf(all))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/itemsAtOnce, "ns/span")
}
