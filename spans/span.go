package spans

import (
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// recordingSpan wraps a span of the SDK that records. It embeds the whole interface, so
// that assertions to sdktrace.ReadOnlySpan and ReadWriteSpan hold as before.
type recordingSpan struct {
	sdktrace.ReadWriteSpan
	region Region
}

// plainSpan wraps any other span: one that the sampler left out, or another provider's.
type plainSpan struct {
	trace.Span
	region Region
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

// regionIn returns the region of a span of ours that records regions, and the session that
// a span started below it belongs to.
func regionIn(s trace.Span) (*Region, *Session) {
	switch s := s.(type) {
	case *recordingSpan:
		return s.region.orNil()
	case *plainSpan:
		return s.region.orNil()
	case sessionSpan:
		return nil, s.session
	}
	return nil, nil
}

// orNil is nil for the region of a span that was started while recording was off.
func (r *Region) orNil() (*Region, *Session) {
	if r.stats == nil {
		return nil, nil
	}
	return r, r.session
}

// TracerProvider returns the wrapper, so that instrumentation which asks the current span
// for its provider stays wrapped.
func (s *recordingSpan) TracerProvider() trace.TracerProvider { return s.region.tracer.provider }

// End ends the span. See the package documentation for panics.
func (s *recordingSpan) End(opts ...trace.SpanEndOption) {
	if !s.region.tryEnd() {
		s.ReadWriteSpan.End(opts...) // the SDK's own answer to a second End
		return
	}
	// recover stops a panic only in the function that was deferred, which is this one.
	if v := recover(); v != nil {
		s.region.recordPanic(v, opts)
		s.finish(opts)
		panic(v)
	}
	s.finish(opts)
}

func (s *recordingSpan) finish(opts []trace.SpanEndOption) {
	if s.region.stats == nil {
		s.ReadWriteSpan.End(opts...)
		return
	}
	s.region.beforeEnd()
	s.ReadWriteSpan.End(opts...)
	s.region.afterEnd(sinceEpoch(s.EndTime()))
}

// SetName renames the span and its region.
func (s *recordingSpan) SetName(name string) {
	s.region.rename(name)
	s.ReadWriteSpan.SetName(name)
}

// SetStatus sets the status of the span.
func (s *recordingSpan) SetStatus(code codes.Code, description string) {
	s.region.setStatus(code)
	s.ReadWriteSpan.SetStatus(code, description)
}

// ChildSpanCount returns the number of spans started below this one.
func (s *recordingSpan) ChildSpanCount() int {
	return s.ReadWriteSpan.ChildSpanCount() + s.region.cover.children()
}

// TracerProvider returns the wrapper.
func (s *plainSpan) TracerProvider() trace.TracerProvider { return s.region.tracer.provider }

// End ends the span.
func (s *plainSpan) End(opts ...trace.SpanEndOption) {
	if !s.region.tryEnd() {
		s.Span.End(opts...)
		return
	}
	// A span that is not recording has nowhere to put a panic and lets it pass.
	if s.IsRecording() {
		if v := recover(); v != nil {
			s.region.recordPanic(v, opts)
			s.finish(opts)
			panic(v)
		}
	}
	s.finish(opts)
}

func (s *plainSpan) finish(opts []trace.SpanEndOption) {
	if s.region.stats == nil {
		s.Span.End(opts...)
		return
	}
	s.region.beforeEnd()
	end := endTime(opts)
	s.Span.End(opts...)
	s.region.afterEnd(end)
}

// endTime returns the time given by trace.WithTimestamp, now by default.
func endTime(opts []trace.SpanEndOption) int64 {
	if len(opts) != 0 {
		if cfg := trace.NewSpanEndConfig(opts...); !cfg.Timestamp().IsZero() {
			return sinceEpoch(cfg.Timestamp())
		}
	}
	return now()
}

// SetName renames the span and its region.
func (s *plainSpan) SetName(name string) {
	s.region.rename(name)
	s.Span.SetName(name)
}

// SetStatus sets the status of the span.
func (s *plainSpan) SetStatus(code codes.Code, description string) {
	s.region.setStatus(code)
	s.Span.SetStatus(code, description)
}

func (r *Region) rename(name string) {
	if r.end.Load() == stateOpen {
		r.renamed.Store(&name)
	}
}
