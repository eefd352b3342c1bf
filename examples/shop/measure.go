package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof"
	"github.com/otelprof/otelprof/internal/exporter/otlpfile"
)

// The sides of -measure. Both write the same spans and metrics to files.
const (
	sideOtelprof = "otelprof"
	sideSDK      = "sdk"
)

// measure runs the shop on one side and prints one line: requests and seconds on the wall,
// microseconds of the processor for each request, those of the clients included, and percentiles of
// what the clients waited.
func measure(ctx context.Context, cfg settings, files string, stdout, stderr io.Writer) (err error) {
	background := context.WithoutCancel(ctx)
	s, err := openSide(background, cfg, files, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.shutdown(background)) }()
	shop, err := openShop(background, cfg.data, s.spans, s.metrics)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shop.Close(background)) }()

	load := newLoad(shop.URL(), cfg.clients)
	ctx, cancel := context.WithTimeout(ctx, cfg.duration)
	defer cancel()
	began := make(chan usage, 1)
	warm := time.AfterFunc(cfg.warm, func() {
		load.Latencies.Reset()
		began <- readUsage()
	})
	if err := load.Run(ctx); err != nil {
		return err
	}
	if warm.Stop() {
		return fmt.Errorf("-for %v: was over before it was warm", cfg.duration)
	}
	wall, cpu := readUsage().since(<-began)
	taken := load.Latencies.Snapshot(nil)
	n := float64(taken.Count())
	_, err = fmt.Fprintf(stdout, "requests=%.0f seconds=%.3f cpu_us=%.2f p50_us=%.1f p99_us=%.1f p999_us=%.1f\n",
		n, wall.Seconds(), float64(cpu.Microseconds())/n,
		float64(taken.Percentile(50))/1e3, float64(taken.Percentile(99))/1e3, float64(taken.Percentile(99.9))/1e3)
	return err
}

// A side is what the shop reports to.
type side struct {
	spans    trace.TracerProvider
	metrics  metric.MeterProvider
	shutdown func(context.Context) error
}

func openSide(ctx context.Context, cfg settings, files string, stderr io.Writer) (side, error) {
	if cfg.measure == sideSDK {
		return openSDK(files)
	}
	p, err := otelprof.Setup(ctx, everything(cfg, files, stderr)...)
	if err != nil {
		return side{}, err
	}
	return side{p.TracerProvider(), p.MeterProvider(), p.Shutdown}, nil
}

// openSDK makes providers as the SDK has them by default, with exporters to files.
func openSDK(files string) (side, error) {
	spans, errSpans := otlpfile.NewSpanExporter(otlpfile.Config{Dir: files})
	metrics, errMetrics := otlpfile.NewMetricExporter(otlpfile.Config{Dir: files})
	if err := errors.Join(errSpans, errMetrics); err != nil {
		return side{}, err
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans))
	mp := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metrics)))
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	return side{tp, mp, func(ctx context.Context) error { return errors.Join(tp.Shutdown(ctx), mp.Shutdown(ctx)) }}, nil
}

// usage is the time on the wall, and of the processors for this process.
type usage struct {
	at  time.Time
	cpu time.Duration
}

func readUsage() usage { return usage{time.Now(), cpuTime()} }

// since returns what was used from an earlier moment on.
func (u usage) since(began usage) (wall, cpu time.Duration) {
	return u.at.Sub(began.at), u.cpu - began.cpu
}
