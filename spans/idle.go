package spans

import (
	"context"
	"fmt"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/spans/internal/sdkspan"
)

// idleSpan and idlePlain wrap what recordingSpan and plainSpan do, while recording is off: there is
// no Span, only what a wrapped span promises. They are their own contexts, as in context.go.
type (
	idleSpan struct {
		sdktrace.ReadWriteSpan
		idle
	}
	idlePlain struct {
		trace.Span
		idle
	}
	idle struct {
		provider *TracerProvider
		ctx      context.Context // that the span's own continues
	}

	idleContext      idleSpan
	idlePlainContext idlePlain
)

// startIdle wraps a span of which no Span is made.
func (p *TracerProvider) startIdle(next context.Context, span trace.Span) (context.Context, trace.Span) {
	if recording, ok := span.(sdktrace.ReadWriteSpan); ok {
		s := &idleSpan{recording, idle{p, next}}
		if spanKey == nil {
			return trace.ContextWithSpan(next, s), s
		}
		return (*idleContext)(s), s
	}
	s := &idlePlain{span, idle{p, next}}
	if spanKey == nil {
		return trace.ContextWithSpan(next, s), s
	}
	return (*idlePlainContext)(s), s
}

// TracerProvider returns the wrapper.
func (s *idleSpan) TracerProvider() trace.TracerProvider { return s.provider }

// TracerProvider returns the wrapper.
func (s *idlePlain) TracerProvider() trace.TracerProvider { return s.provider }

// End ends the span.
func (s *idleSpan) End(opts ...trace.SpanEndOption) {
	// The SDK lets a panic pass at the end of a span that has ended already.
	if !s.provider.panicsIgnored && !sdkspan.Learn().IgnoresPanics(s.ReadWriteSpan) && s.IsRecording() {
		if v := recover(); v != nil {
			recordPanic(s.ReadWriteSpan, v, opts)
			s.ReadWriteSpan.End(opts...)
			panic(v)
		}
	}
	s.ReadWriteSpan.End(opts...)
}

// End ends the span.
func (s *idlePlain) End(opts ...trace.SpanEndOption) {
	if !s.provider.panicsIgnored && s.IsRecording() {
		if v := recover(); v != nil {
			recordPanic(s.Span, v, opts)
			s.Span.End(opts...)
			panic(v)
		}
	}
	s.Span.End(opts...)
}

// Value implements context.Context.
func (c *idleContext) Value(key any) any {
	if isSpanKey(key) {
		return (*idleSpan)(c)
	}
	return c.ctx.Value(key)
}

// Value implements context.Context.
func (c *idlePlainContext) Value(key any) any {
	if isSpanKey(key) {
		return (*idlePlain)(c)
	}
	return c.ctx.Value(key)
}

// Deadline implements context.Context.
func (i *idle) Deadline() (time.Time, bool) { return i.ctx.Deadline() }

// Done implements context.Context.
func (i *idle) Done() <-chan struct{} { return i.ctx.Done() }

// Err implements context.Context.
func (i *idle) Err() error { return i.ctx.Err() }

// String keeps fmt from walking through a span that others write to.
func (i *idle) String() string { return fmt.Sprintf("%v.WithSpan", i.ctx) }
