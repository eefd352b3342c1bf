package spans

import (
	"context"
	"unsafe"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// recordingSpan wraps a span of the SDK that records. It embeds the whole interface, so
// that assertions to sdktrace.ReadOnlySpan and ReadWriteSpan hold as before.
type recordingSpan struct {
	sdktrace.ReadWriteSpan
	live Span
}

// plainSpan wraps any other span: one that the sampler left out, or another provider's.
type plainSpan struct {
	trace.Span
	live Span
}

// inner returns the span that is wrapped. It stands where the record is: in the record itself it
// would be there twice.
func (r *Span) inner() trace.Span {
	if r.recorded {
		const back = -int(unsafe.Offsetof(recordingSpan{}.live))
		return (*recordingSpan)(unsafe.Add(unsafe.Pointer(r), back)).ReadWriteSpan
	}
	const back = -int(unsafe.Offsetof(plainSpan{}.live))
	return (*plainSpan)(unsafe.Add(unsafe.Pointer(r), back)).Span
}

// recordingRoot and plainRoot are local roots. The session lies in the same allocation.
type (
	recordingRoot struct {
		recordingSpan
		session Session
	}
	plainRoot struct {
		plainSpan
		session Session
	}
)

// liveIn returns the live record of a span of ours, and the session that
// a span started below it belongs to.
func liveIn(s trace.Span) (*Span, *Session) {
	switch s := s.(type) {
	case *recordingSpan:
		return &s.live, s.live.session
	case *plainSpan:
		return &s.live, s.live.session
	case sessionSpan:
		return nil, s.session
	}
	return nil, nil
}

// plainBelow returns the span in a wrapper of ours around a span that is not the SDK's, nil for any
// other.
func plainBelow(s trace.Span) trace.Span {
	switch s := s.(type) {
	case *plainSpan:
		return s.Span
	case *idlePlain:
		return s.Span
	}
	return nil
}

// TracerProvider returns the wrapper, so that instrumentation which asks the current span
// for its provider stays wrapped.
func (s *recordingSpan) TracerProvider() trace.TracerProvider { return s.live.tracer.provider }

// End ends the span. See the package documentation for panics.
func (s *recordingSpan) End(opts ...trace.SpanEndOption) {
	if !s.live.tryEnd() {
		s.ReadWriteSpan.End(opts...) // the SDK's own answer to a second End
		return
	}
	if t := s.live.tracer; !t.provider.panicsIgnored && !t.sdk.IgnoresPanics(s.ReadWriteSpan) {
		// recover stops a panic only in the function that was deferred, which is this one.
		if v := recover(); v != nil {
			recordPanic(s.ReadWriteSpan, v, opts)
			s.finish(opts)
			panic(v)
		}
	}
	s.finish(opts)
}

func (s *recordingSpan) finish(opts []trace.SpanEndOption) {
	s.live.beforeEnd()
	defer s.ended(opts) // also where a span processor panics
	s.ReadWriteSpan.End(opts...)
}

// ended follows the end of the SDK's span.
func (s *recordingSpan) ended(opts []trace.SpanEndOption) {
	sdk := s.live.tracer.sdk
	end := sdk.End(s.ReadWriteSpan)
	s.live.settle(sdk.Name(s.ReadWriteSpan), sdk.Status(s.ReadWriteSpan).Code)
	at := int64(0)
	if len(opts) == 0 && s.live.parent == nil && end != end.Round(0) { // it is of the monotonic clock
		at = sinceEpoch(end)
	}
	s.live.afterEnd(sinceEpoch(end), at)
}

// SetName renames the span, which moves it to another region.
func (s *recordingSpan) SetName(name string) {
	s.live.rename(name)
	s.ReadWriteSpan.SetName(name)
}

// SetStatus sets the status of the span.
func (s *recordingSpan) SetStatus(code codes.Code, description string) {
	s.live.setStatus(code)
	s.ReadWriteSpan.SetStatus(code, description)
}

// ChildSpanCount returns the number of spans started below this one.
func (s *recordingSpan) ChildSpanCount() int {
	return s.ReadWriteSpan.ChildSpanCount() + s.live.cover.children()
}

// TracerProvider returns the wrapper.
func (s *plainSpan) TracerProvider() trace.TracerProvider { return s.live.tracer.provider }

// End ends the span.
func (s *plainSpan) End(opts ...trace.SpanEndOption) {
	if !s.live.tryEnd() {
		s.Span.End(opts...)
		return
	}
	// A span that is not recording has nowhere to put a panic and lets it pass.
	if !s.live.tracer.provider.panicsIgnored && s.IsRecording() {
		if v := recover(); v != nil {
			recordPanic(s.Span, v, opts)
			s.finish(opts)
			panic(v)
		}
	}
	s.finish(opts)
}

func (s *plainSpan) finish(opts []trace.SpanEndOption) {
	s.live.beforeEnd()
	end, at := endTime(opts)
	defer s.live.afterEnd(end, at) // also where the wrapped provider panics
	s.Span.End(opts...)
}

// endTime returns the time given by trace.WithTimestamp, now by default, and the time now if it was
// read.
func endTime(opts []trace.SpanEndOption) (end, at int64) {
	if len(opts) != 0 {
		if cfg := trace.NewSpanEndConfig(opts...); !cfg.Timestamp().IsZero() {
			return sinceEpoch(cfg.Timestamp()), 0
		}
	}
	at = now()
	return at, at
}

// SetName renames the span, which moves it to another region.
func (s *plainSpan) SetName(name string) {
	s.live.rename(name)
	s.Span.SetName(name)
}

// SetStatus sets the status of the span.
func (s *plainSpan) SetStatus(code codes.Code, description string) {
	s.live.setStatus(code)
	s.Span.SetStatus(code, description)
}

func (r *Span) rename(name string) {
	if r.end.Load() == stateOpen {
		r.renamed.Store(&name)
	}
}

// settle takes the name and the status that the SDK exports, which processors set as well.
func (r *Span) settle(name string, code codes.Code) {
	if name != r.Name() {
		last := name // in memory of its own only here
		r.renamed.Store(&last)
	}
	if uint32(code) != r.status.Load() {
		r.status.Store(uint32(code))
	}
}

// A wrapper is a span of ours.
type wrapper interface {
	trace.Span
	context(context.Context) context.Context
}
