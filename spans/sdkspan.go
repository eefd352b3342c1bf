package spans

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// The SDK's span takes its lock for each thing that it is asked, which is some two fifths of what
// the reading of a time costs. Nothing here needs it where we ask: the start and the kind never
// change, and the end, the status, events and links do not once the span has ended, by or before
// the call of End that the goroutine has just come back from or has heard of, which takes the lock
// itself. So they are read from where they are. That is no part of what the SDK promises:
// learnSDKSpan looks for the fields by name and type and tries them out, and elsewhere the methods
// are asked.

// sdkSpan is where things are in the SDK's spans. A nil sdkSpan asks the methods.
type sdkSpan struct {
	of                                            unsafe.Pointer // the first word of an interface that has such a span
	name, start, end, kind, status, events, links uintptr
	tracer, provider, panics                      uintptr // the field panicRecordingDisabled, behind two pointers
}

var learnSDKSpan = sync.OnceValue(func() *sdkSpan {
	from, to := time.Unix(1, 2), time.Unix(3, 4)
	tr, quiet := uncounted(sdktrace.WithSampler(sdktrace.AlwaysSample()))
	calm, calmQuiet := uncounted(sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithoutPanicRecording())
	if !quiet || !calmQuiet {
		return nil
	}
	start := func(tr trace.Tracer, opts ...trace.SpanStartOption) trace.Span {
		_, span := tr.Start(context.Background(), "name", append(opts, trace.WithTimestamp(from))...)
		return span
	}
	span, linked, eventful := start(tr, trace.WithSpanKind(trace.SpanKindConsumer)), start(tr, trace.WithLinks(trace.Link{})), start(calm)
	span.SetStatus(codes.Error, "status")
	eventful.AddEvent("event")
	for _, s := range []trace.Span{span, linked, eventful} {
		s.End(trace.WithTimestamp(to))
	}
	recording, ok := span.(sdktrace.ReadWriteSpan)
	if !ok {
		return nil
	}
	known := layOut(recording)
	if known == nil || known.nameOf(recording) != "name" || !known.startOf(recording).Equal(from) || !known.endOf(recording).Equal(to) ||
		known.kindOf(recording) != trace.SpanKindConsumer || known.statusOf(recording) != (sdktrace.Status{Code: codes.Error, Description: "status"}) {
		return nil
	}
	for _, s := range []trace.Span{span, linked, eventful} {
		s := s.(sdktrace.ReadWriteSpan)
		if known.ignoresPanics(s) != (s == eventful) || known.hasEvents(s) != (len(s.Events()) != 0) || known.hasLinks(s) != (len(s.Links()) != 0) {
			return nil
		}
	}
	return known
})

// uncounted returns a tracer whose spans are in no metric that the SDK has of itself, and whether
// it found how: the spans that are made to learn from are not the application's.
func uncounted(opts ...sdktrace.TracerProviderOption) (tr trace.Tracer, ok bool) {
	tr = sdktrace.NewTracerProvider(opts...).Tracer("")
	t := reflect.Indirect(reflect.ValueOf(tr))
	if t.Kind() != reflect.Struct || !t.CanAddr() {
		return tr, false
	}
	counts, ok := countsOf(t)
	if ok {
		*(*bool)(unsafe.Pointer(counts.UnsafeAddr())) = false
	}
	return tr, ok
}

// layOut looks for the fields, and returns nil if they are not as they were when this was written.
func layOut(span sdktrace.ReadWriteSpan) *sdkSpan {
	t := reflect.TypeOf(span)
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return nil
	}
	all := true
	place := func(name string, is reflect.Type) uintptr {
		f, ok := t.Elem().FieldByName(name)
		all = all && ok && f.Type == is && len(f.Index) == 1
		return f.Offset
	}
	queue := func(name string, is reflect.Type) uintptr {
		f, ok := t.Elem().FieldByName(name)
		if !ok || f.Type.Kind() != reflect.Struct || len(f.Index) != 1 {
			all = false
			return 0
		}
		q, ok := f.Type.FieldByName("queue")
		all = all && ok && q.Type == is && len(q.Index) == 1
		return f.Offset + q.Offset
	}
	behind := func(of reflect.Type, name string) (reflect.Type, uintptr) {
		f, ok := of.FieldByName(name)
		if !ok || f.Type.Kind() != reflect.Pointer || f.Type.Elem().Kind() != reflect.Struct || len(f.Index) != 1 {
			all = false
			return reflect.TypeFor[struct{}](), 0
		}
		return f.Type.Elem(), f.Offset
	}
	of, _ := wordsOf(span)
	tracerType, tracer := behind(t.Elem(), "tracer")
	providerType, provider := behind(tracerType, "provider")
	panics, ok := providerType.FieldByName("panicRecordingDisabled")
	all = all && ok && panics.Type.Kind() == reflect.Bool && len(panics.Index) == 1
	s := &sdkSpan{
		of:     of,
		tracer: tracer, provider: provider, panics: panics.Offset,
		name:   place("name", reflect.TypeFor[string]()),
		start:  place("startTime", reflect.TypeFor[time.Time]()),
		end:    place("endTime", reflect.TypeFor[time.Time]()),
		kind:   place("spanKind", reflect.TypeFor[trace.SpanKind]()),
		status: place("status", reflect.TypeFor[sdktrace.Status]()),
		events: queue("events", reflect.TypeFor[[]sdktrace.Event]()),
		links:  queue("links", reflect.TypeFor[[]sdktrace.Link]()),
	}
	if !all {
		return nil
	}
	return s
}

