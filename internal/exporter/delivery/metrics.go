package delivery

import (
	"context"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// A MetricExporter gives metrics to another exporter and reports the outcome to a [Monitor].
type MetricExporter struct {
	exporter[sdkmetric.Exporter]
}

// WrapMetrics returns an exporter that gives its metrics to inner.
func WrapMetrics(inner sdkmetric.Exporter, m *Monitor) *MetricExporter {
	return &MetricExporter{exporter[sdkmetric.Exporter]{inner: inner, monitor: m}}
}

// Temporality returns the inner exporter's choice.
func (e *MetricExporter) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return e.inner.Temporality(k)
}

// Aggregation returns the inner exporter's choice.
func (e *MetricExporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return e.inner.Aggregation(k)
}

// Export exports rm, with more than 128 data points, in pieces, 32 at most, or in as many as the
// exporter wants, between which it rests: to encode thousands of points at once takes a processor
// for ten milliseconds and more, in which requests wait for it. After a piece that fails the others
// are not tried, and count as failed with it. Data points that are refused for what they hold are
// left out alone, and counted as rejected.
//
// It returns nil even if that fails, since the monitor has logged the failure and the SDK would log
// it again: [MetricExporter.ForceFlush] and [MetricExporter.Shutdown] return the failure.
func (e *MetricExporter) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	n := DataPoints(rm)
	most := max(pointsOfPiece, (n+mostPieces-1)/mostPieces)
	if p, ok := e.inner.(piecewise); ok {
		most = p.AtOnce()
	}
	x := export[*metricdata.ResourceMetrics]{monitor: e.monitor, do: e.inner.Export, split: pieces, name: nameOfPoint}
	x.run(ctx, n, pieces(rm, n, most))
	return nil
}

// nameOfPoint is the name of the first metric.
func nameOfPoint(rm *metricdata.ResourceMetrics) string {
	for _, s := range rm.ScopeMetrics {
		for _, m := range s.Metrics {
			return short("a data point of", m.Name)
		}
	}
	return ""
}
