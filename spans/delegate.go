package spans

import (
	"reflect"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

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
