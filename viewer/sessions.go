package viewer

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/otelprof/otelprof/spans"
)

const (
	defaultLimit = 100
	maxLimit     = 1000
	// maxScan is how many sessions are looked at for a name, and maxScanSpans how many of
	// their spans, which takes some 10 ms.
	maxScan      = 10_000
	maxScanSpans = 500_000
)

// sessionsJSON answers GET /api/v1/sessions.
type sessionsJSON struct {
	Sessions []sessionRowJSON `json:"sessions"`
	// More reports that further sessions match, or may: not all were looked at.
	More    bool          `json:"more"`
	Dropped spans.Dropped `json:"dropped"`
}

// sessionHeadJSON is what the list and the tree both show of a session.
type sessionHeadJSON struct {
	ID         spans.SessionID `json:"id"`
	Origin     spans.SessionID `json:"origin"`
	Name       string          `json:"name"`
	TraceID    string          `json:"trace_id"`
	Start      time.Time       `json:"start"`
	DurationNs int64           `json:"duration_ns"`
	Errors     int             `json:"errors"`
	Open       int             `json:"open"`
	Dropped    int             `json:"dropped"`
	Attributes []attributeJSON `json:"attributes"`
	// Recorded is the part of the session of which it is known what it waited for, in [0, 1].
	Recorded float64 `json:"recorded"`
}

func headOf(s *spans.SessionRecord) sessionHeadJSON {
	return sessionHeadJSON{
		ID:         s.ID,
		Origin:     s.Origin,
		Name:       s.Name,
		TraceID:    s.TraceID.String(),
		Start:      s.Start.UTC(),
		DurationNs: int64(s.Duration),
		Errors:     s.Errors,
		Open:       s.Open,
		Dropped:    s.Dropped,
		Attributes: attributesJSON(s.Attributes),
	}
}

// sessionRowJSON is one session of the list.
type sessionRowJSON struct {
	sessionHeadJSON
	SpanCount int `json:"span_count"`
	// Hot is the span name in which most of the session's self time was spent; absent
	// for a session without spans.
	Hot *hotJSON `json:"hot,omitempty"`
}

type hotJSON struct {
	Name   string `json:"name"`
	Count  int    `json:"count"`
	SelfNs int64  `json:"self_ns"`
	// Share of the self time of all spans of the session, in [0, 1].
	Share float64 `json:"share"`
}

func (h *Handler) listSessions(w http.ResponseWriter, r *http.Request) {
	q, whole, err := sessionsQuery(r.URL.Query())
	if err != nil {
		writeError(w, http.StatusBadRequest, "%s", err)
		return
	}
	q.Name = h.nameAsked(r)
	found, more := h.findSessions(q, whole)
	out := sessionsJSON{Sessions: make([]sessionRowJSON, len(found)), More: more, Dropped: h.dropped()}
	for i, s := range found {
		out.Sessions[i] = h.rowOf(s)
	}
	writeJSON(w, http.StatusOK, out)
}

func (h *Handler) rowOf(s *spans.SessionRecord) sessionRowJSON {
	row := sessionRowJSON{sessionHeadJSON: headOf(s), SpanCount: len(s.Spans), Hot: hotOf(s)}
	row.Recorded = h.waitsOf(s).Recorded
	return row
}

// findSessions asks the store for one session more than wanted. A name is a part of the
// session's or all of a span's in it, so it is looked for here and not by the store, which
// knows whole names of sessions only. With whole it is all of either's name.
func (h *Handler) findSessions(q spans.Query, whole bool) (found []*spans.SessionRecord, more bool) {
	limit, span, name, scan := q.Limit, q.Name, strings.ToLower(q.Name), maxScanSpans
	if q.Limit++; name != "" {
		q.Name, q.Limit = "", maxScan
	}
	all := h.store.Sessions(q)
	more = name != "" && len(all) == maxScan
	for _, s := range all {
		if s.Name != span && (whole && name != "" || !strings.Contains(strings.ToLower(s.Name), name)) {
			if scan -= len(s.Spans); scan < 0 {
				more = true
				continue
			}
			if !hasSpan(s, span) {
				continue
			}
		}
		if len(found) == limit {
			return found, true
		}
		found = append(found, s)
	}
	return found, more
}

func hasSpan(s *spans.SessionRecord, name string) bool {
	for i := range s.Spans {
		if s.Spans[i].Name == name {
			return true
		}
	}
	return false
}

func hotOf(s *spans.SessionRecord) *hotJSON {
	byName := make(map[string]hotJSON, 16)
	var whole int64
	var best hotJSON
	for i := range s.Spans {
		span := &s.Spans[i]
		hot := byName[span.Name]
		hot.Name = span.Name
		hot.Count++
		hot.SelfNs += int64(span.SelfTime)
		byName[span.Name] = hot
		whole += int64(span.SelfTime)
	}
	if len(byName) == 0 {
		return nil
	}
	for _, hot := range byName {
		if best.Count == 0 || cmp.Or(cmp.Compare(hot.SelfNs, best.SelfNs), strings.Compare(best.Name, hot.Name)) > 0 {
			best = hot
		}
	}
	if whole > 0 {
		best.Share = float64(best.SelfNs) / float64(whole)
	}
	return &best
}

// sessionsQuery reads the parameters of the list. Unknown ones are ignored.
func sessionsQuery(v url.Values) (q spans.Query, whole bool, err error) {
	q = spans.Query{Name: v.Get("name"), Limit: defaultLimit}
	if s := v.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > maxLimit {
			return q, false, fmt.Errorf("limit %q: must be an integer in [1, %d]", s, maxLimit)
		}
		q.Limit = n
	}
	if s := v.Get("min_ms"); s != "" {
		ms, err := strconv.ParseFloat(s, 64)
		const most = float64(math.MaxInt64 / int64(time.Millisecond))
		if err != nil || !(ms >= 0 && ms < most) {
			return q, false, fmt.Errorf("min_ms %q: must be a number of milliseconds, not negative", s)
		}
		q.MinDuration = time.Duration(ms * float64(time.Millisecond))
	}
	if q.ErrorsOnly, err = isSet(v, "errors"); err != nil {
		return q, false, err
	}
	if whole, err = isSet(v, "whole"); err != nil {
		return q, false, err
	}
	switch s := v.Get("sort"); s {
	case "", "newest":
	case "worst":
		q.Worst = true
	default:
		return q, false, fmt.Errorf("sort %q: must be newest or worst", s)
	}
	return q, whole, nil
}
