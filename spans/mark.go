package spans

import (
	"context"
	"encoding/binary"
	"unsafe"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/mark"
)

// Regions stand in the execution traces that marks are wanted in and that are recorded while they
// are open, see package mark.

// markID identifies the span among all that are open: where it is in memory.
func (r *Span) markID() uint64 { return uint64(uintptr(unsafe.Pointer(r))) }

// markStart writes the start of the span, which was started in ctx, into the trace that is on.
func (r *Span) markStart(ctx context.Context) {
	own, above := r.SpanContext(), trace.SpanContextFromContext(ctx)
	s := mark.Span{ID: r.markID(), Name: r.name}
	if own.SpanID() != above.SpanID() { // a provider that makes no spans hands the ID above on
		s.SpanID = number(own.SpanID())
		if own.IsSampled() {
			s.Trace = own.TraceID()
		}
	}
	if r.parent != nil {
		s.Parent = r.parent.markID()
	} else {
		s.Remote = number(r.remote)
	}
	mark.LogStart(r.tracer.scope.Name, s)
}

// markEnd writes its end.
func (r *Span) markEnd() {
	name := r.Name()
	if rec, ok := r.inner().(sdktrace.ReadOnlySpan); ok && r.recorded {
		name = rec.Name() // processors rename the SDK's span
	}
	if name == r.name {
		name = ""
	}
	mark.LogEnd(r.tracer.scope.Name, r.markID(), name)
}

func number(id trace.SpanID) uint64 { return binary.BigEndian.Uint64(id[:]) }
