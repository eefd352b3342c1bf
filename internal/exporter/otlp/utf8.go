package otlp

import (
	"context"
	"net/http"
	"slices"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelprof/otelprof/internal/otlpattr"
)

// The exporters of this file replace bytes that are not UTF-8 by U+FFFD: protobuf refuses a whole message for one of
// them. Spans and records that are valid are scanned and not copied; of metrics only the points are.

type utf8Spans struct {
	sdktrace.SpanExporter

	client *http.Client
}

func (e utf8Spans) Shutdown(ctx context.Context) error {
	defer e.client.CloseIdleConnections()
	return e.SpanExporter.Shutdown(ctx)
}

func (e utf8Spans) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	out := make([]sdktrace.ReadOnlySpan, len(spans))
	for i, s := range spans {
		out[i] = utf8Span{s}
	}
	return e.SpanExporter.ExportSpans(ctx, out)
}

type utf8Span struct{ sdktrace.ReadOnlySpan }

func (s utf8Span) Name() string { return otlpattr.UTF8(s.ReadOnlySpan.Name()) }

func (s utf8Span) Attributes() []attribute.KeyValue {
	return validAttributes(s.ReadOnlySpan.Attributes())
}

func (s utf8Span) Resource() *resource.Resource { return ValidResource(s.ReadOnlySpan.Resource()) }

func (s utf8Span) InstrumentationScope() instrumentation.Scope {
	return validScope(s.ReadOnlySpan.InstrumentationScope())
}

func (s utf8Span) Status() sdktrace.Status {
	st := s.ReadOnlySpan.Status()
	st.Description = otlpattr.UTF8(st.Description)
	return st
}

func (s utf8Span) Events() []sdktrace.Event {
	events := s.ReadOnlySpan.Events()
	if !slices.ContainsFunc(events, func(e sdktrace.Event) bool { return !utf8.ValidString(e.Name) || !areValid(e.Attributes) }) {
		return events
	}
	return validEach(events, func(e *sdktrace.Event) {
		e.Name, e.Attributes = otlpattr.UTF8(e.Name), validAttributes(e.Attributes)
	})
}

func (s utf8Span) Links() []sdktrace.Link {
	links := s.ReadOnlySpan.Links()
	if !slices.ContainsFunc(links, func(l sdktrace.Link) bool { return !areValid(l.Attributes) }) {
		return links
	}
	return validEach(links, func(l *sdktrace.Link) { l.Attributes = validAttributes(l.Attributes) })
}

type utf8Metrics struct {
	sdkmetric.Exporter

	client *http.Client
}

func (e utf8Metrics) Shutdown(ctx context.Context) error {
	defer e.client.CloseIdleConnections()
	return e.Exporter.Shutdown(ctx)
}

func (e utf8Metrics) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	out := &metricdata.ResourceMetrics{Resource: ValidResource(rm.Resource), ScopeMetrics: slices.Clone(rm.ScopeMetrics)}
	for i := range out.ScopeMetrics {
		s := &out.ScopeMetrics[i]
		s.Scope, s.Metrics = validScope(s.Scope), slices.Clone(s.Metrics)
		for j := range s.Metrics {
			m := &s.Metrics[j]
			m.Name, m.Description, m.Unit = otlpattr.UTF8(m.Name), otlpattr.UTF8(m.Description), otlpattr.UTF8(m.Unit)
			m.Data = validData(m.Data)
		}
	}
	return e.Exporter.Export(ctx, out)
}

func validData(data metricdata.Aggregation) metricdata.Aggregation {
	switch d := data.(type) {
	case metricdata.Gauge[int64]:
		d.DataPoints = validEach(d.DataPoints, number[int64])
		return d
	case metricdata.Gauge[float64]:
		d.DataPoints = validEach(d.DataPoints, number[float64])
		return d
	case metricdata.Sum[int64]:
		d.DataPoints = validEach(d.DataPoints, number[int64])
		return d
	case metricdata.Sum[float64]:
		d.DataPoints = validEach(d.DataPoints, number[float64])
		return d
	case metricdata.Histogram[int64]:
		d.DataPoints = validEach(d.DataPoints, explicit[int64])
		return d
	case metricdata.Histogram[float64]:
		d.DataPoints = validEach(d.DataPoints, explicit[float64])
		return d
	case metricdata.ExponentialHistogram[int64]:
		d.DataPoints = validEach(d.DataPoints, exponential[int64])
		return d
	case metricdata.ExponentialHistogram[float64]:
		d.DataPoints = validEach(d.DataPoints, exponential[float64])
		return d
	case metricdata.Summary:
		d.DataPoints = validEach(d.DataPoints, func(p *metricdata.SummaryDataPoint) { p.Attributes = validSet(p.Attributes) })
		return d
	}
	return data
}

