package pmuattrs

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/spans"
)

const (
	// maxRegions is how many names have histograms of their own, as in package spans.
	maxRegions = 2000
	// countError is the relative error of the histograms: with 32-bit counters, some five
	// kilobytes for each event of a region.
	countError = 0.01
)

// RegionCounters is what was counted in the spans of one region, one (scope, span name), that
// were in the sample. The name is the last one of a span.
type RegionCounters struct {
	Scope instrumentation.Scope
	Name  string
	// Source tells where the counts come from.
	Source Source
	// Spans is how many were counted, Invalid how many could not be.
	Spans, Invalid uint64
	// Counts has one element for each event.
	Counts []EventCounts
}

// EventCounts is the distribution of one event's counts in a span, with a relative error of at
// most 1 %. The sum and the mean are exact.
type EventCounts struct {
	Event Event
	*otelhdr.Snapshot
}

// IPC is the number of instructions per cycle in all the spans together, if both were counted.
func (c RegionCounters) IPC() (float64, bool) {
	sum := func(e Event) float64 {
		if i := slices.IndexFunc(c.Counts, func(x EventCounts) bool { return x.Event == e }); i >= 0 {
			return c.Counts[i].Sum()
		}
		return 0
	}
	cycles, instructions := sum(Cycles), sum(Instructions)
	if cycles == 0 {
		cycles, instructions = sum(Cycles.WithKernel()), sum(Instructions.WithKernel())
	}
	if cycles == 0 || instructions == 0 {
		return 0, false
	}
	return instructions / cycles, true
}

// regions are the histograms of a hook.
type regions struct {
	source Source
	events []Event

	mu    sync.Mutex
	byKey map[regionKey]*region
	all   []*region
}

type regionKey struct {
	scope instrumentation.Scope
	name  string
}

// A region has the histograms of one scope and name.
type region struct {
	key     regionKey
	invalid atomic.Uint64
	counts  []*otelhdr.Concurrent // one for each event
}

// of returns the region of a span, which n remembers from the last one.
func (s *regions) of(r *spans.Region, n *nameState) *region {
	key := regionKey{r.Scope(), r.Name()}
	if last := n.region.Load(); last != nil && last.key == key {
		return last
	}
	found := s.find(key)
	n.region.Store(found)
	return found
}

// find adds a region, or returns the region "other" if there are too many.
func (s *regions) find(key regionKey) *region {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.byKey[key]; found != nil {
		return found
	}
	if len(s.all) >= maxRegions {
		key = regionKey{name: "other"}
		if found := s.byKey[key]; found != nil {
			return found
		}
	}
	added := &region{key: key}
	for range s.events {
		added.counts = append(added.counts, newHistogram())
	}
	if s.byKey == nil {
		s.byKey = map[regionKey]*region{}
	}
	s.byKey[key] = added
	s.all = append(s.all, added)
	return added
}

func newHistogram() *otelhdr.Concurrent {
	h, err := otelhdr.NewConcurrent(otelhdr.WithRelativeError(countError), otelhdr.WithCounter32())
	if err != nil {
		otel.Handle(err) // the error is a constant in range
		h, _ = otelhdr.NewConcurrent()
	}
	return h
}

func (r *region) record(d *Deltas, o outcome) {
	if o != counted {
		r.invalid.Add(1)
		return
	}
	for i, h := range r.counts {
		h.Record(uint64(d.counts[i])) // never negative
	}
}

func (s *regions) live() []*region {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// Regions returns what was counted in each region of which a span was in the sample, by scope
// and name. It copies all histograms: some microseconds for each region.
func (h *Hook) Regions() []RegionCounters {
	live := h.regions.live()
	all := make([]RegionCounters, len(live))
	for i, r := range live {
		c := RegionCounters{
			Scope: r.key.scope, Name: r.key.name, Source: h.regions.source,
			Invalid: r.invalid.Load(), Counts: make([]EventCounts, len(r.counts)),
		}
		for j, e := range h.regions.events {
			c.Counts[j] = EventCounts{e, r.counts[j].Snapshot(nil)}
		}
		if len(c.Counts) != 0 {
			c.Spans = c.Counts[0].Count()
		}
		all[i] = c
	}
	slices.SortStableFunc(all, func(a, b RegionCounters) int {
		return cmp.Or(cmp.Compare(a.Scope.Name, b.Scope.Name), cmp.Compare(a.Scope.Version, b.Scope.Version), cmp.Compare(a.Name, b.Name))
	})
	return all
}
