package delivery

import (
	"context"
	"errors"
	"sync"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelprof/otelprof/internal/rest"
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

// Export exports rm, with more than 256 data points, or what the exporter wants at once, in pieces, 32 at most, between which it
// rests: to encode thousands of points at once takes a processor for ten milliseconds and more, in which requests wait for it. After a piece that fails the others are not
// tried, and count as failed with it.
//
// It returns nil even if that fails, since the monitor has logged the failure and the SDK would log it again:
// [MetricExporter.ForceFlush] and [MetricExporter.Shutdown] return the failure.
func (e *MetricExporter) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	wanted := pointsOfPiece
	if p, ok := e.inner.(piecewise); ok {
		wanted = p.AtOnce()
	}
	left, rested := DataPoints(rm), time.Duration(0)
	for piece, n := range pieces(rm, left, wanted) {
		begun := time.Now()
		err := e.inner.Export(ctx, piece)
		if _, taken := e.monitor.rejected(err); err != nil && !taken {
			e.monitor.Observe(ctx, left, err)
			break
		}
		e.monitor.Observe(ctx, n, err)
		if left -= n; left > 0 && rested < mostRest {
			rested += rest.For(ctx, time.Since(begun))
		}
	}
	return nil
}

// mostRest bounds the rests of one export: on a machine that is busy each takes longer, and the last export is to end soon.
const mostRest = 100 * time.Millisecond

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
		e.monitor.messages.wait(ctx)
	})
	return err
}

// Stats returns the counts so far.
func (e *MetricExporter) Stats() Stats { return e.monitor.Stats() }
