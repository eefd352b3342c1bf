package otlpfile

import (
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/otlpattr"
)

// The bits of a span's flags above those of W3C.
const (
	flagHasRemote = 1 << 8 // the next bit is known
	flagRemote    = 1 << 9 // the parent, or the linked span, is another process's
)

// tracesOf groups spans by resource and scope, in the order of their first span.
func tracesOf(spans []sdktrace.ReadOnlySpan) ptrace.Traces {
	out := ptrace.NewTraces()
	g := newGrouping(func(r *resource.Resource) ptrace.ResourceSpans {
		rs := out.ResourceSpans().AppendEmpty()
		putResource(rs.Resource(), r)
		rs.SetSchemaUrl(r.SchemaURL())
		return rs
	}, func(rs ptrace.ResourceSpans, scope instrumentation.Scope) ptrace.SpanSlice {
		ss := rs.ScopeSpans().AppendEmpty()
		putScope(ss.Scope(), scope)
		ss.SetSchemaUrl(scope.SchemaURL)
		return ss.Spans()
	})
	for _, s := range spans {
		if s != nil {
			putSpan(g.of(s.Resource(), s.InstrumentationScope()).AppendEmpty(), s)
		}
	}
	return out
}

func putSpan(dst ptrace.Span, s sdktrace.ReadOnlySpan) {
	ctx, parent := s.SpanContext(), s.Parent()
	dst.SetTraceID([16]byte(ctx.TraceID()))
	dst.SetSpanID([8]byte(ctx.SpanID()))
	dst.SetParentSpanID([8]byte(parent.SpanID()))
	dst.TraceState().FromRaw(ctx.TraceState().String())
	dst.SetFlags(flags(ctx.TraceFlags(), parent))
	dst.SetName(otlpattr.UTF8(s.Name()))
	dst.SetKind(ptrace.SpanKind(s.SpanKind())) // the same numbers
	dst.SetStartTimestamp(timestamp(s.StartTime()))
	dst.SetEndTimestamp(timestamp(s.EndTime()))
	otlpattr.Put(dst.Attributes(), s.Attributes())
	dst.SetDroppedAttributesCount(count32(s.DroppedAttributes()))
	dst.SetDroppedEventsCount(count32(s.DroppedEvents()))
	dst.SetDroppedLinksCount(count32(s.DroppedLinks()))
	for _, e := range s.Events() {
		event := dst.Events().AppendEmpty()
		event.SetName(otlpattr.UTF8(e.Name))
		event.SetTimestamp(timestamp(e.Time))
		otlpattr.Put(event.Attributes(), e.Attributes)
		event.SetDroppedAttributesCount(count32(e.DroppedAttributeCount))
	}
	for _, l := range s.Links() {
		link := dst.Links().AppendEmpty()
		link.SetTraceID([16]byte(l.SpanContext.TraceID()))
		link.SetSpanID([8]byte(l.SpanContext.SpanID()))
		link.TraceState().FromRaw(l.SpanContext.TraceState().String())
		link.SetFlags(flags(l.SpanContext.TraceFlags(), l.SpanContext))
		otlpattr.Put(link.Attributes(), l.Attributes)
		link.SetDroppedAttributesCount(count32(l.DroppedAttributeCount))
	}
	status := s.Status()
	dst.Status().SetMessage(otlpattr.UTF8(status.Description))
	switch status.Code {
	case codes.Ok:
		dst.Status().SetCode(ptrace.StatusCodeOk)
	case codes.Error:
		dst.Status().SetCode(ptrace.StatusCodeError)
	}
}

func flags(f trace.TraceFlags, other trace.SpanContext) uint32 {
	bits := uint32(f) | flagHasRemote
	if other.IsRemote() {
		bits |= flagRemote
	}
	return bits
}
