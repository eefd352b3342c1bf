package exporter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelprof/otelprof/internal/exporter/delivery"
)

// Stats counts what has become of the items of one pipeline since it was made. Items are spans, log
// records or data points.
type Stats struct {
	// Name identifies the pipeline: "otlp: traces to http://localhost:4318/v1/traces".
	Name string `json:"name"`
	// Exported: the other side took them.
	Exported uint64 `json:"exported"`
	// Failed: lost, the export that held them failed.
	Failed uint64 `json:"failed"`
	// Rejected: lost, the other side refused them in an export that was otherwise accepted.
	Rejected uint64 `json:"rejected"`
	// QueueFull: lost, the queue had no room. Spans and log records have queues.
	QueueFull uint64 `json:"queue_full"`
	// Unfinished: lost, they ended after Shutdown or were still queued when its context ended.
	Unfinished uint64 `json:"unfinished"`
	// Queued: waiting for export, or in it.
	Queued uint64 `json:"queued"`
	// FailedExports is the number of exports that failed.
	FailedExports uint64 `json:"failed_exports"`
	// Repaired is the number of items exported with U+FFFD in place of bytes that are not UTF-8, by
	// the OTLP exporters of otelprof.Setup.
	Repaired uint64 `json:"repaired,omitempty"`
	// Outage is why exports fail at present, "" while they do not.
	Outage string `json:"outage,omitempty"`
}

// Ended is the number of items given to the pipeline: the sum of those that were exported, were
// lost or are queued.
func (s Stats) Ended() uint64 { return delivery.Stats(s).Ended() }

// An Option sets how a pipeline is watched.
type Option interface{ apply(config) config }

type config struct {
	name   string
	logger *slog.Logger
}

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

// WithLogger sets the logger of failed exports (Warn) and of their recovery (Info), which is called
// on a goroutine that no export waits for. Default: otel.Handle gets failures.
func WithLogger(l *slog.Logger) Option {
	return optionFunc(func(c config) config { c.logger = l; return c })
}

// WithName sets the name in [Stats] and in messages. Default: the type of the exporter.
func WithName(name string) Option {
	return optionFunc(func(c config) config { c.name = name; return c })
}

func monitor(of any, unit string, opts []Option) *delivery.Monitor {
	c := config{name: fmt.Sprintf("%T", of)}
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	return delivery.NewMonitor(delivery.Config{Name: c.name, Unit: unit, Logger: c.logger, Rejected: delivery.Rejected, Refused: delivery.Refused})
}

// A pipeline is what the types of all signals have in common.
type pipeline[T interface {
	ForceFlush(context.Context) error
	Shutdown(context.Context) error
	Stats() delivery.Stats
}] struct{ inner T }

// ForceFlush exports what has ended before the call. It returns when that is done, with an error if
// exports fail at present, or when ctx ends.
func (p *pipeline[T]) ForceFlush(ctx context.Context) error { return p.inner.ForceFlush(ctx) }

// Shutdown exports what has ended, and shuts the exporter down. When ctx ends it gives up what is
// left, which is counted as unfinished.
func (p *pipeline[T]) Shutdown(ctx context.Context) error { return p.inner.Shutdown(ctx) }

// Stats returns the counts so far.
func (p *pipeline[T]) Stats() Stats { return Stats(p.inner.Stats()) }

// A SpanProcessor exports sampled spans in batches. Any goroutine may call its methods.
type SpanProcessor struct{ pipeline[*delivery.Batcher] }

// NewSpanProcessor returns a processor that exports to e, and shuts e down. With a nil e all spans
// are lost, and counted. It starts one goroutine, which Shutdown ends.
func NewSpanProcessor(e sdktrace.SpanExporter, opts ...Option) *SpanProcessor {
	if e == nil {
		e = nowhere{}
	}
	return &SpanProcessor{pipeline[*delivery.Batcher]{delivery.NewBatcher(delivery.WrapSpans(e, monitor(e, "spans", opts)))}}
}

// OnStart does nothing.
func (p *SpanProcessor) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd queues a sampled span, or drops and counts it. It never waits.
func (p *SpanProcessor) OnEnd(s sdktrace.ReadOnlySpan) { p.inner.OnEnd(s) }

// A LogProcessor exports log records in batches. Any goroutine may call its methods, a logger that
// reports a failed export included.
type LogProcessor struct{ pipeline[*delivery.LogBatcher] }

// NewLogProcessor is [NewSpanProcessor] for log records.
func NewLogProcessor(e sdklog.Exporter, opts ...Option) *LogProcessor {
	if e == nil {
		e = nowhere{}
	}
	return &LogProcessor{pipeline[*delivery.LogBatcher]{delivery.NewLogBatcher(delivery.WrapLogs(e, monitor(e, "log records", opts)))}}
}

// Enabled returns true: all records are exported.
func (p *LogProcessor) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }

// OnEmit queues a copy of the record, or drops and counts it. It never waits, and returns nil.
func (p *LogProcessor) OnEmit(ctx context.Context, r *sdklog.Record) error {
	return p.inner.OnEmit(ctx, r)
}

// A MetricExporter counts what becomes of data points, and exports many of them in pieces, so that
// no processor is taken for long. It is for a reader of the SDK's.
type MetricExporter struct {
	pipeline[*delivery.MetricExporter]
}

// NewMetricExporter returns an exporter that gives its metrics to e.
func NewMetricExporter(e sdkmetric.Exporter, opts ...Option) *MetricExporter {
	if e == nil {
		e = nowhereMetrics{}
	}
	return &MetricExporter{pipeline[*delivery.MetricExporter]{delivery.WrapMetrics(e, monitor(e, "data points", opts))}}
}

// Temporality returns the inner exporter's choice.
func (e *MetricExporter) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return e.inner.Temporality(k)
}

// Aggregation returns the inner exporter's choice.
func (e *MetricExporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return e.inner.Aggregation(k)
}

// Export exports rm, and returns nil even if that fails, which is logged and counted.
func (e *MetricExporter) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	return e.inner.Export(ctx, rm)
}

// nowhere stands for a nil exporter.
type nowhere struct{}

var errNowhere = errors.New("exporter nil: must be set")

func (nowhere) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return errNowhere }
func (nowhere) Export(context.Context, []sdklog.Record) error              { return errNowhere }
func (nowhere) ForceFlush(context.Context) error                           { return nil }
func (nowhere) Shutdown(context.Context) error                             { return nil }

type nowhereMetrics struct{ nowhere }

func (nowhereMetrics) Export(context.Context, *metricdata.ResourceMetrics) error { return errNowhere }

func (nowhereMetrics) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return sdkmetric.DefaultTemporalitySelector(k)
}

func (nowhereMetrics) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}
