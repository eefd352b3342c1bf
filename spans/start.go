package spans

import (
	"context"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/otelprof/otelprof/internal/http/own"
	"github.com/otelprof/otelprof/internal/mark"
)

// Start starts a span of the wrapped tracer and its record.
func (t *tracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if ctx == nil {
		ctx = context.Background()
	}
	if !t.provider.recording.Load() {
		if above := trace.SpanFromContext(ctx); isOwn(above) {
			return ctx, above
		}
		next, span := t.startInner(ctx, name, opts)
		return t.provider.startIdle(next, span)
	}
	above := spanIn(ctx)
	parent, session := liveIn(above)
	if parent == nil && session == nil && isOwn(above) {
		return ctx, above
	}
	if parent != nil && t.foretells(parent, opts) {
		start := startTime(opts)
		refused := t.enter(parent, session, start)
		s := newUnsampled(parent)
		s.live.session, s.live.start, s.live.refused = session, start, refused
		return t.begin(ctx, ctx, name, opts, &s.plainSpan, &s.live)
	}

	next, span := t.startInner(ctx, name, opts)
	if t.inner == nil && t.measures(span) && span != above {
		return next, span // the placeholder has come to stand for the wrapper meanwhile
	}
	recording, _ := span.(sdktrace.ReadWriteSpan)
	if parent != nil && len(opts) != 0 && parent.SpanContext().TraceID() != span.SpanContext().TraceID() {
		parent, session = nil, nil // trace.WithNewRoot
	}
	if parent == nil && session == nil {
		session, _ = ctx.Value(sessionKey{}).(*Session)
	}
	var start int64
	if recording != nil {
		start = sinceEpoch(t.sdk.Start(recording))
	} else {
		start = startTime(opts)
	}
	refused := t.enter(parent, session, start)

	root := session == nil && parent == nil && t.provider.keeps(ctx, name)
	wrapped, r, own := newLive(span, recording, root)
	if root {
		session = own
	}
	r.parent, r.session, r.start, r.refused = parent, session, start, refused
	r.recorded = recording != nil
	r.unsampled = recording == nil && t.followsUnsampled
	if parent == nil {
		r.remote = remoteParent(above.SpanContext(), span.SpanContext())
	}
	if root {
		session.begin(ctx, t.provider, r)
	}
	return t.begin(ctx, next, name, opts, wrapped, r)
}

// remoteParent returns the span above, where it is another process's and of the same trace.
func remoteParent(above, span trace.SpanContext) (id trace.SpanID) {
	if above.IsRemote() && above.TraceID() == span.TraceID() {
		id = above.SpanID()
	}
	return id
}

// isOwn reports whether a span is that of our own requests.
func isOwn(s trace.Span) bool {
	_, ours := s.(own.Span)
	return ours
}

// newLive returns the wrapper and the Span and, for a local root, the session: they are one
// allocation.
func newLive(span trace.Span, recording sdktrace.ReadWriteSpan, root bool) (wrapper, *Span, *Session) {
	switch {
	case recording != nil && root:
		s := &recordingRoot{recordingSpan: recordingSpan{ReadWriteSpan: recording}}
		return &s.recordingSpan, &s.live, &s.session
	case recording != nil:
		s := &recordingSpan{ReadWriteSpan: recording}
		return s, &s.live, nil
	case root:
		s := &plainRoot{plainSpan: plainSpan{Span: span}}
		return &s.plainSpan, &s.live, &s.session
	}
	s := &plainSpan{Span: span}
	return s, &s.live, nil
}

// enter counts a span that starts, in its parent and in the session that it comes into, and reports
// whether that has no room for it. That is done before its memory is made, whose writing an atomic
// operation would wait for.
func (t *tracer) enter(parent *Span, session *Session, start int64) (refused bool) {
	if parent != nil {
		parent.cover.beginChild(start - parent.start)
	}
	return session != nil && !session.admit(t.provider)
}

// startInner starts a span of the wrapped tracer.
func (t *tracer) startInner(ctx context.Context, name string, opts []trace.SpanStartOption) (context.Context, trace.Span) {
	inner := t.inner
	if inner == nil {
		inner = t.resolve()
	}
	return startKeeping(ctx, inner, name, opts)
}

// startKeeping starts a span of a tracer that may have none.
func startKeeping(ctx context.Context, inner trace.Tracer, name string, opts []trace.SpanStartOption) (context.Context, trace.Span) {
	next, span := inner.Start(ctx, name, opts...)
	// A provider without spans hands the one above on, which must not end with this one, nor where
	// a session was started between the two.
	handed := false
	for of, ok := span.(sessionSpan); ok; of, ok = span.(sessionSpan) {
		span, handed = of.Span, true
	}
	if below := plainBelow(span); below != nil && (handed || trace.SpanFromContext(ctx) == span) {
		span = below
	}
	return next, span
}

// An endedTracer is what a provider returns after Shutdown. Nothing of it is measured.
type endedTracer struct{ noop.Tracer }

// Start returns a span that does nothing, with the context of the one above.
func (t endedTracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	return startKeeping(ctx, t.Tracer, name, opts)
}

// begin begins the record of a span that has been started in ctx, and whose own context continues
// next. The record's parent, session and start are known, and it has been entered there.
func (t *tracer) begin(ctx, next context.Context, name string, opts []trace.SpanStartOption, s wrapper, r *Span) (context.Context, trace.Span) {
	p := t.provider
	r.tracer, r.name = t, name
	if r.stats = t.statsOfStart(name); r.stats == nil {
		r.stats = t.addStats(name, kindOf(r.inner(), opts))
	}
	if mark.Enabled() {
		r.markStart(ctx)
	}
	if len(p.hooks.all) != 0 {
		ours := s.context(next)
		next = p.hooks.onStart(ours, r)
		if next != ours && trace.SpanFromContext(next) != trace.Span(s) {
			next = trace.ContextWithSpan(next, s)
		}
		return next, s
	}
	return s.context(next), s
}