// validEach returns a copy of a slice whose elements have been repaired.
func validEach[E any](all []E, repair func(*E)) []E {
	out := slices.Clone(all)
	for i := range out {
		repair(&out[i])
	}
	return out
}

func number[N int64 | float64](p *metricdata.DataPoint[N]) {
	p.Attributes, p.Exemplars = validSet(p.Attributes), validExemplars(p.Exemplars)
}

func explicit[N int64 | float64](p *metricdata.HistogramDataPoint[N]) {
	p.Attributes, p.Exemplars = validSet(p.Attributes), validExemplars(p.Exemplars)
}

func exponential[N int64 | float64](p *metricdata.ExponentialHistogramDataPoint[N]) {
	p.Attributes, p.Exemplars = validSet(p.Attributes), validExemplars(p.Exemplars)
}

func validExemplars[N int64 | float64](exemplars []metricdata.Exemplar[N]) []metricdata.Exemplar[N] {
	return validEach(exemplars, func(e *metricdata.Exemplar[N]) { e.FilteredAttributes = validAttributes(e.FilteredAttributes) })
}

func validScope(s instrumentation.Scope) instrumentation.Scope {
	s.Name, s.Version, s.SchemaURL = otlpattr.UTF8(s.Name), otlpattr.UTF8(s.Version), otlpattr.UTF8(s.SchemaURL)
	s.Attributes = validSet(s.Attributes)
	return s
}

// ValidResource returns r, or where bytes of it are not UTF-8 a copy with U+FFFD in their place. The SDK's log records cannot be given
// another resource later.
func ValidResource(r *resource.Resource) *resource.Resource {
	if r == nil || utf8.ValidString(r.SchemaURL()) && validSet(*r.Set()) == *r.Set() {
		return r
	}
	return resource.NewWithAttributes(otlpattr.UTF8(r.SchemaURL()), validAttributes(r.Attributes())...)
}

func validSet(s attribute.Set) attribute.Set {
	for it := s.Iter(); it.Next(); {
		if !isValid(it.Attribute()) {
			return attribute.NewSet(validAttributes(s.ToSlice())...)
		}
	}
	return s
}

func validAttributes(kvs []attribute.KeyValue) []attribute.KeyValue {
	if areValid(kvs) {
		return kvs
	}
	out := make([]attribute.KeyValue, len(kvs))
	for i, kv := range kvs {
		out[i] = attribute.KeyValue{Key: attribute.Key(otlpattr.UTF8(string(kv.Key))), Value: validValue(kv.Value)}
	}
	return out
}

func areValid(kvs []attribute.KeyValue) bool {
	return !slices.ContainsFunc(kvs, func(kv attribute.KeyValue) bool { return !isValid(kv) })
}

func isValid(kv attribute.KeyValue) bool {
	return utf8.ValidString(string(kv.Key)) && isValidValue(kv.Value)
}

func isValidValue(v attribute.Value) bool {
	switch v.Type() {
	case attribute.STRING:
		return utf8.ValidString(v.AsString())
	case attribute.STRINGSLICE:
		return !slices.ContainsFunc(v.AsStringSlice(), func(s string) bool { return !utf8.ValidString(s) })
	case attribute.SLICE:
		return !slices.ContainsFunc(v.AsSlice(), func(v attribute.Value) bool { return !isValidValue(v) })
	case attribute.MAP:
		return areValid(v.AsMap())
	}
	return true
}

func validValue(v attribute.Value) attribute.Value {
	switch v.Type() {
	case attribute.STRING:
		return attribute.StringValue(otlpattr.UTF8(v.AsString()))
	case attribute.STRINGSLICE:
		return attribute.StringSliceValue(validEach(v.AsStringSlice(), func(s *string) { *s = otlpattr.UTF8(*s) }))
	case attribute.SLICE:
		return attribute.SliceValue(validEach(v.AsSlice(), func(v *attribute.Value) { *v = validValue(*v) })...)
	case attribute.MAP:
		return attribute.MapValue(validAttributes(v.AsMap())...)
	}
	return v
}
