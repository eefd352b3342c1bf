package delivery

import (
	"context"

	sdklog "go.opentelemetry.io/otel/sdk/log"
)

// A LogExporter gives log records to another exporter and reports the outcome to a [Monitor].
type LogExporter struct {
	exporter[sdklog.Exporter]
}

// WrapLogs returns an exporter that gives its records to inner.
func WrapLogs(inner sdklog.Exporter, m *Monitor) *LogExporter {
	return &LogExporter{exporter[sdklog.Exporter]{inner: inner, monitor: m}}
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
