package sdkspan

import (
	"context"
	"reflect"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// own are the types of what is the SDK's own.
type own struct{ tracer, ids, never, parentBased reflect.Type }

var learnTracer = sync.OnceValue(func() *own {
	tr, quiet := uncounted(sdktrace.WithSampler(sdktrace.NeverSample()))
	provider, ok := providerOf(tr)
	if !quiet || !ok || !makesUnsampled(tr) {
		return nil
	}
	return &own{
		tracer:      reflect.TypeOf(tr),
		ids:         provider.FieldByName("idGenerator").Elem().Type(),
		never:       reflect.TypeOf(sdktrace.NeverSample()),
		parentBased: reflect.TypeOf(sdktrace.ParentBased(sdktrace.NeverSample())),
	}
})

// providerOf returns the SDK's provider behind one of its tracers, if it has the fields that are
// asked about.
func providerOf(tr trace.Tracer) (provider reflect.Value, ok bool) {
	t := reflect.Indirect(reflect.ValueOf(tr))
	if t.Kind() != reflect.Struct {
		return t, false
	}
	p := t.FieldByName("provider")
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return t, false
	}
	if counts, ok := countsOf(t); !ok || counts.Bool() {
		return t, false
	}
	p = p.Elem()
	return p, isSet(p, "sampler") && isSet(p, "idGenerator")
}

// countsOf returns the field of the SDK's tracer that shows whether the SDK counts the tracer's
// spans in metrics of its own.
func countsOf(tracer reflect.Value) (counts reflect.Value, ok bool) {
	inst := tracer.FieldByName("inst")
	if inst.Kind() != reflect.Struct {
		return inst, false
	}
	counts = inst.FieldByName("enabled")
	return counts, counts.Kind() == reflect.Bool
}

func isSet(of reflect.Value, field string) bool {
	if of.Kind() != reflect.Struct {
		return false
	}
	f := of.FieldByName(field)
	return f.Kind() == reflect.Interface && !f.IsNil()
}

// makesUnsampled reports whether the SDK makes of a parent that is not sampled a span with the
// parent's context and an ID of its own, which records nothing.
func makesUnsampled(tr trace.Tracer) bool {
	state, err := trace.ParseTraceState("vendor=value")
	if err != nil {
		return false
	}
	parent := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: ^trace.FlagsSampled, TraceState: state,
	})
	_, s := tr.Start(trace.ContextWithSpanContext(context.Background(), parent), "")
	s.End()
	made := s.SpanContext()
	_, recording := s.(sdktrace.ReadWriteSpan)
	return !recording && !s.IsRecording() && made.HasSpanID() && made.SpanID() != parent.SpanID() && made.Equal(parent.WithSpanID(made.SpanID()))
}

// FollowsUnsampled reports whether a tracer is the SDK's, with the SDK's generator of IDs and a
// sampler of the SDK's that follows a parent which was not sampled, and without metrics of itself:
// what it makes below such a parent is known before it is asked. No method has it, so the fields
// are looked at, by name and type; where they are not what they were when this was written, it is
// false.
func FollowsUnsampled(tr trace.Tracer) bool {
	known := learnTracer()
	if known == nil || reflect.TypeOf(tr) != known.tracer {
		return false
	}
	p, ok := providerOf(tr)
	if !ok || p.FieldByName("idGenerator").Elem().Type() != known.ids {
		return false
	}
	sampler := p.FieldByName("sampler").Elem()
	if sampler.Type() == known.parentBased {
		config := sampler.FieldByName("config")
		if !isSet(config, "localParentNotSampled") {
			return false
		}
		sampler = config.FieldByName("localParentNotSampled").Elem()
	}
	return sampler.Type() == known.never
}
