package viewer

import (
	"encoding/binary"
	"net/http"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/otlpattr"
	"github.com/otelprof/otelprof/spans"
)

// writeOTLP answers with a session as one document of OTLP-JSON, to be kept as a file.
func (h *Handler) writeOTLP(w http.ResponseWriter, s *spans.SessionRecord) {
	body, err := new(ptrace.JSONMarshaler).MarshalTraces(tracesOf(s, h.service))
	if err != nil {
		writeError(w, http.StatusInternalServerError, "session %s: must have a form in OTLP-JSON: %s", s.ID, err)
		return
	}
	w.Header().Set("Content-Disposition", `attachment; filename="session-`+s.ID.String()+`.json"`)
	writeBody(w, http.StatusOK, "application/json; charset=utf-8", append(body, '\n'))
}

// tracesOf makes a trace of a session. The session's tags become attributes of its first span.
// What a record lacks is missing here too: the parent of a root, trace states, the resource
// but for its service.
func tracesOf(s *spans.SessionRecord, service string) ptrace.Traces {
	out := ptrace.NewTraces()
	service, tags := takeService(s.Attributes, service)
	ids := spanIDsOf(s)
	g := grouping{out, map[string]ptrace.ResourceSpans{}, map[scopeKey]ptrace.SpanSlice{}}
	for i := range s.Spans {
		from := &s.Spans[i]
		of, attrs := takeService(from.Attributes, service)
		span := g.of(scopeKey{of, from.Scope}).AppendEmpty()
		span.SetTraceID(traceIDOf(s))
		span.SetSpanID(ids[i])
		if from.Parent >= 0 {
			span.SetParentSpanID(ids[from.Parent])
		}
		if i == 0 {
			otlpattr.Put(span.Attributes(), tags)
		}
		otlpattr.Put(span.Attributes(), attrs)
		putSpan(span, from, s.Start)
	}
	return out
}

// putSpan writes what needs no other span. Times are counted from start.
func putSpan(dst ptrace.Span, s *spans.SpanRecord, start time.Time) {
	at := func(d time.Duration) pcommon.Timestamp { return pcommon.Timestamp(max(0, start.Add(d).UnixNano())) }
	dst.SetName(otlpattr.UTF8(s.Name))
	dst.SetKind(ptrace.SpanKind(s.Kind)) // the same numbers
	dst.SetStartTimestamp(at(s.Start))
	dst.SetEndTimestamp(at(s.Start + s.Duration))
	if s.Sampled {
		dst.SetFlags(uint32(trace.FlagsSampled))
	}
	if s.Delay > 0 { // which a span that was not sampled does not have itself
		dst.Attributes().PutInt(string(naming.DelayKey), int64(s.Delay))
	}
	dst.Status().SetMessage(otlpattr.UTF8(s.StatusText))
	switch s.Status {
	case codes.Ok:
		dst.Status().SetCode(ptrace.StatusCodeOk)
	case codes.Error:
		dst.Status().SetCode(ptrace.StatusCodeError)
	}
	for _, e := range s.Events {
		event := dst.Events().AppendEmpty()
		event.SetName(otlpattr.UTF8(e.Name))
		event.SetTimestamp(at(e.Time))
		otlpattr.Put(event.Attributes(), e.Attributes)
	}
	for _, l := range s.Links {
		link := dst.Links().AppendEmpty()
		link.SetTraceID(pcommon.TraceID(l.TraceID))
		link.SetSpanID(pcommon.SpanID(l.SpanID))
		otlpattr.Put(link.Attributes(), l.Attributes)
	}
}

// traceIDOf is the session's own ID where the provider makes none: OTLP has no spans without.
func traceIDOf(s *spans.SessionRecord) pcommon.TraceID {
	if !s.TraceID.IsValid() {
		return pcommon.TraceID(s.ID)
	}
	return pcommon.TraceID(s.TraceID)
}

// spanIDsOf has the place of a span, from 1, where the provider makes no ID, and where a span of
// none has its caller's.
func spanIDsOf(s *spans.SessionRecord) []pcommon.SpanID {
	ids := make([]pcommon.SpanID, len(s.Spans))
	seen := make(map[pcommon.SpanID]bool, len(ids))
	for i := range ids {
		id := pcommon.SpanID(s.Spans[i].SpanID)
		if id.IsEmpty() || seen[id] {
			binary.BigEndian.PutUint64(id[:], uint64(i+1))
		}
		ids[i], seen[id] = id, true
	}
	return ids
}

// takeService takes service.name out of kvs: saved sessions have it there, where OTLP has it in
// the resource.
func takeService(kvs []attribute.KeyValue, otherwise string) (string, []attribute.KeyValue) {
	i := slices.IndexFunc(kvs, func(kv attribute.KeyValue) bool { return kv.Key == semconv.ServiceNameKey })
	if i < 0 {
		return otherwise, kvs
	}
	return kvs[i].Value.AsString(), slices.Delete(slices.Clone(kvs), i, i+1)
}

type scopeKey struct {
	service string
	scope   instrumentation.Scope
}

// A grouping puts spans of one service, and of one scope, together.
type grouping struct {
	traces    ptrace.Traces
	resources map[string]ptrace.ResourceSpans
	scopes    map[scopeKey]ptrace.SpanSlice
}

func (g grouping) of(key scopeKey) ptrace.SpanSlice {
	if all, ok := g.scopes[key]; ok {
		return all
	}
	rs, ok := g.resources[key.service]
	if !ok {
		rs = g.traces.ResourceSpans().AppendEmpty()
		if key.service != "" {
			rs.Resource().Attributes().PutStr(string(semconv.ServiceNameKey), otlpattr.UTF8(key.service))
		}
		g.resources[key.service] = rs
	}
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName(otlpattr.UTF8(key.scope.Name))
	ss.Scope().SetVersion(otlpattr.UTF8(key.scope.Version))
	otlpattr.Put(ss.Scope().Attributes(), key.scope.Attributes.ToSlice())
	ss.SetSchemaUrl(key.scope.SchemaURL)
	g.scopes[key] = ss.Spans()
	return ss.Spans()
}
