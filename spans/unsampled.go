package spans

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Most spans of a service are not sampled, and of those most have a parent in this process that was
// not sampled either. What the SDK makes of such a span is known before it is asked, if its sampler
// follows the parent: a context with the parent's trace and an ID of its own, and nothing that
// could be set. Then the SDK is not asked, which saves more than a span costs.
//
// That is so for the SDK's own samplers NeverSample, and ParentBased unless it was given another
// sampler for parents of this process that are not sampled; with the SDK's own generator of IDs;
// and where the SDK does not count its own spans. No method has it, so learnSDK looks at the fields
// of the SDK's tracer, by name and type. If they are not what they were when this was written, or
// if the SDK makes another span of a parent that is not sampled, the SDK is asked every time.

// unsampledSpan is the wrapper, the record and the SDK's span, in one allocation.
type unsampledSpan struct {
	plainSpan
	unsampled
}

// unsampled is a span as the SDK makes it of a parent that is not sampled.
type unsampled struct {
	*noop.Span            // &noSpan: all methods but those below
	trace      trace.Span // the nearest span above that the SDK has made
	id         trace.SpanID
}

var noSpan noop.Span

// SpanContext returns the context of the span above with an ID of its own.
func (s *unsampled) SpanContext() trace.SpanContext { return s.trace.SpanContext().WithSpanID(s.id) }

// newUnsampled returns the span below a parent that was not sampled.
func newUnsampled(parent *Span) *unsampledSpan {
	s := &unsampledSpan{unsampled: unsampled{Span: &noSpan, trace: parent.inner()}}
	if above, ok := parent.inner().(*unsampled); ok {
		s.trace = above.trace
	}
	for !s.id.IsValid() {
		binary.NativeEndian.PutUint64(s.id[:], rand.Uint64())
	}
	s.plainSpan.Span = &s.unsampled
	s.live.parent, s.live.unsampled = parent, true
	return s
}

// foretells reports whether a span of this tracer below parent is not sampled for sure.
func (t *tracer) foretells(parent *Span, opts []trace.SpanStartOption) bool {
	return parent.unsampled && t.followsUnsampled && (len(opts) == 0 || !newRoot(opts))
}

func newRoot(opts []trace.SpanStartOption) bool {
	cfg := trace.NewSpanStartConfig(opts...)
	return cfg.NewRoot()
}

// sdk has the types of what is the SDK's own, nil if they could not be learned.
type sdk struct{ tracer, ids, never, parentBased reflect.Type }

var learnSDK = sync.OnceValue(func() *sdk {
	tr, quiet := uncounted(sdktrace.WithSampler(sdktrace.NeverSample()))
	provider, ok := providerOf(tr)
	if !quiet || !ok || !makesUnsampled(tr) {
		return nil
	}
	return &sdk{
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

// countsOf returns the field of the SDK's tracer that says whether the SDK counts the tracer's
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

// makesUnsampled reports whether the SDK makes of a parent what newUnsampled makes.
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
	own := s.SpanContext()
	_, recording := s.(sdktrace.ReadWriteSpan)
	return !recording && !s.IsRecording() && own.HasSpanID() && own.SpanID() != parent.SpanID() && own.Equal(parent.WithSpanID(own.SpanID()))
}

// followsUnsampled reports whether a tracer is the SDK's, with a sampler of the SDK's that follows
// a parent which was not sampled.
func followsUnsampled(tr trace.Tracer) bool {
	known := learnSDK()
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
