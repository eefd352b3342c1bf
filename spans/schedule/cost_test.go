package schedule

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/otelprof/otelprof/spans"
)

// BenchmarkSpan is the cost of a recorder to a span that is not sampled.
func BenchmarkSpan(b *testing.B) {
	for _, mode := range []string{"without", "off", "on"} {
		b.Run("recorder="+mode, func(b *testing.B) {
			r, err := NewRecorder()
			if err != nil {
				b.Fatal(err)
			}
			var opts []spans.Option
			if mode != "without" {
				opts = append(opts, spans.WithHook(r.Hook()))
			}
			if mode == "on" {
				if err := r.Start(); err != nil {
					b.Fatal(err)
				}
				defer r.Shutdown(context.Background())
			}
			tp := spans.WrapTracerProvider(noop.NewTracerProvider(), opts...)
			defer func() { _ = tp.Shutdown(context.Background()) }()
			tr := tp.Tracer("bench")
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				_, span := tr.Start(ctx, "region")
				span.End()
			}
		})
	}
}

// BenchmarkSnapshot reads the events of many regions.
func BenchmarkSnapshot(b *testing.B) {
	r, tr := recording(b)
	for range 50_000 {
		_, span := tr.Start(b.Context(), "region")
		span.End()
	}
	report := snapshot(b, r)
	b.SetBytes(report.Bytes)
	b.ReportMetric(float64(report.Events), "events")
	for b.Loop() {
		snapshot(b, r)
	}
}
