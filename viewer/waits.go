package viewer

import (
	"net/http"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/spans"
)

// waiting is what the viewer needs of a controller whose recordings show waits.
type waiting interface {
	SessionWaits(*spans.SessionRecord) causal.SessionWaits
}

// regionWaitsJSON answers GET /api/v1/regions/waits?name=&scope=.
type regionWaitsJSON struct {
	// Regions of the name, one for each scope; none if no recording has one.
	Regions []profile.RegionWaits `json:"regions"`
	// Tails are why the slowest requests of these are slow, where recordings have enough of them.
	Tails []tailJSON `json:"tails"`
}

type tailJSON struct {
	profile.Tail
	// Sessions are those of the slowest that the store keeps.
	Sessions []spans.SessionID `json:"sessions,omitempty"`
}

func (h *Handler) regionWaits(w http.ResponseWriter, r *http.Request) {
	if !h.withCausal(w) {
		return
	}
	out := regionWaitsJSON{Regions: []profile.RegionWaits{}, Tails: []tailJSON{}}
	name, query := h.nameAsked(r), r.URL.Query()
	about := func(region profile.Region) bool {
		return region.Name == name && (!query.Has("scope") || query.Get("scope") == region.Scope)
	}
	p := h.profile()
	for _, region := range p.Waits {
		if about(region.Region) {
			out.Regions = append(out.Regions, region)
		}
	}
	for _, t := range p.Tails {
		if about(t.Region) {
			out.Tails = append(out.Tails, tailJSON{t, h.examples(t.Examples)})
		}
	}
	writeJSON(w, http.StatusOK, out)
}

// examples are the sessions of spans, as far as the store keeps them.
func (h *Handler) examples(spanIDs []string) (found []spans.SessionID) {
	wanted := map[trace.SpanID]bool{}
	for _, text := range spanIDs {
		if id, err := trace.SpanIDFromHex(text); err == nil {
			wanted[id] = true
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	for _, s := range h.store.Sessions(spans.Query{Limit: maxScan}) {
		if len(s.Spans) > 0 && wanted[s.Spans[0].SpanID] {
			found = append(found, s.ID)
		}
	}
	return found
}

// waitJSON is one wait of a span, and who ended it.
type waitJSON struct {
	Kind    string `json:"kind"`
	Where   string `json:"where,omitempty"`
	AtNs    int64  `json:"at_ns"` // since the session's start
	ForNs   int64  `json:"for_ns"`
	By      string `json:"by,omitempty"` // the name of the span that ended it
	ByScope string `json:"by_scope,omitempty"`
	ByWhere string `json:"by_where,omitempty"`
	// BySession is the session of that span; absent where the store does not keep it.
	BySession *spans.SessionID `json:"by_session,omitempty"`
	BySpan    string           `json:"by_span,omitempty"`
	ByTrace   string           `json:"by_trace,omitempty"`
}

// waitsOf returns what a session waited for, nothing where there is no controller of this process.
func (h *Handler) waitsOf(record *spans.SessionRecord) (none causal.SessionWaits) {
	if source, ok := h.causal.(waiting); ok {
		return source.SessionWaits(record)
	}
	return none
}

// addWaits sets what the spans of a session waited for.
func (h *Handler) addWaits(to *sessionJSON, record *spans.SessionRecord) {
	all := h.waitsOf(record)
	to.Recorded = all.Recorded
	sessions := h.sessionsOf(all.Waits, record)
	for _, w := range all.Waits {
		one := waitJSON{
			Kind: w.Kind, Where: w.Where, AtNs: int64(w.At), ForNs: int64(w.For), By: w.By.Name, ByScope: w.By.Scope, ByWhere: w.ByWhere,
		}
		if w.BySpan.IsValid() {
			one.BySpan = w.BySpan.String()
		}
		if w.ByTrace.IsValid() {
			one.ByTrace = w.ByTrace.String()
		}
		if id, ok := sessions[w.BySpan]; ok {
			one.BySession = &id
		}
		span := &to.Spans[w.Span]
		span.Waits = append(span.Waits, one)
	}
}

// sessionsOf finds the sessions of the spans that ended waits of a session: those at the same time.
func (h *Handler) sessionsOf(waits []causal.SpanWait, record *spans.SessionRecord) map[trace.SpanID]spans.SessionID {
	found := map[trace.SpanID]spans.SessionID{}
	wanted := map[trace.SpanID]bool{}
	for _, w := range waits {
		if w.BySpan.IsValid() {
			wanted[w.BySpan] = true
		}
	}
	if len(wanted) == 0 {
		return found
	}
	end, scan := record.Start.Add(record.Duration), maxScanSpans
	for _, s := range h.store.Sessions(spans.Query{Limit: maxScan}) {
		if s.Start.After(end) || s.Start.Add(s.Duration).Before(record.Start) {
			continue
		}
		if scan -= len(s.Spans); scan < 0 || len(found) == len(wanted) {
			break
		}
		for i := range s.Spans {
			if id := s.Spans[i].SpanID; wanted[id] {
				found[id] = s.ID
			}
		}
	}
	return found
}
