package causal

import (
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/replay/offwake"
	"github.com/otelprof/otelprof/internal/replay/replayprofile"
	"github.com/otelprof/otelprof/spans"
)

// SessionWaits are what the spans of one session waited for, and who ended each wait.
type SessionWaits struct {
	// Recorded is the part of the session, in [0, 1], in which a recording was on that is still
	// kept. Spans that began before a recording have no waits in it.
	Recorded float64
	Waits    []SpanWait
}

// A SpanWait is one wait of at least 20 µs.
type SpanWait struct {
	// Span is the index of the span that waited in [spans.SessionRecord.Spans].
	Span int
	// Kind and Where are as those of [profile.Wait].
	Kind, Where string
	// At is when the wait began, since the session did, and For how long it was.
	At, For time.Duration
	// By is the region of the span that ended it, zero for none, BySpan and ByTrace are its IDs,
	// and ByWhere the place at which it did.
	By      profile.Region
	BySpan  trace.SpanID
	ByTrace trace.TraceID
	ByWhere string
}

// SessionWaits returns what a session of this process waited for, in the order of its spans and of
// time. It is known of sessions within the last five recordings, of each the 5,000 longest waits;
// the usual recordings take 3 s of each minute or five, see [WithReplay].
func (c *Controller) SessionWaits(s *spans.SessionRecord) SessionWaits { return c.study.waitsOf(s) }

const (
	// lastRecordings is of how many recordings what regions waited for is summed up, and lastSpans
	// of how many what single spans did, which takes some 0.5 MB each.
	lastRecordings = 10
	lastSpans      = 5
)

// keptWaits are those of the last recordings. The zero value has none.
type keptWaits struct {
	mu      sync.Mutex
	regions [][]profile.RegionWaits
	tails   [][]offwake.Tail
	spans   []spanWaits
}

type spanWaits struct {
	begun, ended time.Time
	bySpan       map[uint64][]offwake.Wait
}

func (r *keptWaits) add(w *record.Window, waits *offwake.Waits) {
	regions := replayprofile.Waits(waits)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.regions = append(r.regions, regions)
	r.regions = slices.Delete(r.regions, 0, max(0, len(r.regions)-lastRecordings))
	r.tails = append(r.tails, waits.Tails)
	r.tails = slices.Delete(r.tails, 0, max(0, len(r.tails)-lastRecordings))
	r.spans = append(r.spans, spanWaits{begun: w.Begun, ended: w.Begun.Add(w.Length), bySpan: waits.Spans})
	r.spans = slices.Delete(r.spans, 0, max(0, len(r.spans)-lastSpans))
}

// addWaits adds what regions waited for to a profile, and why the slowest requests were slow.
func (r *keptWaits) addWaits(p *profile.Profile) {
	r.mu.Lock()
	regions, tails := slices.Clone(r.regions), slices.Clone(r.tails)
	r.mu.Unlock()
	p.Waits, p.Tails = profile.MergeWaits(regions...), replayprofile.Tails(offwake.Contrasts(tails...))
}

// overlap is the part of the time from begin to end in which a recording was on; 1 of no time.
func overlap(begin, end, begun, ended time.Time) float64 {
	if !end.After(begin) {
		return 1
	}
	if begun.Before(begin) {
		begun = begin
	}
	if ended.After(end) {
		ended = end
	}
	return float64(ended.Sub(begun)) / float64(end.Sub(begin))
}

func (r *keptWaits) waitsOf(s *spans.SessionRecord) (all SessionWaits) {
	r.mu.Lock()
	defer r.mu.Unlock()
	end := s.Start.Add(s.Duration)
	for _, recorded := range r.spans {
		if s.Start.After(recorded.ended) || end.Before(recorded.begun) {
			continue
		}
		all.Recorded += overlap(s.Start, end, recorded.begun, recorded.ended)
		for i := range s.Spans {
			span := &s.Spans[i]
			for _, w := range recorded.bySpan[binary.BigEndian.Uint64(span.SpanID[:])] {
				one := SpanWait{
					Span: i, Kind: w.Kind.String(), Where: w.Where, At: span.Start + w.At, For: w.For,
					By: profile.Region(w.Region), ByTrace: w.Trace, ByWhere: w.Place,
				}
				binary.BigEndian.PutUint64(one.BySpan[:], w.Span)
				all.Waits = append(all.Waits, one)
			}
		}
	}
	return all
}
