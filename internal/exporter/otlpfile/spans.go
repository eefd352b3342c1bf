package otlpfile

import (
	"math"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/otlpjson"
)

// The bits of a span's flags above those of W3C.
const (
	flagHasRemote = 1 << 8 // the next bit is known
	flagRemote    = 1 << 9 // the parent, or the linked span, is another process's
)

// tracesOf groups spans by resource and scope, in the order of their first span.
func tracesOf(spans []sdktrace.ReadOnlySpan) *otlpjson.Traces {
	out := &otlpjson.Traces{}
	g := otlpjson.NewGrouping[attribute.Distinct]((*otlpjson.ResourceSpans).NewScope)
	for _, s := range spans {
		if s == nil {
			continue
		}
		r := s.Resource()
		ss := g.Of(r.Equivalent(), s.InstrumentationScope(), func() *otlpjson.ResourceSpans {
			rs := &otlpjson.ResourceSpans{Resource: resourceOf(r), SchemaURL: r.SchemaURL()}
			out.ResourceSpans = append(out.ResourceSpans, rs)
			return rs
		})
		ss.Spans = append(ss.Spans, spanOf(s))
	}
	return out
}

func resourceOf(r *resource.Resource) otlpjson.Resource {
	return otlpjson.Resource{Attributes: otlpjson.Attributes(r.Attributes())}
}

func spanOf(s sdktrace.ReadOnlySpan) otlpjson.Span {
	ctx, parent, status := s.SpanContext(), s.Parent(), s.Status()
	out := otlpjson.Span{
		TraceID:           ctx.TraceID(),
		SpanID:            ctx.SpanID(),
		ParentSpanID:      parent.SpanID(),
		TraceState:        ctx.TraceState().String(),
		Flags:             flags(ctx.TraceFlags(), parent),
		Name:              s.Name(),
		Kind:              int(s.SpanKind()),
		Start:             otlpjson.Nanos(s.StartTime()),
		End:               otlpjson.Nanos(s.EndTime()),
		Attributes:        otlpjson.Attributes(s.Attributes()),
		DroppedAttributes: count32(s.DroppedAttributes()),
		DroppedEvents:     count32(s.DroppedEvents()),
		DroppedLinks:      count32(s.DroppedLinks()),
		Status:            otlpjson.StatusOf(status.Code, status.Description),
	}
	for _, e := range s.Events() {
		out.Events = append(out.Events, otlpjson.Event{
			Time: otlpjson.Nanos(e.Time), Name: e.Name,
			Attributes: otlpjson.Attributes(e.Attributes), DroppedAttributes: count32(e.DroppedAttributeCount),
		})
	}
	for _, l := range s.Links() {
		to := l.SpanContext
		out.Links = append(out.Links, otlpjson.Link{
			TraceID: to.TraceID(), SpanID: to.SpanID(), TraceState: to.TraceState().String(), Flags: flags(to.TraceFlags(), to),
			Attributes: otlpjson.Attributes(l.Attributes), DroppedAttributes: count32(l.DroppedAttributeCount),
		})
	}
	return out
}

func flags(f trace.TraceFlags, other trace.SpanContext) uint32 {
	bits := uint32(f) | flagHasRemote
	if other.IsRemote() {
		bits |= flagRemote
	}
	return bits
}

func count32(n int) uint32 { return uint32(min(uint64(max(n, 0)), math.MaxUint32)) }
