package sdkspan

import (
	"context"
	"reflect"
	"sync"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// The SDK's span takes its lock for each thing that it is asked, which is some two fifths of what
// the reading of a time costs. Nothing here needs it where we ask: the start and the kind never
// change, and the end, the status, events and links do not once the span has ended, by or before
// the call of End that the goroutine has just come back from or has heard of, which takes the lock
// itself. So they are read from where they are. That is no part of what the SDK promises: Learn
// looks for the fields by name and type and tries them out, and elsewhere the methods are asked.

// A Layout is where things are in the SDK's spans. A nil Layout asks the methods. All methods may
// be called by any goroutine.
type Layout struct {
	of                                            unsafe.Pointer // the first word of an interface that has such a span
	name, start, end, kind, status, events, links uintptr
	tracer, provider, panics                      uintptr // the field panicRecordingDisabled, behind two pointers
}

// Learn finds out, once for all, what this SDK's spans and tracers have, and returns nil if its
// spans are not as they were when this was written. It makes spans that no metric of the SDK
// counts.
func Learn() *Layout { return learn() }

var learn = sync.OnceValue(func() *Layout {
	learnTracer()
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
	if known == nil || known.Name(recording) != "name" || !known.Start(recording).Equal(from) || !known.End(recording).Equal(to) ||
		known.Kind(recording) != trace.SpanKindConsumer || known.Status(recording) != (sdktrace.Status{Code: codes.Error, Description: "status"}) {
		return nil
	}
	for _, s := range []trace.Span{span, linked, eventful} {
		s := s.(sdktrace.ReadWriteSpan)
		if known.IgnoresPanics(s) != (s == eventful) || known.HasEvents(s) != (len(s.Events()) != 0) || known.HasLinks(s) != (len(s.Links()) != 0) {
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
func layOut(span sdktrace.ReadWriteSpan) *Layout {
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
	s := &Layout{
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
func (l *Layout) in(span sdktrace.ReadWriteSpan) unsafe.Pointer {
	if of, value := wordsOf(span); l != nil && of == l.of {
		return value
	}
	return nil
}

// Start returns when a span began.
func (l *Layout) Start(span sdktrace.ReadWriteSpan) time.Time {
	if s := l.in(span); s != nil {
		return *(*time.Time)(unsafe.Add(s, l.start))
	}
	return span.StartTime()
}

// Kind returns a span's kind.
func (l *Layout) Kind(span sdktrace.ReadWriteSpan) trace.SpanKind {
	if s := l.in(span); s != nil {
		return *(*trace.SpanKind)(unsafe.Add(s, l.kind))
	}
	return span.SpanKind()
}

// IgnoresPanics reports whether the SDK was given WithoutPanicRecording.
func (l *Layout) IgnoresPanics(span sdktrace.ReadWriteSpan) bool {
	s := l.in(span)
	if s == nil {
		return false
	}
	tracer := *(*unsafe.Pointer)(unsafe.Add(s, l.tracer))
	provider := *(*unsafe.Pointer)(unsafe.Add(tracer, l.provider))
	return *(*bool)(unsafe.Add(provider, l.panics))
}

// The rest is to be asked of a span that has ended only, by who comes after its End.

// Name returns a span's last name.
func (l *Layout) Name(span sdktrace.ReadWriteSpan) string {
	if s := l.in(span); s != nil {
		return *(*string)(unsafe.Add(s, l.name))
	}
	return span.Name()
}

// End returns when a span ended.
func (l *Layout) End(span sdktrace.ReadWriteSpan) time.Time {
	if s := l.in(span); s != nil {
		return *(*time.Time)(unsafe.Add(s, l.end))
	}
	return span.EndTime()
}

// Status returns a span's status.
func (l *Layout) Status(span sdktrace.ReadWriteSpan) sdktrace.Status {
	if s := l.in(span); s != nil {
		return *(*sdktrace.Status)(unsafe.Add(s, l.status))
	}
	return span.Status()
}

// HasEvents reports whether a span may have any.
func (l *Layout) HasEvents(span sdktrace.ReadWriteSpan) bool {
	s := l.in(span)
	return s == nil || len(*(*[]sdktrace.Event)(unsafe.Add(s, l.events))) != 0
}

// HasLinks reports whether a span may have any.
func (l *Layout) HasLinks(span sdktrace.ReadWriteSpan) bool {
	s := l.in(span)
	return s == nil || len(*(*[]sdktrace.Link)(unsafe.Add(s, l.links))) != 0
}
