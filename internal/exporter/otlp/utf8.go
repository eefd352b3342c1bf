package otlp

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelprof/otelprof/internal/exporter/delivery"
)

// The exporters of this file replace bytes that are not UTF-8 by U+FFFD, and count the items:
// protobuf refuses a whole message for one of them. What is valid is scanned and not copied.

// A pipe is what the exporters of one pipeline share; nil is for none.
type pipe struct {
	client  *http.Client // of HTTP
	monitor *delivery.Monitor
}

func (p pipe) closeIdle() {
	if p.client != nil { // else it would be that of http.DefaultTransport, which is the program's
		p.client.CloseIdleConnections()
	}
}

// repaired counts items that were repaired, of which it names the first, and exported: err is that
// of the export, which may be one of several tries.
func (p pipe) repaired(ctx context.Context, items int, name string, err error) error {
	if _, part := delivery.Rejected(err); items > 0 && p.monitor != nil && (err == nil || part) {
		p.monitor.Repair(ctx, items, name)
	}
	return err
}

type utf8Spans struct {
	sdktrace.SpanExporter
	pipe
}

func (e utf8Spans) Shutdown(ctx context.Context) error {
	defer e.closeIdle()
	return e.SpanExporter.Shutdown(ctx)
}

func (e utf8Spans) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	out, bad, first := spans, 0, ""
	for i, s := range spans {
		if isValidSpan(s) {
			continue
		}
		if bad++; bad == 1 {
			out, first = slices.Clone(spans), utf8Span{s}.Name()
		}
		out[i] = utf8Span{s}
	}
	return e.repaired(ctx, bad, "text of the span "+strconv.Quote(first), e.SpanExporter.ExportSpans(ctx, out))
}

func isValidSpan(s sdktrace.ReadOnlySpan) bool {
	scope := s.InstrumentationScope()
	return utf8.ValidString(s.Name()) && utf8.ValidString(s.Status().Description) && areValid(s.Attributes()) &&
		!slices.ContainsFunc(s.Events(), func(e sdktrace.Event) bool { return !utf8.ValidString(e.Name) || !areValid(e.Attributes) }) &&
		!slices.ContainsFunc(s.Links(), func(l sdktrace.Link) bool { return !areValid(l.Attributes) }) &&
		validScope(scope) == scope && ValidResource(s.Resource()) == s.Resource()
}

type utf8Span struct{ sdktrace.ReadOnlySpan }

func (s utf8Span) Name() string { return toUTF8(s.ReadOnlySpan.Name()) }

func (s utf8Span) Attributes() []attribute.KeyValue {
	return validAttributes(s.ReadOnlySpan.Attributes())
}

func (s utf8Span) Resource() *resource.Resource { return ValidResource(s.ReadOnlySpan.Resource()) }

func (s utf8Span) InstrumentationScope() instrumentation.Scope {
	return validScope(s.ReadOnlySpan.InstrumentationScope())
}

func (s utf8Span) Status() sdktrace.Status {
	st := s.ReadOnlySpan.Status()
	st.Description = toUTF8(st.Description)
	return st
}

func (s utf8Span) Events() []sdktrace.Event {
	return validEach(s.ReadOnlySpan.Events(), func(e *sdktrace.Event) {
		e.Name, e.Attributes = toUTF8(e.Name), validAttributes(e.Attributes)
	})
}

func (s utf8Span) Links() []sdktrace.Link {
	return validEach(s.ReadOnlySpan.Links(), func(l *sdktrace.Link) { l.Attributes = validAttributes(l.Attributes) })
}

type utf8Metrics struct {
	sdkmetric.Exporter
	pipe
}

func (e utf8Metrics) Shutdown(ctx context.Context) error {
	defer e.closeIdle()
	return e.Exporter.Shutdown(ctx)
}

func (e utf8Metrics) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	out := &metricdata.ResourceMetrics{Resource: ValidResource(rm.Resource), ScopeMetrics: slices.Clone(rm.ScopeMetrics)}
	bad, first := 0, ""
	for i := range out.ScopeMetrics {
		s := &out.ScopeMetrics[i]
		s.Scope, s.Metrics = validScope(s.Scope), slices.Clone(s.Metrics)
		for j := range s.Metrics {
			m := &s.Metrics[j]
			whole := *m
			m.Name, m.Description, m.Unit = toUTF8(m.Name), toUTF8(m.Description), toUTF8(m.Unit)
			n := 0
			m.Data, n = validData(m.Data)
			if m.Name != whole.Name || m.Description != whole.Description || m.Unit != whole.Unit || s.Scope != rm.ScopeMetrics[i].Scope {
				n = max(n, 1)
			}
			if bad += n; bad == n && n > 0 {
				first = m.Name
			}
		}
	}
	return e.repaired(ctx, bad, "text of the metric "+strconv.Quote(first), e.Exporter.Export(ctx, out))
}

