package viewer

import (
	"encoding/binary"
	"net/http"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/otlpjson"
	"github.com/otelprof/otelprof/spans"
)

// writeOTLP answers with a session as one document of OTLP-JSON, to be kept as a file.
func (h *Handler) writeOTLP(w http.ResponseWriter, s *spans.SessionRecord) {
	body, err := otlpjson.Line(tracesOf(s, h.service))
	if err != nil {
		writeError(w, http.StatusInternalServerError, "session %s: must have a form in OTLP-JSON: %s", s.ID, err)
		return
	}
	w.Header().Set("Content-Disposition", `attachment; filename="session-`+s.ID.String()+`.json"`)
	writeBody(w, http.StatusOK, "application/json; charset=utf-8", body)
}

// tracesOf makes a trace of a session. The session's tags become attributes of its first span.
// What a record lacks is missing here too: the parent of a root, trace states, the resource
// but for its service.
func tracesOf(s *spans.SessionRecord, service string) *otlpjson.Traces {
	service, tags := takeService(s.Attributes, service)
	ids := spanIDsOf(s)
	out := &otlpjson.Traces{}
	g := otlpjson.NewGrouping[string]((*otlpjson.ResourceSpans).NewScope)
	for i := range s.Spans {
		from := &s.Spans[i]
		of, attributes := takeService(from.Attributes, service)
		if i == 0 {
			attributes = slices.Concat(tags, attributes)
		}
		span := otlpSpan(from, s.Start, attributes)
		span.TraceID, span.SpanID = traceIDOf(s), ids[i]
		if from.Parent >= 0 {
			span.ParentSpanID = ids[from.Parent]
		}
		group := g.Of(of, from.Scope, func() *otlpjson.ResourceSpans {
			rs := &otlpjson.ResourceSpans{}
			if of != "" {
				rs.Resource.Attributes = otlpjson.Attributes([]attribute.KeyValue{semconv.ServiceName(of)})
			}
			out.ResourceSpans = append(out.ResourceSpans, rs)
			return rs
		})
		group.Spans = append(group.Spans, span)
	}
	return out
}

// otlpSpan has what needs no other span. Times are counted from start.
func otlpSpan(s *spans.SpanRecord, start time.Time, attributes []attribute.KeyValue) otlpjson.Span {
	at := func(d time.Duration) uint64 { return otlpjson.Nanos(start.Add(d)) }
	if s.Delay > 0 { // which a span that was not sampled does not have itself
		attributes = append(slices.Clip(attributes), naming.DelayKey.Int64(int64(s.Delay)))
	}
	out := otlpjson.Span{
		Name:       s.Name,
		Kind:       int(s.Kind),
		Start:      at(s.Start),
		End:        at(s.Start + s.Duration),
		Attributes: otlpjson.Attributes(attributes),
		Status:     otlpjson.StatusOf(s.Status, s.StatusText),
	}
	if s.Sampled {
		out.Flags = uint32(trace.FlagsSampled)
	}
	for _, e := range s.Events {
		out.Events = append(out.Events, otlpjson.Event{Name: e.Name, Time: at(e.Time), Attributes: otlpjson.Attributes(e.Attributes)})
	}
	for _, l := range s.Links {
		out.Links = append(out.Links, otlpjson.Link{TraceID: l.TraceID, SpanID: l.SpanID, Attributes: otlpjson.Attributes(l.Attributes)})
	}
	return out
}

// traceIDOf is the session's own ID where the provider makes none: OTLP has no spans without.
func traceIDOf(s *spans.SessionRecord) trace.TraceID {
	if !s.TraceID.IsValid() {
		return trace.TraceID(s.ID)
	}
	return s.TraceID
}

// spanIDsOf has the place of a span, from 1, where the provider makes no ID, and where a span of
// none has its caller's.
func spanIDsOf(s *spans.SessionRecord) []trace.SpanID {
	ids := make([]trace.SpanID, len(s.Spans))
	seen := make(map[trace.SpanID]bool, len(ids))
	for i := range ids {
		id := s.Spans[i].SpanID
		if !id.IsValid() || seen[id] {
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
