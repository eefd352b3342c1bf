package pmuattrs

import (
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/registry"
	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/spans"
)

// countError is the relative error of the histograms: with 32-bit counters, some five
// kilobytes for each event of a region.
const countError = 0.01

// RegionCounters is what was counted in the spans of one region, one (scope, span name), that
// were in the sample. The name is the last one of a span.
type RegionCounters struct {
	Scope instrumentation.Scope
	Name  string
	// Source is where the counts come from.
	Source Source
	// Spans is how many were counted, Invalid how many were begun to be and could not.
	Spans, Invalid uint64
	// Counts has one element for each event.
	Counts []EventCounts
}

// EventCounts is the distribution of one event's counts, with a relative error of at most 1 % for
// the spans of a region and 0.1 % for a [Session]. The sum and the mean are exact.
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

// regions are the histograms of a hook, for as many names as the providers of spans keep apart.
type regions struct {
	source Source
	events []Event
	begun  time.Time // counting
	known  *registry.Registry[spans.Region, region]
}

func newRegions(source Source, events []Event) *regions {
	s := &regions{source: source, events: events, begun: time.Now()}
	s.known = registry.New(0, hashOf, func(int) *region { return s.newRegion(spans.Region{Name: "other"}) })
	return s
}

func hashOf(r spans.Region) uint64 {
	return registry.Mix(registry.String(r.Name), registry.String(r.Scope.Name))
}

// A region has the histograms of one scope and name.
type region struct {
	key     spans.Region
	set     attribute.Set // of its metrics
	invalid atomic.Uint64
	counts  []*otelhdr.Concurrent // one for each event
}

// of returns the region of a span, which n remembers from the last one.
func (s *regions) of(r *spans.Span, n *nameState) *region {
	key := r.Region()
	if last := n.region.Load(); last != nil && last.key == key {
		return last
	}
	found := s.find(key, r.Folded())
	n.region.Store(found)
	return found
}

// find returns the region of a key, or the region "other" where package spans puts it.
func (s *regions) find(key spans.Region, folded bool) *region {
	if folded {
		return s.known.Other()
	}
	if found := s.known.Get(key); found != nil {
		return found
	}
	return s.known.Add(key, func(int) *region { return s.newRegion(key) })
}

func (s *regions) newRegion(key spans.Region) *region {
	r := &region{key: key, set: naming.RegionAttributes(key.Scope, key.Name, naming.CounterSourceKey.String(string(s.source)))}
	for range s.events {
		h, _ := otelhdr.NewConcurrent(otelhdr.WithRelativeError(countError)) // a constant in range
		r.counts = append(r.counts, h)
	}
	return r
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
