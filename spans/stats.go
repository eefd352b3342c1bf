package spans

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/registry"
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

// durationError and coveredError are the relative errors of the two histograms of a region.
// Of what is covered only the exact sum is used.
const (
	durationError = 0.001
	coveredError  = 0.1
)

// regionStats are the live counters of one region. Both histograms spread their writers
// over stripes, so that a region used by many goroutines has no shared counter.
//
// A span without children or waits is its own self time, so what is kept is the rest, of the spans
// that have one. It is recorded before the duration and read after it: in any order that
// sequentially consistent atomics allow, a reader that sees a duration sees what is to be
// subtracted from it. What it computes is never more than the self time of all spans that have
// ended, and equal to that when none is just ending.
type regionStats struct {
	scope     instrumentation.Scope
	name      string
	kind      trace.SpanKind
	set       attribute.Set // of its metrics
	errors    atomic.Uint64
	durations *otelhdr.Concurrent
	covered   *otelhdr.Concurrent // durations less self times, where they differ
	overflow  *atomic.Uint64      // counts the spans of the region "other"
	slots     slots
	slow      atomic.Pointer[atomic.Int64] // of the ring, for sessions with a root of this region; see ringGate

	mu   sync.Mutex
	self time.Duration // the most that a reader has computed, so that it only grows; guarded by mu
}

func newRegionStats(scope instrumentation.Scope, name string, kind trace.SpanKind) *regionStats {
	return &regionStats{
		scope: scope, name: name, kind: kind,
		set:       naming.RegionAttributes(scope, name),
		durations: newHistogram(durationError),
		covered:   newHistogram(coveredError),
	}
}

func newHistogram(relativeError float64) *otelhdr.Concurrent {
	h, _ := otelhdr.NewConcurrent(otelhdr.WithRelativeError(relativeError)) // the two are constants in range
	return h
}

func (s *regionStats) record(duration, self int64, failed bool) {
	if duration != self {
		s.covered.Record(uint64(duration - self))
	}
	s.durations.Record(uint64(duration))
	if failed {
		s.errors.Add(1)
	}
	if s.overflow != nil {
		s.overflow.Add(1)
	}
}

// read returns the durations, in dst if that is not nil, and the sum of the self times. Neither
// ever decreases.
func (s *regionStats) read(dst *otelhdr.Snapshot) (durations *otelhdr.Snapshot, self time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	durations = s.durations.Snapshot(dst)
	hi, lo := durations.Sum128()
	coveredHi, coveredLo := s.covered.Sum128()
	lo, borrow := bits.Sub64(lo, coveredLo, 0)
	hi, borrow = bits.Sub64(hi, coveredHi, borrow)
	if borrow == 0 { // else a span that is just ending is in one and not in the other
		s.self = max(s.self, nanoseconds(hi, lo))
	}
	return durations, s.self
}

// nanoseconds returns hi<<64 + lo as a duration, at most the longest, 292 years.
func nanoseconds(hi, lo uint64) time.Duration {
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(lo)
}

func (s *regionStats) snapshot() RegionStats {
	durations, self := s.read(nil)
	return RegionStats{
		Scope:     s.scope,
		Name:      s.name,
		Kind:      s.kind,
		Count:     durations.Count(),
		Errors:    s.errors.Load(),
		Total:     nanoseconds(durations.Sum128()),
		Self:      self,
		Durations: durations,
	}
}

// live are all regions, in the order of their first span. They must not be changed.
func (p *TracerProvider) live() []*regionStats { return p.regions.All() }

// regionName is what the regions of a provider are known by.
type regionName struct {
	of   *tracer
	name string
}

func (n regionName) hash() uint64 { return registry.Mix(registry.String(n.name), n.of.seed) }

// newOther returns the region that all names beyond the limit share.
func (p *TracerProvider) newOther(int) *regionStats {
	other := newRegionStats(instrumentation.Scope{}, "other", trace.SpanKindInternal)
	other.overflow = &p.drops.regionsFull
	return other
}

// Dropped counts what was left out, by cause, since the provider was wrapped.
type Dropped struct {
	// QueueFull: sessions, the worker's queue was full or the provider shut down.
	QueueFull uint64 `json:"queue_full"`
	// Unwanted: sessions that the store had no use for, see [Chooser].
	Unwanted uint64 `json:"unwanted"`
	// StoreError: sessions, the store refused them.
	StoreError uint64 `json:"store_error"`
	// Discarded: sessions, by [Session.Discard].
	Discarded uint64 `json:"discarded"`
	// Revisions: later records of sessions that already were in the store. The spans that
	// ended late are missing there, for one of the reasons above, or began more than a minute late.
	Revisions uint64 `json:"revisions"`
	// SessionFull: spans missing in their session's record, which had too many, or all sessions
	// that are open have together. They are counted in their region.
	SessionFull uint64 `json:"session_full"`
	// RegionsFull: spans counted under the region "other", there were too many names.
	RegionsFull uint64 `json:"regions_full"`
	// HookPanics: calls of hooks, and of the function of [WithSessionFilter], that panicked.
	HookPanics uint64 `json:"hook_panics"`
}

type drops struct {
	queueFull, storeError, discarded, revisions, sessionFull, regionsFull, hookPanics atomic.Uint64
	unwanted                                                                          spread // of most sessions of a busy program
}

// cacheLines keeps apart what different processors write; two lines, since processors fetch them in
// pairs.
type cacheLines [128]byte

// spread is a counter that goroutines on different processors add to, mostly, in different places.
type spread struct {
	cells [8]struct {
		n atomic.Uint64
		_ [len(cacheLines{}) - 8]byte
	}
}

// add adds one. The place goes by where the goroutine's stack is, which is a hint and nothing more.
func (s *spread) add() {
	var local byte
	const mixed = 0x9e3779b97f4a7c15
	page := uint64(uintptr(unsafe.Pointer(&local))) >> 11
	s.cells[page*mixed>>61].n.Add(1)
}

func (s *spread) load() (n uint64) {
	for i := range s.cells {
		n += s.cells[i].n.Load()
	}
	return n
}
