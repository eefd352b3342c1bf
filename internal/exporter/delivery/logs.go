package delivery

import (
	"context"
	"errors"
	"sync"

	sdklog "go.opentelemetry.io/otel/sdk/log"
)

// A LogExporter gives log records to another exporter and reports the outcome to a [Monitor].
type LogExporter struct {
	inner   sdklog.Exporter
	monitor *Monitor
	once    sync.Once
}

// WrapLogs returns an exporter that gives its records to inner.
func WrapLogs(inner sdklog.Exporter, m *Monitor) *LogExporter {
	return &LogExporter{inner: inner, monitor: m}
}

// Export exports records; records that are refused for what they hold are left out alone. It
// returns nil even if that fails, since the monitor has logged the failure and the SDK would log it
// again: [LogExporter.ForceFlush] and [LogExporter.Shutdown] return the failure.
func (e *LogExporter) Export(ctx context.Context, records []sdklog.Record) error {
	x := export[[]sdklog.Record]{
		monitor: e.monitor, do: e.inner.Export, split: sliced[sdklog.Record],
		name: func(records []sdklog.Record) string { return short("the record", records[0].Body().String()) },
	}
	x.run(ctx, len(records), sliced(records, 0, len(records)))
	return nil
}

// ForceFlush flushes the inner exporter. The error has the number of records that have not been
// delivered, if exports fail at present.
func (e *LogExporter) ForceFlush(ctx context.Context) error {
	return errors.Join(e.monitor.Err(), e.inner.ForceFlush(ctx))
}

// Shutdown shuts the inner exporter down, within ctx. The error is like ForceFlush's. A
// second call does nothing.
func (e *LogExporter) Shutdown(ctx context.Context) error {
	var err error
	e.once.Do(func() {
		err = errors.Join(e.monitor.Err(), e.inner.Shutdown(ctx))
		e.monitor.messages.wait(ctx)
	})
	return err
}

// Stats returns the counts so far.
func (e *LogExporter) Stats() Stats { return e.monitor.Stats() }