// validData returns data, or a copy in which points that are not valid are repaired, and their
// number.
func validData(data metricdata.Aggregation) (metricdata.Aggregation, int) {
	n := 0
	switch d := data.(type) {
	case metricdata.Gauge[int64]:
		d.DataPoints, n = validPoints(d.DataPoints, number[int64])
		return d, n
	case metricdata.Gauge[float64]:
		d.DataPoints, n = validPoints(d.DataPoints, number[float64])
		return d, n
	case metricdata.Sum[int64]:
		d.DataPoints, n = validPoints(d.DataPoints, number[int64])
		return d, n
	case metricdata.Sum[float64]:
		d.DataPoints, n = validPoints(d.DataPoints, number[float64])
		return d, n
	case metricdata.Histogram[int64]:
		d.DataPoints, n = validPoints(d.DataPoints, explicit[int64])
		return d, n
	case metricdata.Histogram[float64]:
		d.DataPoints, n = validPoints(d.DataPoints, explicit[float64])
		return d, n
	case metricdata.ExponentialHistogram[int64]:
		d.DataPoints, n = validPoints(d.DataPoints, exponential[int64])
		return d, n
	case metricdata.ExponentialHistogram[float64]:
		d.DataPoints, n = validPoints(d.DataPoints, exponential[float64])
		return d, n
	case metricdata.Summary:
		d.DataPoints, n = validPoints(d.DataPoints, func(p *metricdata.SummaryDataPoint) bool { return repair[int64](&p.Attributes, nil) })
		return d, n
	}
	return data, 0
}

func validPoints[P any](points []P, repair func(*P) bool) (out []P, bad int) {
	out = points
	for i := range points {
		p := points[i]
		if !repair(&p) {
			continue
		}
		if bad++; bad == 1 {
			out = slices.Clone(points)
		}
		out[i] = p
	}
	return out, bad
}

func number[N int64 | float64](p *metricdata.DataPoint[N]) bool {
	return repair(&p.Attributes, &p.Exemplars)
}

func explicit[N int64 | float64](p *metricdata.HistogramDataPoint[N]) bool {
	return repair(&p.Attributes, &p.Exemplars)
}

func exponential[N int64 | float64](p *metricdata.ExponentialHistogramDataPoint[N]) bool {
	return repair(&p.Attributes, &p.Exemplars)
}

// repair reports whether there was something to repair.
func repair[N int64 | float64](set *attribute.Set, exemplars *[]metricdata.Exemplar[N]) bool {
	valid := validSet(*set)
	did := valid != *set
	*set = valid
	if exemplars != nil && slices.ContainsFunc(*exemplars, func(e metricdata.Exemplar[N]) bool { return !areValid(e.FilteredAttributes) }) {
		did = true
		*exemplars = validEach(*exemplars, func(e *metricdata.Exemplar[N]) { e.FilteredAttributes = validAttributes(e.FilteredAttributes) })
	}
	return did
}

// validEach returns a copy of a slice whose elements have been repaired.
func validEach[E any](all []E, repair func(*E)) []E {
	out := slices.Clone(all)
	for i := range out {
		repair(&out[i])
	}
	return out
}

func validScope(s instrumentation.Scope) instrumentation.Scope {
	s.Name, s.Version, s.SchemaURL = toUTF8(s.Name), toUTF8(s.Version), toUTF8(s.SchemaURL)
	s.Attributes = validSet(s.Attributes)
	return s
}

// ValidResource returns r, or where bytes of it are not UTF-8 a copy with U+FFFD in their place.
// The SDK's log records cannot be given another resource later.
func ValidResource(r *resource.Resource) *resource.Resource {
	if r == nil || utf8.ValidString(r.SchemaURL()) && validSet(*r.Set()) == *r.Set() {
		return r
	}
	return resource.NewWithAttributes(toUTF8(r.SchemaURL()), validAttributes(r.Attributes())...)
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
		out[i] = attribute.KeyValue{Key: attribute.Key(toUTF8(string(kv.Key))), Value: validValue(kv.Value)}
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
		return attribute.StringValue(toUTF8(v.AsString()))
	case attribute.STRINGSLICE:
		return attribute.StringSliceValue(validEach(v.AsStringSlice(), func(s *string) { *s = toUTF8(*s) }))
	case attribute.SLICE:
		return attribute.SliceValue(validEach(v.AsSlice(), func(v *attribute.Value) { *v = validValue(*v) })...)
	case attribute.MAP:
		return attribute.MapValue(validAttributes(v.AsMap())...)
	}
	return v
}

func toUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
