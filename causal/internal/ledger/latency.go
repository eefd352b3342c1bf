package ledger

import (
	"sync/atomic"

	"go.opentelemetry.io/otel"

	"github.com/otelprof/otelprof/otelhdr"
)

// latencyError is the relative error of virtual durations.
const latencyError = 0.005

// latencies are the distributions of the durations of a progress point's spans: what they were, and
// what they would have been, by hypothesis.
type latencies struct {
	actual  *otelhdr.Concurrent
	virtual []*otelhdr.Concurrent
}

// RecordAt counts a span that ends at a progress point of the setting. It does nothing for a
// Virtual of another setting, or of none.
func (v *Virtual) RecordAt(s *Setting, point int) {
	if v.setting == nil || v.setting != s {
		return
	}
	place := &s.latencies[point]
	h := place.Load()
	if h == nil {
		// Most points count visits only, so memory is taken when the first span ends.
		h = newLatencies(s.n)
		if !place.CompareAndSwap(nil, h) {
			h = place.Load()
		}
	}
	h.actual.Record(uint64(max(0, v.Duration)))
	for k := range h.virtual {
		h.virtual[k].Record(uint64(max(0, v.Duration-v.Saved[k])))
	}
}

// Latency returns the distributions at a progress point, in ns: of the real durations and,
// by hypothesis, of the virtual ones. They are nil if no span has ended there.
func (s *Setting) Latency(point int) (actual *otelhdr.Snapshot, virtual []*otelhdr.Snapshot) {
	h := s.latencies[point].Load()
	if h == nil {
		return nil, nil
	}
	virtual = make([]*otelhdr.Snapshot, len(h.virtual))
	for k := range virtual {
		virtual[k] = h.virtual[k].Snapshot(nil)
	}
	return h.actual.Snapshot(nil), virtual
}

func newLatencies(n int) *latencies {
	h := &latencies{actual: newHistogram(), virtual: make([]*otelhdr.Concurrent, n)}
	for k := range h.virtual {
		h.virtual[k] = newHistogram()
	}
	return h
}

func newHistogram() *otelhdr.Concurrent {
	h, err := otelhdr.NewConcurrent(otelhdr.WithRelativeError(latencyError))
	if err != nil {
		otel.Handle(err) // the error is a constant in range
		h, _ = otelhdr.NewConcurrent()
	}
	return h
}

// place is where a setting keeps them, nil until there are any.
type place = atomic.Pointer[latencies]
