package delivery

import (
	"context"
	"errors"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// A flusher is an exporter that holds data back.
type flusher interface {
	ForceFlush(ctx context.Context) error
}

// A SpanExporter gives spans to another exporter and tells a [Monitor] how that went.
type SpanExporter struct {
	inner   sdktrace.SpanExporter
	monitor *Monitor
	once    sync.Once
}

// WrapSpans returns an exporter that gives its spans to inner.
func WrapSpans(inner sdktrace.SpanExporter, m *Monitor) *SpanExporter {
	return &SpanExporter{inner: inner, monitor: m}
}

// ExportSpans exports spans. It returns nil even if that fails, since the monitor has logged
// the failure and the SDK would log it again: [SpanExporter.ForceFlush] and
// [SpanExporter.Shutdown] return the failure.
func (e *SpanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) > 0 {
		e.monitor.Observe(ctx, len(spans), e.inner.ExportSpans(ctx, spans))
	}
	return nil
}

// ForceFlush flushes the inner exporter, if it holds data back. The error tells how many
// spans have not been delivered, if exports fail at present.
func (e *SpanExporter) ForceFlush(ctx context.Context) error {
	var err error
	if f, ok := e.inner.(flusher); ok {
		err = f.ForceFlush(ctx)
	}
	return errors.Join(e.monitor.Err(), err)
}

// Shutdown shuts the inner exporter down, within ctx. The error is like ForceFlush's. A
// second call does nothing.
func (e *SpanExporter) Shutdown(ctx context.Context) error {
	var err error
	e.once.Do(func() {
		err = errors.Join(e.monitor.Err(), e.inner.Shutdown(ctx))
		e.monitor.messages.wait(ctx)
	})
	return err
}

// Stats returns the counts so far. Spans in a queue before the exporter are not among
// them, see [Batcher.Stats].
func (e *SpanExporter) Stats() Stats { return e.monitor.Stats() }
