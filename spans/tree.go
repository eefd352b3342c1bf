package spans

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// record makes the session's record of all spans taken so far.
func (w *worker) record(s *Session) *SessionRecord {
	w.arrange(s.kept.taken)
	start, end, taken := s.start(), s.end.Load(), s.kept.taken
	rec := &SessionRecord{
		ID:       s.id,
		Revision: s.kept.revision,
		Origin:   s.Origin(),
		Name:     s.rootName(),
		Start:    s.startTime(),
		// A session ends with its root; its late children do not make it longer.
		Duration: time.Duration(max(0, end-start)),
		Spans:    make([]SpanRecord, len(taken)),
	}
	if a := s.attributes.Load(); a != nil {
		a.mu.Lock()
		rec.Attributes = slices.Clone(a.kv)
		a.mu.Unlock()
	}
	for i, r := range taken {
		r.index = i
		span := &rec.Spans[i]
		r.record(span, start, end)
		span.Parent = -1
		// The nearest ancestor that stands in the record before it. One that has not
		// ended has index zero, as the first one has.
		for p := r.parent; p != nil; p = p.parent {
			if p.index < i && taken[p.index] == p {
				span.Parent, span.Depth = p.index, rec.Spans[p.index].Depth+1
				break
			}
		}
	}
	rec.Errors = int(s.errors.Load())
	if len(taken) != 0 {
		rec.TraceID = taken[0].SpanContext().TraceID()
	}
	rec.Dropped = int(max(0, s.begun(s.started.Load())-int64(s.of().maxSpans)) + int64(s.crowded.Load()))
	rec.Open = s.open()
	rec.sizeBytes = rec.size()
	s.kept.revision++
	return rec
}

// startTime is when the session began: exactly as in the root's own span, if that is known.
func (s *Session) startTime() time.Time {
	if s.root != nil {
		if rec, ok := s.root.inner().(sdktrace.ReadWriteSpan); ok {
			return s.root.tracer.sdk.Start(rec).Local()
		}
	}
	return wallTime(s.start())
}

// open is the number of spans that have begun and are still to come into the session's record. Only
// the worker calls it.
func (s *Session) open() int {
	admitted := min(s.begun(s.started.Load()), int64(s.of().maxSpans)) - int64(s.crowded.Load())
	return int(max(0, admitted-int64(len(s.kept.taken))))
}

// place is where a span stands among those of its session.
type place struct {
	order int64
	depth int // in the tree of spans
	span  *Span
}

// arrange sorts what has been taken by start, or by the start of the ancestor which started
// last, as timestamps given by callers may have it: a parent stands before its children.
func (w *worker) arrange(taken []*Span) {
	places := w.places[:0]
	for _, r := range taken {
		p := place{order: r.start, span: r}
		for a := r.parent; a != nil; a = a.parent {
			p.order = max(p.order, a.start)
			p.depth++
		}
		places = append(places, p)
	}
	slices.SortFunc(places, func(a, b place) int {
		if a.order != b.order {
			return cmp.Compare(a.order, b.order)
		}
		return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.span.start, b.span.start))
	})
	for i, p := range places {
		taken[i] = p.span
	}
	clear(places) // they are not to keep the spans
	if w.places = places; cap(places) > mostPlaces {
		w.places = nil
	}
}

// mostPlaces is how many places are kept for the next session.
const mostPlaces = 4096

// record copies to span what is known of it here and in the SDK's span.
func (r *Span) record(span *SpanRecord, sessionStart, sessionEnd int64) {
	inner := r.inner()
	context := inner.SpanContext()
	span.Name = r.Name()
	span.Scope = r.tracer.scope
	span.SpanID = context.SpanID()
	span.Start = time.Duration(r.start - sessionStart)
	span.Duration = r.Duration()
	span.SelfTime = r.SelfTime()
	span.Delay = r.Delay()
	span.Late = r.end.Load() > sessionEnd
	rec, ok := inner.(sdktrace.ReadWriteSpan)
	if !ok {
		span.Kind = r.stats.kind
		if r.Failed() {
			span.Status = codes.Error
		}
		return
	}
	sdk := r.tracer.sdk
	span.Name = sdk.Name(rec)
	span.Kind = sdk.Kind(rec)
	status := sdk.Status(rec)
	span.Sampled = context.IsSampled()
	span.Status, span.StatusText = status.Code, status.Description
	span.Attributes = rec.Attributes()
	if sdk.HasEvents(rec) {
		for _, e := range rec.Events() {
			span.Events = append(span.Events, EventRecord{
				Name:       e.Name,
				Time:       time.Duration(sinceEpoch(e.Time) - sessionStart),
				Attributes: e.Attributes,
			})
		}
	}
	if sdk.HasLinks(rec) {
		for _, l := range rec.Links() {
			span.Links = append(span.Links, LinkRecord{
				TraceID:    l.SpanContext.TraceID(),
				SpanID:     l.SpanContext.SpanID(),
				Attributes: l.Attributes,
			})
		}
	}
}
