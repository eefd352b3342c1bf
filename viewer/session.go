package viewer

import (
	"net/http"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/spans"
)

// sessionJSON answers GET /api/v1/sessions/{id}; with format=otlp the answer is a document of
// OTLP-JSON instead. Spans are ordered by start, a parent
// before its children; the tree is in their Parent indexes.
type sessionJSON struct {
	sessionHeadJSON
	// TraceURL is where the tracing backend shows it; absent without WithTraceURL, and where
	// the backend got nothing.
	TraceURL string     `json:"trace_url,omitempty"`
	Spans    []spanJSON `json:"spans"`
}

type spanJSON struct {
	Name         string          `json:"name"`
	Scope        string          `json:"scope"`
	ScopeVersion string          `json:"scope_version,omitempty"`
	Kind         string          `json:"kind"`
	SpanID       string          `json:"span_id"`
	Parent       int             `json:"parent"` // index into the spans, -1 for a root
	Depth        int             `json:"depth"`
	StartNs      int64           `json:"start_ns"` // since the session's start
	DurationNs   int64           `json:"duration_ns"`
	SelfNs       int64           `json:"self_ns"`
	DelayNs      int64           `json:"delay_ns"`
	Late         bool            `json:"late"`
	Sampled      bool            `json:"sampled"`
	Status       string          `json:"status"` // "Unset", "Error" or "Ok"
	StatusText   string          `json:"status_text"`
	Attributes   []attributeJSON `json:"attributes"`
	Events       []eventJSON     `json:"events"`
	Links        []linkJSON      `json:"links"`
	Waits        []waitJSON      `json:"waits,omitempty"`
}

type eventJSON struct {
	Name       string          `json:"name"`
	TimeNs     int64           `json:"time_ns"` // since the session's start
	Attributes []attributeJSON `json:"attributes"`
}

type linkJSON struct {
	TraceID    string          `json:"trace_id"`
	SpanID     string          `json:"span_id"`
	Attributes []attributeJSON `json:"attributes"`
}

func (h *Handler) oneSession(w http.ResponseWriter, r *http.Request) {
	id, err := spans.ParseSessionID(r.PathValue("id"))
	if err != nil {
		writeError(w, http.StatusBadRequest, "session %q: must be 32 hexadecimal digits, not all zero", r.PathValue("id"))
		return
	}
	record, ok := h.store.Session(id)
	if !ok {
		record, ok = h.sessionOfTrace(trace.TraceID(id))
	}
	if !ok {
		writeError(w, http.StatusNotFound, "session %s: must be one that the store still keeps, or its trace", id)
		return
	}
	switch format := r.URL.Query().Get("format"); format {
	case "", "json":
	case "otlp":
		h.writeOTLP(w, record)
		return
	default:
		writeError(w, http.StatusBadRequest, "format %q: must be json or otlp", format)
		return
	}
	out := sessionJSON{sessionHeadJSON: headOf(record), TraceURL: h.config.traceURLOf(record), Spans: make([]spanJSON, len(record.Spans))}
	for i := range record.Spans {
		out.Spans[i] = spanOf(&record.Spans[i])
	}
	h.addWaits(&out, record)
	writeJSON(w, http.StatusOK, out)
}

// sessionOfTrace finds the newest session of a trace, so that the ID that a tracing backend shows
// leads here too.
func (h *Handler) sessionOfTrace(id trace.TraceID) (*spans.SessionRecord, bool) {
	all := h.store.Sessions(spans.Query{Limit: maxScan})
	i := slices.IndexFunc(all, func(s *spans.SessionRecord) bool { return s.TraceID == id })
	if i < 0 {
		return nil, false
	}
	return all[i], true
}

func spanOf(s *spans.SpanRecord) spanJSON {
	out := spanJSON{
		Name:         s.Name,
		Scope:        s.Scope.Name,
		ScopeVersion: s.Scope.Version,
		Kind:         s.Kind.String(),
		SpanID:       s.SpanID.String(),
		Parent:       s.Parent,
		Depth:        s.Depth,
		StartNs:      int64(s.Start),
		DurationNs:   int64(s.Duration),
		SelfNs:       int64(s.SelfTime),
		DelayNs:      int64(s.Delay),
		Late:         s.Late,
		Sampled:      s.Sampled,
		Status:       s.Status.String(),
		StatusText:   s.StatusText,
		Attributes:   attributesJSON(s.Attributes),
		Events:       make([]eventJSON, len(s.Events)),
		Links:        make([]linkJSON, len(s.Links)),
	}
	for i, e := range s.Events {
		out.Events[i] = eventJSON{Name: e.Name, TimeNs: int64(e.Time), Attributes: attributesJSON(e.Attributes)}
	}
	for i, l := range s.Links {
		out.Links[i] = linkJSON{TraceID: l.TraceID.String(), SpanID: l.SpanID.String(), Attributes: attributesJSON(l.Attributes)}
	}
	return out
}
