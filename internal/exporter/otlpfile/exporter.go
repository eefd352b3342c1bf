package otlpfile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"syscall"

	"go.opentelemetry.io/otel"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelprof/otelprof/internal/exporter/delivery"
	"github.com/otelprof/otelprof/internal/otlpjson"
)

// NewSpanExporter returns an exporter that writes spans to traces.jsonl in the folder; it counts
// and logs what fails, and is what [delivery.NewBatcher] takes. A folder that cannot be written to,
// or that another process or exporter writes to, is an error, but for [Config.Wait]. A write that
// fails later is logged once and counted; so is what comes in the second after it, which is not
// even encoded. Then one is tried again. The owner alone may read the files. Any goroutine may call
// its methods.
func NewSpanExporter(c Config) (*delivery.SpanExporter, error) {
	f, m, err := open(c, "traces", "spans")
	if err != nil {
		return nil, err
	}
	return delivery.WrapSpans(spanWriter{f}, m), nil
}

// NewMetricExporter is [NewSpanExporter] for metrics and metrics.jsonl, with the SDK's default
// temporality (cumulative) and aggregation.
func NewMetricExporter(c Config) (*delivery.MetricExporter, error) {
	f, m, err := open(c, "metrics", "data points")
	if err != nil {
		return nil, err
	}
	return delivery.WrapMetrics(metricWriter{f}, m), nil
}

// NewLogExporter is [NewSpanExporter] for log records and logs.jsonl.
func NewLogExporter(c Config) (*delivery.LogExporter, error) {
	f, m, err := open(c, "logs", "log records")
	if err != nil {
		return nil, err
	}
	return delivery.WrapLogs(logWriter{f}, m), nil
}

func open(c Config, base, unit string) (*file, *delivery.Monitor, error) {
	c, err := c.complete()
	if err != nil {
		return nil, nil, err
	}
	f, err := openFile(base, c)
	if err != nil {
		return nil, nil, err
	}
	if f.cut.lines > 0 {
		notice := fmt.Sprintf("otlpfile: %s: %d torn lines, %d bytes, cut off: the process before did not end in order",
			f.path(), f.cut.lines, f.cut.bytes)
		if c.Logger == nil {
			otel.Handle(errors.New(notice))
		} else {
			c.Logger.Log(context.Background(), slog.LevelWarn, notice)
		}
	}
	return f, delivery.NewMonitor(delivery.Config{
		Name:   fmt.Sprintf("otlpfile: %s to %s", base, f.path()),
		Unit:   unit,
		Cause:  errno,
		Logger: c.Logger,
		Rejected: func(err error) (items int, ok bool) {
			refused, ok := errors.AsType[*refusedError](err)
			if !ok {
				return 0, false
			}
			return refused.points, true
		},
	}), nil
}

// errno makes one cause of all failures with the same error number: the texts differ in
// the operation and in the names of full files.
func errno(err error) string {
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e.Error()
	}
	text := err.Error()
	return text[:min(len(text), 256)]
}

// itemsAtOnce are encoded without a rest, in half a millisecond or less: a span takes 7 µs, a
// histogram of 160 buckets twice that.
const itemsAtOnce = 64

// spanWriter encodes and writes, and leaves counting and saying to its wrapper.
type spanWriter struct{ *file }

func (spanWriter) AtOnce() int { return itemsAtOnce }

func (w spanWriter) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := w.broken(); err != nil {
		return err
	}
	line, err := otlpjson.Line(tracesOf(spans))
	if err != nil {
		return fmt.Errorf("otlpfile: encode spans: %w", err)
	}
	return w.append(line)
}

// metricWriter is spanWriter for metrics.
type metricWriter struct{ *file }

func (metricWriter) AtOnce() int { return itemsAtOnce }

func (metricWriter) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return sdkmetric.DefaultTemporalitySelector(k)
}

func (metricWriter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

func (w metricWriter) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	if err := w.broken(); err != nil {
		return err
	}
	metrics, refused := metricsOf(rm)
	if refused.points < delivery.DataPoints(rm) {
		line, err := otlpjson.Line(metrics)
		if err != nil {
			return fmt.Errorf("otlpfile: encode metrics: %w", err)
		}
		// Also on the goroutine that shuts the SDK's provider down.
		if err := w.within(ctx, func() error { return w.append(line) }); err != nil {
			return err
		}
	}
	if refused.points > 0 {
		return refused
	}
	return nil
}

// logWriter is spanWriter for log records.
type logWriter struct{ *file }

func (w logWriter) Export(_ context.Context, records []sdklog.Record) error {
	if err := w.broken(); err != nil {
		return err
	}
	line, err := otlpjson.Line(logsOf(records))
	if err != nil {
		return fmt.Errorf("otlpfile: encode log records: %w", err)
	}
	return w.append(line)
}
