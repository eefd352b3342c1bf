package spans

import (
	"context"
	"reflect"
	"sync/atomic"
	"unsafe"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/otelprof/otelprof/internal/registry"
	"github.com/otelprof/otelprof/spans/internal/sdkspan"
)

// tracer wraps the tracer of one scope.
type tracer struct {
	embedded.Tracer

	provider *TracerProvider
	scope    instrumentation.Scope
	inner    trace.Tracer // nil below a placeholder, see resolve

	opts     []trace.TracerOption
	resolved atomic.Pointer[trace.Tracer]

	seed      uint64 // of the hashes of its regions' names
	constants constantNames

	followsUnsampled bool // see unsampled.go
	sdk              *sdkspan.Layout
}

// newTracer wraps inner, or what the placeholder stands for at a start if inner is nil.
func newTracer(p *TracerProvider, scope instrumentation.Scope, inner trace.Tracer, opts []trace.TracerOption) *tracer {
	t := &tracer{
		provider: p, scope: scope, inner: inner, opts: opts,
		sdk: sdkspan.Learn(), seed: registry.String(scope.Name + "\x00" + scope.Version),
	}
	if inner != nil {
		t.followsUnsampled = sdkspan.FollowsUnsampled(inner)
	}
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

func kindOf(span trace.Span, opts []trace.SpanStartOption) trace.SpanKind {
	if recording, ok := span.(sdktrace.ReadWriteSpan); ok {
		return recording.SpanKind()
	}
	cfg := trace.NewSpanStartConfig(opts...)
	return trace.ValidateSpanKind(cfg.SpanKind())
}

// statsOf returns the statistics of a name, the first time for a span that was renamed.
func (t *tracer) statsOf(name string, r *Span) *regionStats {
	if s := t.provider.regions.Get(regionName{t, name}); s != nil {
		return s
	}
	return t.addStats(name, r.Kind())
}

// addStats adds a region, or returns the region "other" if there are too many.
func (t *tracer) addStats(name string, kind trace.SpanKind) *regionStats {
	return t.provider.regions.Add(regionName{t, name}, func(int) *regionStats { return newRegionStats(t.scope, name, kind) })
}

// constantNames has regions of one tracer by where their names are in memory. Nearly all names are
// constants of the program and so always at the same place, which is found sooner than a text is
// hashed. A place belongs to the first name that comes to it; those that meet there, or are put
// together for each span, are looked for in the registry.
type constantNames [constantPlaces]atomic.Pointer[regionStats]

const (
	constantPlaces = 1 << constantBits
	constantBits   = 7
)

func (c *constantNames) place(name string) *atomic.Pointer[regionStats] {
	const mixed = 0x9e3779b97f4a7c15
	return &c[uint64(uintptr(unsafe.Pointer(unsafe.StringData(name))))*mixed>>(64-constantBits)]
}

// statsOfStart returns the statistics of the name that a span is started with, nil if it is new.
func (t *tracer) statsOfStart(name string) *regionStats {
	place := t.constants.place(name)
	known := place.Load()
	if known != nil && known.name == name {
		return known
	}
	s := t.provider.regions.Get(regionName{t, name})
	if known == nil && s != nil && s.overflow == nil && unsafe.StringData(s.name) == unsafe.StringData(name) {
		place.Store(s)
	}
	return s
}

// The provider that otel.GetTracerProvider returns before one is set is a placeholder: it
// passes everything on to the first provider that is set. A program that wraps the
// placeholder and then sets the wrapper makes a circle, in which the placeholder's lock is
// held while it asks the wrapper for tracers. So tracers below a placeholder are looked up
// when a span starts, and the look-up that comes back to the wrapper ends in a provider
// without spans. A span that starts while the circle is closed comes back as the wrapper's
// own, and is measured once.

const globalPackage = "go.opentelemetry.io/otel/internal/global"

func isGlobalDelegate(v any) bool {
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath() == globalPackage
}

// measures reports whether a span is one of the provider's own.
func (t *tracer) measures(span trace.Span) bool {
	own, _ := liveIn(span)
	return own != nil && own.tracer.provider == t.provider
}

// resolve returns the tracer that the placeholder stands for at this moment.
func (t *tracer) resolve() trace.Tracer {
	if inner := t.resolved.Load(); inner != nil {
		return *inner
	}
	inner := t.provider.base.Tracer(t.scope.Name, t.opts...)
	if own, ok := inner.(*tracer); ok && own.provider == t.provider {
		inner = noop.NewTracerProvider().Tracer(t.scope.Name)
	} else if isGlobalDelegate(inner) {
		return inner // nothing is set yet: ask again at the next span
	}
	t.resolved.Store(&inner)
	return inner
}
