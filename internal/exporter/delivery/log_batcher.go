package delivery

import (
	"context"
	"time"

	sdklog "go.opentelemetry.io/otel/sdk/log"
)

var _ sdklog.Processor = (*LogBatcher)(nil)

// A LogBatcher is [Batcher] for log records. OnEmit never waits, holds no lock while a record is
// exported, and may be called by the logger that reports a failed export: a record of its own
// failure is queued like any other. The SDK's simple processor would wait for itself there.
type LogBatcher struct{ *queue[*sdklog.Record] }

// NewLogBatcher returns a processor that exports to e, with the settings of the OTEL_BLRP_*
// environment. A value out of range is logged, and the default is used. It starts one goroutine,
// which Shutdown ends.
func NewLogBatcher(e *LogExporter) *LogBatcher { return newLogBatcher(e, time.Second) }

// NewLogWriter is [NewLogBatcher] without the delay of a second: a record is exported as soon as
// the one before is, with all that have come meanwhile. A process that is killed loses what it
// logged in its last moments only.
func NewLogWriter(e *LogExporter) *LogBatcher { return newLogBatcher(e, 0) }

func newLogBatcher(e *LogExporter, delay time.Duration) *LogBatcher {
	settings, err := settingsFromEnv("OTEL_BLRP_", batchSettings{queue: 2048, batch: 512, delay: delay, timeout: 30 * time.Second})
	e.monitor.warn(err)
	if delay == 0 {
		settings.delay = 0
	}
	var values []sdklog.Record // reused: exporters must not keep them
	export := func(ctx context.Context, records []*sdklog.Record) {
		for _, r := range records {
			values = append(values, *r)
		}
		_ = e.Export(ctx, values)
		clear(values)
		values = values[:0]
	}
	return &LogBatcher{newQueue(sender[*sdklog.Record]{
		export: export, flush: e.ForceFlush, shutdown: e.Shutdown, bytes: recordBytes,
	}, e.monitor, settings)}
}

// Enabled returns true: all records are exported.
func (b *LogBatcher) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }

// OnEmit queues a copy of the record. It returns nil.
func (b *LogBatcher) OnEmit(_ context.Context, r *sdklog.Record) error {
	own := r.Clone() // others may change theirs
	b.put(&own)
	return nil
}
