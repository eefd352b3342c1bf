package saved

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/spans"
)

// record makes the session of a trace: what the measured process would have made of it.
func (t *readTrace) record() *spans.SessionRecord {
	t.deduplicate()
	t.arrange()
	rec := &spans.SessionRecord{
		ID:      spans.SessionID(t.id),
		Origin:  spans.SessionID(t.id),
		TraceID: t.id,
		Dropped: t.dropped,
		Spans:   make([]spans.SpanRecord, len(t.spans)),
	}
	root, begin, end := t.bounds()
	service := t.spans[root].service
	rec.Name, rec.Start, rec.Duration = t.spans[root].Name, time.Unix(0, int64(begin)), end-begin
	if service != "" {
		rec.Attributes = []attribute.KeyValue{semconv.ServiceName(service)}
	}
	open := map[trace.SpanID]bool{}
	for i := range t.spans {
		s := &t.spans[i]
		span := s.SpanRecord
		if span.Parent >= 0 {
			span.Depth = rec.Spans[span.Parent].Depth + 1
		} else if s.here && s.parentID.IsValid() {
			open[s.parentID] = true
		}
		span.Late = s.end() > end
		span.Start -= begin
		for e := range span.Events {
			span.Events[e].Time -= begin
		}
		if span.Status == codes.Error {
			rec.Errors++
		}
		if s.service != service {
			span.Attributes = append(span.Attributes, semconv.ServiceName(s.service))
		}
		rec.Spans[i] = span
	}
	rec.Open = len(open)
	takeSelfTimes(rec.Spans)
	return rec
}

// deduplicate keeps one of the spans with the same ID: an exporter that has got no answer sends
// a batch again, and one file may be a copy of another.
func (t *readTrace) deduplicate() {
	seen := make(map[trace.SpanID]bool, len(t.spans))
	t.spans = slices.DeleteFunc(t.spans, func(s readSpan) bool {
		again := seen[s.SpanID]
		seen[s.SpanID] = true
		return again
	})
}

// arrange finds the parents, and sorts as a live session is: by start, or by the start of the
// ancestor which started last, so that a parent stands before its children.
func (t *readTrace) arrange() {
	byID := make(map[trace.SpanID]int, len(t.spans))
	for i := range t.spans {
		byID[t.spans[i].SpanID] = i
	}
	parents := make([]int, len(t.spans))
	for i := range t.spans {
		parents[i] = -1
		if p, ok := byID[t.spans[i].parentID]; ok {
			parents[i] = p
		}
	}
	type place struct {
		order time.Duration
		depth int
		index int
		done  bool
	}
	places := make([]place, len(t.spans))
	var path []int
	for i := range places {
		// Up to an ancestor that is placed already, and down again.
		at := i
		for path = path[:0]; at >= 0 && !places[at].done; at = parents[at] {
			if places[at].index < 0 { // a circle, which only a damaged file has, is cut here
				parents[path[len(path)-1]] = -1
				break
			}
			places[at].index = -1
			path = append(path, at)
		}
		for _, k := range slices.Backward(path) {
			p := place{order: t.spans[k].Start, index: k, done: true}
			if above := parents[k]; above >= 0 {
				p.order, p.depth = max(p.order, places[above].order), places[above].depth+1
			}
			places[k] = p
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.depth, b.depth),
			cmp.Compare(t.spans[a.index].Start, t.spans[b.index].Start), t.spans[a.index].compareID(&t.spans[b.index]))
	})
	moved := make([]int, len(places))
	sorted := make([]readSpan, len(places))
	for i, p := range places {
		moved[p.index] = i
		sorted[i] = t.spans[p.index]
	}
	for i, p := range places {
		sorted[i].Parent = -1
		if above := parents[p.index]; above >= 0 {
			sorted[i].Parent = moved[above]
		}
	}
	t.spans = sorted
}

func (s *readSpan) compareID(o *readSpan) int { return slices.Compare(s.SpanID[:], o.SpanID[:]) }

// bounds returns the span that the session is named after, and when it began and ended: with
// its root, as far as the files have that, and with the first and the last span if not.
func (t *readTrace) bounds() (root int, begin, end time.Duration) {
	tops, roots := 0, 0
	for i := len(t.spans) - 1; i >= 0; i-- {
		switch s := &t.spans[i]; {
		case s.Parent >= 0:
			continue
		case !s.parentID.IsValid():
			root = i
			roots++
		case roots == 0:
			root = i
		}
		tops++
	}
	if roots > 0 || tops == 1 {
		return root, t.spans[root].Start, t.spans[root].end()
	}
	begin, end = t.spans[root].Start, t.spans[root].end()
	for i := range t.spans {
		begin, end = min(begin, t.spans[i].Start), max(end, t.spans[i].end())
	}
	return root, begin, end
}

// takeSelfTimes sets the self time of every span: its duration without the time in which a child
// was open, and without what experiments inserted in the span or behind a child.
func takeSelfTimes(all []spans.SpanRecord) {
	type cover struct {
		sum, until time.Duration // of the children before
		delay      time.Duration // inserted in the children
	}
	covers := make([]cover, len(all))
	for i := range all {
		covers[i].until = all[i].Start
	}
	// Siblings are in the order of their starts.
	for i := range all {
		s := &all[i]
		if s.Parent < 0 {
			continue
		}
		p, c := &all[s.Parent], &covers[s.Parent]
		from := max(s.Start, c.until)
		to := min(s.Start+s.Duration, p.Start+p.Duration)
		if to > from {
			c.sum += to - from
			c.until = to
		}
		c.delay += s.Delay
	}
	for i := range all {
		s, c := &all[i], &covers[i]
		s.SelfTime = max(0, s.Duration-c.sum-max(0, s.Delay-c.delay))
	}
}
