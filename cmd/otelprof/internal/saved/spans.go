package saved

import (
	"errors"
	"math"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/spans"
)

// The bits of a span's flags above those of W3C.
const (
	flagHasRemote = 1 << 8
	flagRemote    = 1 << 9
)

var (
	errTraceID = errors.New("span with trace ID zero: must have one; left out")
	errSpanID  = errors.New("span with ID zero: must have one; left out")
)

// A readSpan is a span of a session that is not whole yet.
type readSpan struct {
	spans.SpanRecord // its Start and the times of its events are since 1970
	service          string
	parentID         trace.SpanID
	// here is set if the parent is known to be in the same process.
	here bool
}

func (s *readSpan) end() time.Duration { return s.Start + s.Duration }

// traces takes all spans of one object.
func (r *Reader) traces(doc document, at *FileReport) {
	td, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces(doc.text)
	if err != nil {
		at.add(doc.damaged(err))
		return
	}
	for _, rs := range td.ResourceSpans().All() {
		service := r.words.one(serviceOf(rs.Resource()))
		if !r.wants(service) {
			continue
		}
		for _, ss := range rs.ScopeSpans().All() {
			scope := r.words.scope(ss.Scope(), ss.SchemaUrl())
			if scope.Name == naming.CausalScope { // a plan is exported as a span, and is no work of the program's
				continue
			}
			for _, s := range ss.Spans().All() {
				switch {
				case s.TraceID().IsEmpty():
					at.add(doc.problem(errTraceID))
				case s.SpanID().IsEmpty():
					at.add(doc.problem(errSpanID))
				default:
					at.Spans++
					r.services[service] = true
					r.sessions.add(trace.TraceID(s.TraceID()), r.span(s, scope, service))
				}
			}
		}
	}
}

func (r *Reader) span(s ptrace.Span, scope instrumentation.Scope, service string) readSpan {
	out := readSpan{
		SpanRecord: spans.SpanRecord{
			Name:       r.words.one(s.Name()),
			Scope:      scope,
			Kind:       trace.SpanKind(s.Kind()), // the same numbers
			SpanID:     trace.SpanID(s.SpanID()),
			Start:      nanos(uint64(s.StartTimestamp())),
			Sampled:    true,
			StatusText: r.words.one(s.Status().Message()),
			Attributes: r.words.attributes(s.Attributes()),
		},
		service:  service,
		parentID: trace.SpanID(s.ParentSpanID()),
		here:     s.Flags()&(flagHasRemote|flagRemote) == flagHasRemote,
	}
	out.Duration = max(0, nanos(uint64(s.EndTimestamp()))-out.Start)
	switch s.Status().Code() {
	case ptrace.StatusCodeError:
		out.Status = codes.Error
	case ptrace.StatusCodeOk:
		out.Status = codes.Ok
	case ptrace.StatusCodeUnset:
	}
	out.Delay = delayOf(out.Attributes)
	for _, e := range s.Events().All() {
		out.Events = append(out.Events, spans.EventRecord{
			Name: r.words.one(e.Name()), Time: nanos(uint64(e.Timestamp())), Attributes: r.words.attributes(e.Attributes()),
		})
	}
	for _, l := range s.Links().All() {
		out.Links = append(out.Links, spans.LinkRecord{
			TraceID: trace.TraceID(l.TraceID()), SpanID: trace.SpanID(l.SpanID()), Attributes: r.words.attributes(l.Attributes()),
		})
	}
	return out
}

// nanos is a time since 1970, which a damaged file may have beyond the year 2262. A quarter of
// the range keeps differences within it.
func nanos(t uint64) time.Duration { return time.Duration(min(t, math.MaxInt64/2)) }

// delayOf is what experiments inserted below the span, by the span's own attribute.
func delayOf(kvs []attribute.KeyValue) time.Duration {
	for _, kv := range kvs {
		if kv.Key == naming.DelayKey && kv.Value.Type() == attribute.INT64 {
			return time.Duration(max(0, kv.Value.AsInt64()))
		}
	}
	return 0
}

// sizeBytes is about what the span holds in memory.
func (s *readSpan) sizeBytes() int {
	one := spans.SessionRecord{Spans: []spans.SpanRecord{s.SpanRecord}}
	return one.SizeBytes()
}
