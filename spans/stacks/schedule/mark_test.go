package schedule

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/otelprof/otelprof/spans"
)

func TestHookAllocs(t *testing.T) {
	r, tr := recording(t)
	ctx, span := tr.Start(t.Context(), "region")
	defer span.End()
	region := spans.RegionFromContext(ctx)
	for name, on := range map[string]bool{"off": false, "on": true} {
		if !on {
			r.Stop()
		} else if err := r.Start(); err != nil {
			t.Fatal(err)
		}
		// A garbage collection may empty the pool meanwhile.
		if n := testing.AllocsPerRun(1000, func() { r.OnStart(ctx, region); r.OnEnd(region) }); n >= 1 {
			t.Errorf("recorder %s: a region allocates %v times, want 0", name, n)
		}
	}
}

// BenchmarkSpan is the cost of the hook in a span that is not sampled.
func BenchmarkSpan(b *testing.B) {
	for _, mode := range []string{"without", "off", "on"} {
		b.Run("recorder="+mode, func(b *testing.B) {
			r, err := New()
			if err != nil {
				b.Fatal(err)
			}
			var opts []spans.Option
			if mode != "without" {
				opts = append(opts, spans.WithHook(r))
			}
			if mode == "on" {
				if err := r.Start(); err != nil {
					b.Fatal(err)
				}
				defer r.Stop()
			}
			tp := spans.Wrap(noop.NewTracerProvider(), opts...)
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
