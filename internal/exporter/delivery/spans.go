package delivery

import (
	"context"
	"iter"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// A SpanExporter gives spans to another exporter and reports the outcome to a [Monitor].
type SpanExporter struct {
	exporter[sdktrace.SpanExporter]
}

// WrapSpans returns an exporter that gives its spans to inner.
func WrapSpans(inner sdktrace.SpanExporter, m *Monitor) *SpanExporter {
	return &SpanExporter{exporter[sdktrace.SpanExporter]{inner: inner, monitor: m}}
}

// ExportSpans exports spans, in pieces if the exporter wants that, between which it rests as
// [MetricExporter.Export] does. After a piece that fails the others are not tried, and count as
// failed with it; spans that are refused for what they hold are left out alone. It returns nil even
// if that fails, since the monitor has logged the failure and the SDK would log it again:
// [SpanExporter.ForceFlush] and [SpanExporter.Shutdown] return the failure.
func (e *SpanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	x := export[[]sdktrace.ReadOnlySpan]{
		monitor: e.monitor, do: e.inner.ExportSpans, split: sliced[sdktrace.ReadOnlySpan],
		name: func(spans []sdktrace.ReadOnlySpan) string { return short("the span", spans[0].Name()) },
	}
	x.run(ctx, len(spans), e.pieces(spans))
	return nil
}

// pieces yields the spans in pieces if the exporter wants that, all at once if not, with their
// numbers.
func (e *SpanExporter) pieces(spans []sdktrace.ReadOnlySpan) iter.Seq2[[]sdktrace.ReadOnlySpan, int] {
	return func(yield func([]sdktrace.ReadOnlySpan, int) bool) {
		for len(spans) > 0 {
			piece := spans
			if p, ok := e.inner.(piecewise); ok {
				piece = firstOf(spans, p.AtOnce())
			}
			if spans = spans[len(piece):]; !yield(piece, len(piece)) {
				return
			}
		}
	}
}

// firstOf returns the first spans, at most most, and of few bytes, but one at least: to encode a
// megabyte as JSON takes some milliseconds.
func firstOf(spans []sdktrace.ReadOnlySpan, most int) []sdktrace.ReadOnlySpan {
	spans = spans[:min(most, len(spans))]
	bytes := int64(0)
	for i, s := range spans {
		if bytes += spanBytes(s); i > 0 && bytes > bytesAtOnce {
			return spans[:i]
		}
	}
	return spans
}

// bytesAtOnce is what several spans of an export in pieces take, at most.
const bytesAtOnce = 256 << 10
