package saved

import (
	"cmp"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/otelprof/otelprof/pmuattrs"
)

// counters are put together from one metric for each event.
type counters map[counterKey]*pmuattrs.RegionCounters

type counterKey struct {
	regionKey
	source string
}

// add takes one event's counts in a region. Events that this version does not know, and those
// of a service's other processes with another layout, are left out.
func (c *counters) add(key seriesKey, p point) {
	name := strings.TrimPrefix(key.metric, "pmu.")
	event, err := pmuattrs.ParseEvent(name)
	if err != nil || event.Name() != name || p.durations == nil || p.durations.Count() == 0 {
		return
	}
	if *c == nil {
		*c = counters{}
	}
	at := counterKey{key.regionKey, key.source}
	g := (*c)[at]
	if g == nil {
		g = &pmuattrs.RegionCounters{
			Scope: instrumentation.Scope{Name: key.scope, Version: key.version}, Name: key.name,
			Source: pmuattrs.Source(key.source),
		}
		(*c)[at] = g
	}
	i := slices.IndexFunc(g.Counts, func(e pmuattrs.EventCounts) bool { return e.Event == event })
	if i < 0 {
		g.Counts = append(g.Counts, pmuattrs.EventCounts{Event: event, Snapshot: p.durations})
	} else if err := g.Counts[i].Merge(p.durations); err != nil {
		return
	}
	for _, e := range g.Counts {
		g.Spans = max(g.Spans, e.Count())
	}
}

// regions returns them in a fixed order.
func (c counters) regions(several bool) []pmuattrs.RegionCounters {
	var all []pmuattrs.RegionCounters
	for key, g := range c {
		g.Scope.Name = key.shownScope(several)
		slices.SortFunc(g.Counts, func(a, b pmuattrs.EventCounts) int { return strings.Compare(a.Event.Name(), b.Event.Name()) })
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b pmuattrs.RegionCounters) int {
		return cmp.Or(strings.Compare(a.Scope.Name, b.Scope.Name), strings.Compare(a.Name, b.Name), strings.Compare(string(a.Source), string(b.Source)),
			strings.Compare(a.Scope.Version, b.Scope.Version))
	})
	return all
}
