package spans

import (
	"context"
	"maps"
	"sync/atomic"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"github.com/otelprof/otelprof/internal/mark"
)

// tracer wraps the tracer of one scope.
type tracer struct {
	embedded.Tracer

	provider *TracerProvider
	scope    instrumentation.Scope
	inner    trace.Tracer // nil below a placeholder, see resolve

	opts     []trace.TracerOption
	resolved atomic.Pointer[trace.Tracer]

	// stats is copied on write, under provider.mu: names are few and soon known, and a
	// plain map is read faster than a concurrent one.
	stats atomic.Pointer[map[string]*regionStats]
}

func newTracer(p *TracerProvider, scope instrumentation.Scope, opts []trace.TracerOption) *tracer {
	t := &tracer{provider: p, scope: scope, opts: opts}
	if !p.delegating {
		t.inner = p.base.Tracer(scope.Name, opts...)
	}
	t.stats.Store(&map[string]*regionStats{})
	return t
}

// Enabled passes the question on to the wrapped tracer where it can answer it.
func (t *tracer) Enabled(ctx context.Context) bool {
	inner := t.inner
	if inner == nil {
		inner = t.resolve()
	}
	if e, ok := inner.(interface{ Enabled(context.Context) bool }); ok {
		return e.Enabled(ctx)
	}
	return true
}

// Start starts a span of the wrapped tracer and the region around it.
func (t *tracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if ctx == nil {
		ctx = context.Background()
	}
	inner := t.inner
	if inner == nil {
		inner = t.resolve()
	}
	next, span := inner.Start(ctx, name, opts...)
	if above, ok := span.(*plainSpan); ok && trace.SpanFromContext(ctx) == span {
		span = above.Span // a provider without spans hands the one above on, which must not end with this one
	}
	recording, _ := span.(sdktrace.ReadWriteSpan)

	if !t.provider.recording.Load() {
		if recording != nil {
			s := &recordingSpan{ReadWriteSpan: recording, region: Region{tracer: t, inner: span}}
			return s.context(next), s
		}
		s := &plainSpan{Span: span, region: Region{tracer: t, inner: span}}
		return s.context(next), s
	}

	parent, session := regionIn(trace.SpanFromContext(ctx))
	if parent != nil && len(opts) != 0 && parent.SpanContext().TraceID() != span.SpanContext().TraceID() {
		parent, session = nil, nil // trace.WithNewRoot
	}
	if parent == nil && session == nil {
		session, _ = ctx.Value(sessionKey{}).(*Session)
	}

	// The wrapper, the region and, for a local root, the session are one allocation.
	var (
		wrapped interface {
			trace.Span
			context(context.Context) context.Context
		}
		r *Region
	)
	root := session == nil && parent == nil && t.provider.keeps(ctx, name)
	switch {
	case recording != nil && root:
		s := &recordingRoot{recordingSpan: recordingSpan{ReadWriteSpan: recording}}
		session = &s.session
		wrapped, r = &s.recordingSpan, &s.region
	case recording != nil:
		s := &recordingSpan{ReadWriteSpan: recording}
		wrapped, r = s, &s.region
	case root:
		s := &plainRoot{plainSpan: plainSpan{Span: span}}
		session = &s.session
		wrapped, r = &s.plainSpan, &s.region
	default:
		s := &plainSpan{Span: span}
		wrapped, r = s, &s.region
	}
	r.tracer, r.inner, r.name, r.parent = t, span, name, parent
	if recording != nil {
		r.start = sinceEpoch(recording.StartTime())
	} else {
		r.start = startTime(opts)
	}
	if r.stats = (*t.stats.Load())[name]; r.stats == nil {
		r.stats = t.addStats(name, kindOf(recording, opts))
	}
	if parent != nil {
		parent.cover.beginChild(r.start - parent.start)
	}
	if root {
		session.begin(ctx, t.provider, r)
	}
	if session != nil {
		r.session, r.refused = session, !session.admit(t.provider)
	}
	if mark.Enabled() {
		r.markStart(ctx)
	}
	if len(t.provider.hooks.all) != 0 {
		ours := wrapped.context(next)
		next = t.provider.hooks.onStart(ours, r)
		if next != ours && trace.SpanFromContext(next) != trace.Span(wrapped) {
			next = trace.ContextWithSpan(next, wrapped)
		}
		return next, wrapped
	}
	return wrapped.context(next), wrapped
}

// startTime returns the time given by trace.WithTimestamp, now by default. Of the start
// options only that one can also be given to End, so the others need not be evaluated.
func startTime(opts []trace.SpanStartOption) int64 {
	for _, o := range opts {
		if _, ok := o.(trace.SpanEndOption); ok {
			if cfg := trace.NewSpanStartConfig(o); !cfg.Timestamp().IsZero() {
				return sinceEpoch(cfg.Timestamp())
			}
		}
	}
	return now()
}

func kindOf(recording sdktrace.ReadWriteSpan, opts []trace.SpanStartOption) trace.SpanKind {
	if recording != nil {
		return recording.SpanKind()
	}
	cfg := trace.NewSpanStartConfig(opts...)
	return trace.ValidateSpanKind(cfg.SpanKind())
}

// statsOf returns the statistics of a name, the first time for a span that was renamed.
func (t *tracer) statsOf(name string, r *Region) *regionStats {
	if s := (*t.stats.Load())[name]; s != nil {
		return s
	}
	return t.addStats(name, r.Kind())
}

// addStats adds a region, or returns the region "other" if there are too many.
func (t *tracer) addStats(name string, kind trace.SpanKind) *regionStats {
	p := t.provider
	if other := p.other.Load(); other != nil { // full for good: no lock for every new name
		return other
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	known := *t.stats.Load()
	if s := known[name]; s != nil {
		return s
	}
	if other := p.other.Load(); other != nil { // somebody else was first
		return other
	}
	if len(p.regions) >= p.maxRegions {
		other := newRegionStats(instrumentation.Scope{}, "other", trace.SpanKindInternal)
		other.overflow = &p.drops.regionsFull
		p.regions = append(p.regions, other)
		p.other.Store(other)
		return other
	}
	s := newRegionStats(t.scope, name, kind)
	p.regions = append(p.regions, s)
	grown := make(map[string]*regionStats, len(known)+1)
	maps.Copy(grown, known)
	grown[name] = s
	t.stats.Store(&grown)
	return s
}
