package spans

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/otelhdr"
)

// RegionStats is what has been measured of one region, one (scope, span name), since the
// provider was wrapped.
type RegionStats struct {
	Scope instrumentation.Scope
	Name  string
	// Kind is the kind of the first span seen.
	Kind trace.SpanKind
	// Count is the number of ended spans, sampled or not.
	Count uint64
	// Errors is how many of them ended with status Error.
	Errors uint64
	// Total is the sum of their durations, Self the sum of their self times. Delays that
	// causal experiments inserted are in neither.
	Total, Self time.Duration
	// Durations is the distribution of their durations in nanoseconds, with a relative
	// error of at most 0.1 %.
	Durations *otelhdr.Snapshot
}

// durationError and selfError are the relative errors of the two histograms of a region.
// Of self times only the exact sum is used.
const (
	durationError = 0.001
	selfError     = 0.1
)

// regionStats are the live counters of one region. Both histograms spread their writers
// over stripes, so that a region used by many goroutines has no shared counter.
type regionStats struct {
	scope     instrumentation.Scope
	name      string
	kind      trace.SpanKind
	errors    atomic.Uint64
	durations *otelhdr.Concurrent
	self      *otelhdr.Concurrent
	overflow  *atomic.Uint64 // counts the spans of the region "other"
	slots     slots
}

func newRegionStats(scope instrumentation.Scope, name string, kind trace.SpanKind) *regionStats {
	return &regionStats{
		scope: scope, name: name, kind: kind,
		durations: newHistogram(durationError),
		self:      newHistogram(selfError),
	}
}

func newHistogram(relativeError float64) *otelhdr.Concurrent {
	h, err := otelhdr.NewConcurrent(otelhdr.WithRelativeError(relativeError))
	if err != nil {
		otel.Handle(err) // the two errors are constants in range
		h, _ = otelhdr.NewConcurrent()
	}
	return h
}

func (s *regionStats) record(duration, self int64, failed bool) {
	s.durations.Record(uint64(duration))
	s.self.Record(uint64(self))
	if failed {
		s.errors.Add(1)
	}
	if s.overflow != nil {
		s.overflow.Add(1)
	}
}

func (s *regionStats) snapshot() RegionStats {
	durations := s.durations.Snapshot(nil)
	return RegionStats{
		Scope:     s.scope,
		Name:      s.name,
		Kind:      s.kind,
		Count:     durations.Count(),
		Errors:    s.errors.Load(),
		Total:     time.Duration(durations.Sum()),
		Self:      time.Duration(s.self.Snapshot(nil).Sum()),
		Durations: durations,
	}
}

// Regions returns what has been measured of each region with at least one ended span, the one
// with the most self time first. It copies all histograms: some microseconds for each region.
func (p *TracerProvider) Regions() []RegionStats {
	var all []RegionStats
	for _, s := range p.live() {
		if r := s.snapshot(); r.Count > 0 {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b RegionStats) int { return cmp.Compare(b.Self, a.Self) })
	return all
}

func (p *TracerProvider) live() []*regionStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.regions)
}