// wordsOf returns what an interface consists of: something that goes by its type and that of the
// value, and the value's address. Each is read by itself: both are just being written, and
// processors make a load that spans two stores wait until both are in the cache.
func wordsOf(span sdktrace.ReadWriteSpan) (of, value unsafe.Pointer) {
	words := (*[2]unsafe.Pointer)(unsafe.Pointer(&span))
	return words[0], words[1]
}

// in returns where a span's fields are, nil if that is not known.
func (t *sdkSpan) in(span sdktrace.ReadWriteSpan) unsafe.Pointer {
	if of, value := wordsOf(span); t != nil && of == t.of {
		return value
	}
	return nil
}

// startOf returns when a span began.
func (t *sdkSpan) startOf(span sdktrace.ReadWriteSpan) time.Time {
	if s := t.in(span); s != nil {
		return *(*time.Time)(unsafe.Add(s, t.start))
	}
	return span.StartTime()
}

// kindOf returns a span's kind.
func (t *sdkSpan) kindOf(span sdktrace.ReadWriteSpan) trace.SpanKind {
	if s := t.in(span); s != nil {
		return *(*trace.SpanKind)(unsafe.Add(s, t.kind))
	}
	return span.SpanKind()
}

// ignoresPanics reports whether the SDK was given WithoutPanicRecording.
func (t *sdkSpan) ignoresPanics(span sdktrace.ReadWriteSpan) bool {
	s := t.in(span)
	if s == nil {
		return false
	}
	tracer := *(*unsafe.Pointer)(unsafe.Add(s, t.tracer))
	provider := *(*unsafe.Pointer)(unsafe.Add(tracer, t.provider))
	return *(*bool)(unsafe.Add(provider, t.panics))
}

// The rest is to be asked of a span that has ended only, by who comes after its End.

// nameOf returns a span's last name.
func (t *sdkSpan) nameOf(span sdktrace.ReadWriteSpan) string {
	if s := t.in(span); s != nil {
		return *(*string)(unsafe.Add(s, t.name))
	}
	return span.Name()
}

// endOf returns when a span ended.
func (t *sdkSpan) endOf(span sdktrace.ReadWriteSpan) time.Time {
	if s := t.in(span); s != nil {
		return *(*time.Time)(unsafe.Add(s, t.end))
	}
	return span.EndTime()
}

// statusOf returns a span's status.
func (t *sdkSpan) statusOf(span sdktrace.ReadWriteSpan) sdktrace.Status {
	if s := t.in(span); s != nil {
		return *(*sdktrace.Status)(unsafe.Add(s, t.status))
	}
	return span.Status()
}

// hasEvents and hasLinks report whether a span may have any.
func (t *sdkSpan) hasEvents(span sdktrace.ReadWriteSpan) bool {
	s := t.in(span)
	return s == nil || len(*(*[]sdktrace.Event)(unsafe.Add(s, t.events))) != 0
}

func (t *sdkSpan) hasLinks(span sdktrace.ReadWriteSpan) bool {
	s := t.in(span)
	return s == nil || len(*(*[]sdktrace.Link)(unsafe.Add(s, t.links))) != 0
}

// recordPanic adds the exception event that the SDK adds when its own End is deferred. It
// runs below the deferred End, so a stack trace still shows where the panic began.
func recordPanic(span trace.Span, value any, opts []trace.SpanEndOption) {
	attrs := []attribute.KeyValue{
		attribute.String("exception.type", typeName(value)),
		attribute.String("exception.message", fmt.Sprint(value)),
	}
	if cfg := trace.NewSpanEndConfig(opts...); cfg.StackTrace() {
		stack := make([]byte, 2048)
		stack = stack[:runtime.Stack(stack, false)]
		attrs = append(attrs, attribute.String("exception.stacktrace", string(stack)))
	}
	span.AddEvent("exception", trace.WithAttributes(attrs...))
}

// typeName is the full name of the value's type: "errors.errorString" for *errors.errorString.
func typeName(value any) string {
	t := reflect.TypeOf(value)
	if t.PkgPath() == "" && t.Name() == "" {
		return t.String()
	}
	return fmt.Sprintf("%s.%s", t.PkgPath(), t.Name())
}
