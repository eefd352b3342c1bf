package delivery

import (
	"context"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// A Batcher is a span processor that exports in batches, from one goroutine. Unlike the SDK's it
// counts every span, see [Batcher.Stats], bounds what is queued in bytes, too, 64 MiB, and ends its
// last exports when the context of Shutdown ends. OnEnd never waits: when the queue is full, spans
// are dropped and counted.
type Batcher struct{ *queue[sdktrace.ReadOnlySpan] }

// NewBatcher returns a processor that exports to e, with the settings of the OTEL_BSP_*
// environment. A value out of range is logged, and the default is used. It starts one goroutine,
// which Shutdown ends.
func NewBatcher(e *SpanExporter) *Batcher {
	settings, err := settingsFromEnv("OTEL_BSP_", batchSettings{
		queue:   sdktrace.DefaultMaxQueueSize,
		batch:   sdktrace.DefaultMaxExportBatchSize,
		delay:   sdktrace.DefaultScheduleDelay * time.Millisecond,
		timeout: sdktrace.DefaultExportTimeout * time.Millisecond,
	})
	e.monitor.warn(err)
	return &Batcher{newQueue(sender[sdktrace.ReadOnlySpan]{
		export:   func(ctx context.Context, spans []sdktrace.ReadOnlySpan) { _ = e.ExportSpans(ctx, spans) },
		flush:    e.ForceFlush,
		shutdown: e.Shutdown,
		bytes:    spanBytes,
	}, e.monitor, settings)}
}

// OnStart does nothing.
func (b *Batcher) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd queues a sampled span.
func (b *Batcher) OnEnd(s sdktrace.ReadOnlySpan) {
	if s.SpanContext().IsSampled() {
		b.put(s)
	}
}
