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

var (
	_ sdktrace.SpanExporter = (*SpanExporter)(nil)
	_ sdkmetric.Exporter    = (*MetricExporter)(nil)
	_ sdklog.Exporter       = (*LogExporter)(nil)
)

// A SpanExporter writes spans to traces.jsonl. The embedded exporter counts and says what
// fails; it is what [delivery.NewBatcher] takes. Any goroutine may call its methods.
type SpanExporter struct {
	*delivery.SpanExporter
	file *file
}

// NewSpanExporter opens traces.jsonl in the folder, which must exist. A folder that cannot be
// written to, or that another process or exporter writes to, is an error, see [WithWait]. A write
// that fails later is logged once and counted; so is what comes in the second after it, which is
// not even encoded. Then one is tried again. The owner alone may read the files.
func NewSpanExporter(dir string, opts ...Option) (*SpanExporter, error) {
	f, m, err := open(dir, "traces", "spans", opts)
	if err != nil {
		return nil, err
	}
	return &SpanExporter{delivery.WrapSpans(spanWriter{f}, m), f}, nil
}

// FileStats returns what happened to the files so far.
func (e *SpanExporter) FileStats() FileStats { return e.file.counts() }

// A MetricExporter writes metrics to metrics.jsonl, with the SDK's default temporality
// (cumulative) and aggregation. Any goroutine may call its methods.
type MetricExporter struct {
	*delivery.MetricExporter
	file *file
}

// NewMetricExporter is [NewSpanExporter] for metrics and metrics.jsonl.
func NewMetricExporter(dir string, opts ...Option) (*MetricExporter, error) {
	f, m, err := open(dir, "metrics", "data points", opts)
	if err != nil {
		return nil, err
	}
	return &MetricExporter{delivery.WrapMetrics(metricWriter{f}, m), f}, nil
}

// FileStats returns what happened to the files so far.
func (e *MetricExporter) FileStats() FileStats { return e.file.counts() }

// A LogExporter writes log records to logs.jsonl. Any goroutine may call its methods.
type LogExporter struct {
	*delivery.LogExporter
	file *file
}

// NewLogExporter is [NewSpanExporter] for log records and logs.jsonl.
func NewLogExporter(dir string, opts ...Option) (*LogExporter, error) {
	f, m, err := open(dir, "logs", "log records", opts)
	if err != nil {
		return nil, err
	}
	return &LogExporter{delivery.WrapLogs(logWriter{f}, m), f}, nil
}

// FileStats returns what happened to the files so far.
func (e *LogExporter) FileStats() FileStats { return e.file.counts() }

func open(dir, base, unit string, opts []Option) (*file, *delivery.Monitor, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, nil, err
	}
	f, err := openFile(dir, base, c)
	if err != nil {
		return nil, nil, err
	}
	if n := f.counts(); n.Torn > 0 {
		notice := fmt.Sprintf("otlpfile: %s: %d torn lines, %d bytes, cut off: the process before did not end in order",
			f.path(), n.Torn, n.TornBytes)
		if c.logger == nil {
			otel.Handle(errors.New(notice))
		} else {
			c.logger.Log(context.Background(), slog.LevelWarn, notice)
		}
	}
	return f, delivery.NewMonitor(delivery.Config{
		Name:   fmt.Sprintf("otlpfile: %s to %s", base, f.path()),
		Unit:   unit,
		Cause:  errno,
		Logger: c.logger,
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
type spanWriter struct{ file *file }

func (spanWriter) AtOnce() int { return itemsAtOnce }

func (w spanWriter) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := w.file.broken(); err != nil {
		return err
	}
	line, err := otlpjson.Line(tracesOf(spans))
	if err != nil {
		return fmt.Errorf("otlpfile: encode spans: %w", err)
	}
	return w.file.append(line)
}

func (w spanWriter) ForceFlush(ctx context.Context) error { return w.file.within(ctx, w.file.sync) }

func (w spanWriter) Shutdown(ctx context.Context) error { return w.file.within(ctx, w.file.close) }

// metricWriter is spanWriter for metrics.
type metricWriter struct{ file *file }

func (metricWriter) AtOnce() int { return itemsAtOnce }

func (metricWriter) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return sdkmetric.DefaultTemporalitySelector(k)
}

func (metricWriter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

func (w metricWriter) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	if err := w.file.broken(); err != nil {
		return err
	}
	metrics, refused := metricsOf(rm)
	if refused.points < delivery.DataPoints(rm) {
		line, err := otlpjson.Line(metrics)
		if err != nil {
			return fmt.Errorf("otlpfile: encode metrics: %w", err)
		}
		// Also on the goroutine that shuts the SDK's provider down.
		if err := w.file.within(ctx, func() error { return w.file.append(line) }); err != nil {
			return err
		}
	}
	if refused.points > 0 {
		return refused
	}
	return nil
}

func (w metricWriter) ForceFlush(ctx context.Context) error { return w.file.within(ctx, w.file.sync) }

func (w metricWriter) Shutdown(ctx context.Context) error { return w.file.within(ctx, w.file.close) }

// logWriter is spanWriter for log records.
type logWriter struct{ file *file }

func (w logWriter) Export(_ context.Context, records []sdklog.Record) error {
	if err := w.file.broken(); err != nil {
		return err
	}
	line, err := otlpjson.Line(logsOf(records))
	if err != nil {
		return fmt.Errorf("otlpfile: encode log records: %w", err)
	}
	return w.file.append(line)
}

func (w logWriter) ForceFlush(ctx context.Context) error { return w.file.within(ctx, w.file.sync) }

func (w logWriter) Shutdown(ctx context.Context) error { return w.file.within(ctx, w.file.close) }
