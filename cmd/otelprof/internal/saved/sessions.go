package saved

import (
	"container/heap"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/spans"
)

// maxTraceSpans bounds one session.
const maxTraceSpans = 100_000

// A readTrace is a session while its spans come in, in any order.
type readTrace struct {
	id      trace.TraceID
	spans   []readSpan
	dropped int
	last    time.Duration // the latest end
	size    int           // bytes
	index   int           // in the heap
}

// sessions are the traces that ended last, as many as there is room for.
type sessions struct {
	maxSessions, maxBytes int
	regions               *regions // takes the durations of sessions that have to go

	byID  map[trace.TraceID]*readTrace
	heap  oldestTraces
	bytes int
	// gone is the end of the latest trace that had to go. Spans that ended before it are
	// taken as parts of such traces.
	gone    time.Duration
	hasGone bool
	dropped spans.Dropped
}

func (s *sessions) add(id trace.TraceID, span readSpan) {
	t := s.byID[id]
	if t == nil {
		if s.hasGone && span.end() <= s.gone {
			s.regions.span(&span.SpanRecord, span.service, true)
			if !span.parentID.IsValid() {
				s.dropped.StoreError++
			}
			return
		}
		t = &readTrace{id: id, last: span.end()}
		s.byID[id] = t
		heap.Push(&s.heap, t)
	}
	if len(t.spans) >= maxTraceSpans {
		t.dropped++
		s.dropped.SessionFull++
		s.regions.span(&span.SpanRecord, span.service, true)
		return
	}
	size := span.sizeBytes()
	t.spans = append(t.spans, span)
	t.size += size
	s.bytes += size
	if span.end() > t.last {
		t.last = span.end()
		heap.Fix(&s.heap, t.index)
	}
	for len(s.heap) > 1 && (len(s.heap) > s.maxSessions || s.bytes > s.maxBytes) {
		s.drop()
	}
}

// drop lets the oldest trace go. Its durations stay.
func (s *sessions) drop() {
	t := heap.Pop(&s.heap).(*readTrace)
	delete(s.byID, t.id)
	s.bytes -= t.size
	s.gone, s.hasGone = max(s.gone, t.last), true
	s.dropped.StoreError++
	s.finish(t)
}

// finish makes the record of a trace and counts its spans in their regions.
func (s *sessions) finish(t *readTrace) *spans.SessionRecord {
	rec := t.record()
	for i := range rec.Spans {
		s.regions.span(&rec.Spans[i], t.spans[i].service, false)
	}
	t.spans = nil
	return rec
}

// records are all that is left. The sessions are empty then.
func (s *sessions) records() []*spans.SessionRecord {
	all := make([]*spans.SessionRecord, 0, len(s.heap))
	for i, t := range s.heap {
		all = append(all, s.finish(t))
		s.heap[i] = nil
	}
	s.byID, s.heap, s.bytes = nil, nil, 0
	return all
}

// oldestTraces is a heap with the trace on top that ended first.
type oldestTraces []*readTrace

func (h oldestTraces) Len() int           { return len(h) }
func (h oldestTraces) Less(i, j int) bool { return h[i].last < h[j].last }
func (h oldestTraces) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *oldestTraces) Push(x any) {
	t := x.(*readTrace)
	t.index = len(*h)
	*h = append(*h, t)
}

func (h *oldestTraces) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return t
}
