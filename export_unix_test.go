//go:build unix

package otelprof

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"
)

// cpuTime is what the process has taken of the processors, which other processes do not change.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkMetricExport collects and exports the metrics of many regions, to a file and by OTLP,
// where a span of each has ended since the collection before, and where none has.
func BenchmarkMetricExport(b *testing.B) {
	for _, one := range []struct{ regions, changed int }{{10, 10}, {2000, 2000}, {2000, 0}} {
		for _, how := range []string{"file", "otlp"} {
			b.Run(fmt.Sprintf("%s/regions=%d/changed=%d", how, one.regions, one.changed), func(b *testing.B) {
				sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/x-protobuf")
				}))
				defer sink.Close()
				b.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "3600000")
				b.Setenv("OTEL_TRACES_EXPORTER", "none")
				options := []Option{WithoutGlobals(), WithLogger(slog.New(slog.DiscardHandler)), WithoutReplay()}
				if how == "otlp" {
					b.Setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", sink.URL+"/v1/metrics")
				} else {
					options = append(options, WithDataDir(b.TempDir()))
				}
				p, err := Setup(b.Context(), options...)
				if err != nil {
					b.Fatal(err)
				}
				defer p.Shutdown(context.Background())
				tracer := p.TracerProvider().Tracer("bench")
				work := func(regions int) {
					for i := range regions {
						ctx, span := tracer.Start(context.Background(), fmt.Sprint("GET /work/", i))
						_, child := tracer.Start(ctx, "query")
						child.End()
						span.End()
					}
					_ = p.tracers.ForceFlush(b.Context())
				}
				var spent time.Duration
				export := func() {
					before := cpuTime()
					if err := p.meters.ForceFlush(b.Context()); err != nil {
						b.Fatal(err)
					}
					spent += cpuTime() - before
				}
				work(one.regions)
				export()
				spent = 0
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					work(one.changed)
					b.StartTimer()
					export()
				}
				b.ReportMetric(float64(spent)/float64(b.N)/1e6, "cpu-ms/op")
			})
		}
	}
}
