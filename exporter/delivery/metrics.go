package delivery

import (
	"context"
	"errors"
	"sync"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// A MetricExporter gives metrics to another exporter and tells a [Monitor] how that went.
type MetricExporter struct {
	inner   sdkmetric.Exporter
	monitor *Monitor
	once    sync.Once
}

// WrapMetrics returns an exporter that gives its metrics to inner.
func WrapMetrics(inner sdkmetric.Exporter, m *Monitor) *MetricExporter {
	return &MetricExporter{inner: inner, monitor: m}
}

// Temporality returns the inner exporter's choice.
func (e *MetricExporter) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return e.inner.Temporality(k)
}

// Aggregation returns the inner exporter's choice.
func (e *MetricExporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return e.inner.Aggregation(k)
}

// Export exports rm. It returns nil even if that fails, since the monitor has said what
// there is to say and the SDK would say it again: [MetricExporter.ForceFlush] and
// [MetricExporter.Shutdown] return the failure.
func (e *MetricExporter) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	if n := DataPoints(rm); n > 0 {
		e.monitor.Observe(ctx, n, e.inner.Export(ctx, rm))
	}
	return nil
}

// ForceFlush flushes the inner exporter. The error tells how many data points have not
// been delivered, if exports fail at present.
func (e *MetricExporter) ForceFlush(ctx context.Context) error {
	return errors.Join(e.monitor.Err(), e.inner.ForceFlush(ctx))
}

// Shutdown shuts the inner exporter down, within ctx. The error is like ForceFlush's. A
// second call does nothing.
func (e *MetricExporter) Shutdown(ctx context.Context) error {
	var err error
	e.once.Do(func() {
		err = errors.Join(e.monitor.Err(), e.inner.Shutdown(ctx))
	})
	return err
}

// Stats returns the counts so far.
func (e *MetricExporter) Stats() Stats { return e.monitor.Stats() }

// DataPoints is the number of data points of rm; a metric of an unknown kind counts as one.
func DataPoints(rm *metricdata.ResourceMetrics) int {
	n := 0
	for _, sm := range rm.ScopeMetrics {
		for _, m := range sm.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Gauge[int64]:
				n += len(d.DataPoints)
			case metricdata.Gauge[float64]:
				n += len(d.DataPoints)
			case metricdata.Sum[int64]:
				n += len(d.DataPoints)
			case metricdata.Sum[float64]:
				n += len(d.DataPoints)
			case metricdata.Histogram[int64]:
				n += len(d.DataPoints)
			case metricdata.Histogram[float64]:
				n += len(d.DataPoints)
			case metricdata.ExponentialHistogram[int64]:
				n += len(d.DataPoints)
			case metricdata.ExponentialHistogram[float64]:
				n += len(d.DataPoints)
			case metricdata.Summary:
				n += len(d.DataPoints)
			default:
				n++ // not zero, or the exporter would not be asked and refuse it
			}
		}
	}
	return n
}
