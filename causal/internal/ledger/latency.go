package ledger

import (
	"sync/atomic"

	"go.opentelemetry.io/otel"

	"github.com/otelprof/otelprof/otelhdr"
)

// latencyError is the relative error of virtual durations.
const latencyError = 0.005

// place is where a setting keeps the distribution of a progress point's virtual durations, nil
// until there are any.
type place = atomic.Pointer[otelhdr.Concurrent]

// RecordAt counts a span that ends at a progress point of the setting. It does nothing for a
// Duration of another setting, or of none.
func (d Duration) RecordAt(s *Setting, point int) {
	if d.setting != nil && d.setting == s {
		s.Record(point, d.Real, d.Saved)
	}
}

// Record counts a span that ends at a progress point, and what its goroutine has saved meanwhile,
// both in ns.
func (s *Setting) Record(point int, duration, saved int64) {
	place := &s.latencies[point]
	h := place.Load()
	if h == nil {
		// Most points count visits only, so memory is taken when the first span ends.
		h = newHistogram()
		if !place.CompareAndSwap(nil, h) {
			h = place.Load()
		}
	}
	h.Record(uint64(max(0, duration-saved)))
}

// Latency returns the distribution of virtual durations at a progress point, in ns, nil if no span
// has ended there.
func (s *Setting) Latency(point int) *otelhdr.Snapshot {
	h := s.latencies[point].Load()
	if h == nil {
		return nil
	}
	return h.Snapshot(nil)
}

func newHistogram() *otelhdr.Concurrent {
	h, err := otelhdr.NewConcurrent(otelhdr.WithRelativeError(latencyError))
	if err != nil {
		otel.Handle(err) // the error is a constant in range
		h, _ = otelhdr.NewConcurrent()
	}
	return h
}
