package otelprof

import (
	"context"
	"reflect"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/exporter/otlp"
	"github.com/otelprof/otelprof/spans"
)

// Wrap measures the spans of a provider that the program has set up itself, and stands where
// otel.SetTracerProvider stood:
//
//	tp := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(res))
//	prof, err := otelprof.Wrap(tp)
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer prof.Shutdown(ctx)
//
// The provider's sampler, processors and exporters go on as before, and get the same spans. The
// options and variables are those of [Setup]: OTELPROF_VIEWER=127.0.0.1:8080 serves the page. What
// Wrap does not do is export traces and metrics by OTLP: traces are the provider's, the metrics of
// regions are a reader's that has [Profiler.Producer]. [WithDataDir] writes both, if the provider
// takes span processors.
//
// Wrap sets the global TracerProvider, unless [WithoutGlobals] is given, and leaves the other
// globals alone. A tracer that came from the provider before that is not measured, nor one of the
// global provider, if another one had been set; after 10 s there is a warning, if spans have come
// from such tracers, and most of them where few are sampled. The resource is the provider's if it
// is the SDK's, with [WithResource] and [WithServiceName] over it. [Profiler.Shutdown] shuts the
// provider down, too.
//
// The error joins all options that are wrong; then the provider is as it was. A nil provider is an
// error, and one that is wrapped already, whose spans would be measured twice.
func Wrap(provider trace.TracerProvider, opts ...Option) (*Profiler, error) {
	c, err := newConfig(append([]Option{withBase(provider)}, opts...))
	if err != nil {
		return nil, err
	}
	env, _ := otlp.FromEnv() // of which the pipelines are the program's
	return start(context.Background(), c, otlp.Env{Disabled: env.Disabled})
}

// withBase is the option that Wrap gives itself. Options of the program come after it.
func withBase(provider trace.TracerProvider) Option {
	return optionFunc(func(c config) config {
		v := reflect.ValueOf(provider)
		if provider == nil || v.Kind() == reflect.Pointer && v.IsNil() {
			return c.reject("provider nil: must be set")
		}
		if _, ours := provider.(*spans.TracerProvider); ours {
			return c.reject("provider %T: must not be wrapped already: give Wrap the provider that it wraps, by Unwrap", provider)
		}
		c.base, c.baseResource = provider, resourceOf(provider)
		return c
	})
}

// resourceOf returns the resource of a provider of the SDK, nil of another. The SDK keeps it in a
// field, and has no method for it.
func resourceOf(provider trace.TracerProvider) *resource.Resource {
	sdk, ok := provider.(*sdktrace.TracerProvider)
	if !ok {
		return nil
	}
	f := reflect.ValueOf(sdk).Elem().FieldByName("resource")
	if !f.IsValid() || f.Type() != reflect.TypeFor[*resource.Resource]() {
		return nil
	}
	return (*resource.Resource)(f.UnsafePointer())
}

// unregister takes away a processor that register has added. Where it is not there the SDK takes
// the first one away, as others may do that register one in place of another.
func unregister(provider trace.TracerProvider, p sdktrace.SpanProcessor) {
	if r, ok := provider.(interface{ UnregisterSpanProcessor(sdktrace.SpanProcessor) }); ok {
		r.UnregisterSpanProcessor(p)
	}
}

// register adds a processor to a provider, and reports whether it takes any.
func register(provider trace.TracerProvider, p sdktrace.SpanProcessor) bool {
	r, ok := provider.(interface{ RegisterSpanProcessor(sdktrace.SpanProcessor) })
	if ok {
		r.RegisterSpanProcessor(p)
	}
	return ok
}
