package hdrmetric

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/embedded"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
)

// A float64Histogram is an instrument. It also implements Float64HistogramBinder and Finisher of
// go.opentelemetry.io/otel/metric/x.
type float64Histogram struct {
	embedded.Float64Histogram
	streams []*stream // none if all views drop it
}

// Enabled implements metric.Float64Histogram: it is false if views drop all that is recorded.
func (h *float64Histogram) Enabled(context.Context) bool { return len(h.streams) != 0 }

// Record implements metric.Float64Histogram. It allocates when a set of attributes is new or not
// remembered, when a value is offered as an exemplar, and when [otelhdr.Concurrent.Record] does.
func (h *float64Histogram) Record(ctx context.Context, v float64, opts ...metric.RecordOption) {
	if len(opts) == 0 {
		for _, s := range h.streams {
			if x := s.unattributed(); x.recordFloat64(ctx, v) {
				s.offer(ctx, x, exemplar.NewValue(v), attribute.Set{})
			}
		}
		return
	}
	set := attributesOf(opts)
	for _, s := range h.streams {
		if x := s.series(set); x.recordFloat64(ctx, v) {
			s.offer(ctx, x, exemplar.NewValue(v), set)
		}
	}
}

// Bind returns an instrument whose Record without options needs no look-up. It keeps the series of
// attrs, which counts towards the cardinality limit from now on.
func (h *float64Histogram) Bind(attrs ...attribute.KeyValue) metric.Float64Histogram {
	return &boundFloat64{of: h, bound: bind(h.streams, attrs)}
}

// An int64Histogram is a float64Histogram for whole numbers.
type int64Histogram struct {
	embedded.Int64Histogram
	streams []*stream
}

// Enabled implements metric.Int64Histogram: it is false if views drop all that is recorded.
func (h *int64Histogram) Enabled(context.Context) bool { return len(h.streams) != 0 }

// Record implements metric.Int64Histogram, and allocates when the Record of a float64 instrument
// does.
func (h *int64Histogram) Record(ctx context.Context, v int64, opts ...metric.RecordOption) {
	if len(opts) == 0 {
		for _, s := range h.streams {
			if x := s.unattributed(); x.recordInt64(ctx, v) {
				s.offer(ctx, x, exemplar.NewValue(v), attribute.Set{})
			}
		}
		return
	}
	set := attributesOf(opts)
	for _, s := range h.streams {
		if x := s.series(set); x.recordInt64(ctx, v) {
			s.offer(ctx, x, exemplar.NewValue(v), set)
		}
	}
}

// Bind returns an instrument as the Bind of a float64 instrument does.
func (h *int64Histogram) Bind(attrs ...attribute.KeyValue) metric.Int64Histogram {
	return &boundInt64{of: h, bound: bind(h.streams, attrs)}
}

// A bound is the series of one set of attributes.
type bound struct {
	set    attribute.Set
	series []*series // one for each of the instrument's streams
	only   *series   // of them, if there is one; to loop over it would cost a tenth of a record
}

func bind(streams []*stream, attrs []attribute.KeyValue) bound {
	b := bound{set: attribute.NewSet(append([]attribute.KeyValue(nil), attrs...)...)}
	for _, s := range streams {
		b.series = append(b.series, s.hold(b.set))
	}
	if len(b.series) == 1 {
		b.only = b.series[0]
	}
	return b
}

// with returns the bound attributes and those of opts, which win.
func (b *bound) with(opts []metric.RecordOption) attribute.Set {
	return merged(b.set, attributesOf(opts))
}

type boundFloat64 struct {
	embedded.Float64Histogram
	of *float64Histogram
	bound
}

// Enabled implements metric.Float64Histogram.
func (b *boundFloat64) Enabled(ctx context.Context) bool { return b.of.Enabled(ctx) }

// Record implements metric.Float64Histogram. With options, their attributes are added to the bound
// ones, which makes sets anew for every call.
func (b *boundFloat64) Record(ctx context.Context, v float64, opts ...metric.RecordOption) {
	if len(opts) != 0 {
		b.of.Record(ctx, v, metric.WithAttributeSet(b.with(opts)))
		return
	}
	if x := b.only; x != nil {
		if x.recordFloat64(ctx, v) {
			x.of.offer(ctx, x, exemplar.NewValue(v), b.set)
		}
		return
	}
	for _, x := range b.series {
		if x.recordFloat64(ctx, v) {
			x.of.offer(ctx, x, exemplar.NewValue(v), b.set)
		}
	}
}

type boundInt64 struct {
	embedded.Int64Histogram
	of *int64Histogram
	bound
}

// Enabled implements metric.Int64Histogram.
func (b *boundInt64) Enabled(ctx context.Context) bool { return b.of.Enabled(ctx) }

// Record implements metric.Int64Histogram, with options as the Record of a bound float64
// instrument.
func (b *boundInt64) Record(ctx context.Context, v int64, opts ...metric.RecordOption) {
	if len(opts) != 0 {
		b.of.Record(ctx, v, metric.WithAttributeSet(b.with(opts)))
		return
	}
	if x := b.only; x != nil {
		if x.recordInt64(ctx, v) {
			x.of.offer(ctx, x, exemplar.NewValue(v), b.set)
		}
		return
	}
	for _, x := range b.series {
		if x.recordInt64(ctx, v) {
			x.of.offer(ctx, x, exemplar.NewValue(v), b.set)
		}
	}
}
