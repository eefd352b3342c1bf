package spans

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"github.com/otelprof/otelprof/internal/registry"
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

	followsUnsampled bool     // see unsampled.go
	sdk              *sdkSpan // see sdkspan.go
}

// newTracer wraps inner, or what the placeholder stands for at a start if inner is nil.
func newTracer(p *TracerProvider, scope instrumentation.Scope, inner trace.Tracer, opts []trace.TracerOption) *tracer {
	t := &tracer{
		provider: p, scope: scope, inner: inner, opts: opts,
		sdk: learnSDKSpan(), seed: registry.String(scope.Name + "\x00" + scope.Version),
	}
	if inner != nil {
		t.followsUnsampled = followsUnsampled(inner)
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
