package saved

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/spans"
)

// maxRegions bounds the number of regions; further names are counted under "other".
const maxRegions = 2000

// A regionKey names a region. Scopes of one name and version are one.
type regionKey struct{ service, scope, version, name string }

// regions are the statistics of spans, and of .hlog files.
type regions struct {
	byKey    map[regionKey]*region
	overflow uint64 // spans under "other"
	alone    uint64 // spans without their session
}

type region struct {
	scope       instrumentation.Scope
	kind        trace.SpanKind
	durations   *otelhdr.Histogram
	errors      uint64
	total, self time.Duration
	alone       time.Duration // part of the total: of spans without their session
}

// of returns the region of that key, "other" if there are too many.
func (r *regions) of(key regionKey, scope instrumentation.Scope, kind trace.SpanKind) *region {
	if known := r.byKey[key]; known != nil {
		return known
	}
	if len(r.byKey) >= maxRegions {
		r.overflow++
		key = regionKey{name: "other"}
		if known := r.byKey[key]; known != nil {
			return known
		}
		scope = instrumentation.Scope{}
	}
	h, err := otelhdr.NewHistogram() // without options there is nothing to reject
	if err != nil {
		h = new(otelhdr.Histogram)
	}
	added := &region{scope: scope, kind: kind, durations: h}
	r.byKey[key] = added
	return added
}

// span counts one span, which has its session or is alone. Like a live region it leaves out what
// experiments inserted below.
func (r *regions) span(s *spans.SpanRecord, service string, alone bool) {
	g := r.of(regionKey{service, s.Scope.Name, s.Scope.Version, s.Name}, s.Scope, s.Kind)
	duration := max(0, s.Duration-s.Delay, s.SelfTime)
	if alone {
		r.alone++
		g.alone += duration
	}
	g.durations.Record(uint64(duration))
	g.total += duration
	g.self += s.SelfTime
	if s.Status == codes.Error {
		g.errors++
	}
}

// selfTime is that of all spans: of those without their session it is not known, and taken to be
// the same part of their time as of the others.
func (g *region) selfTime() time.Duration {
	known := g.total - g.alone
	if known <= 0 {
		return g.self
	}
	return g.self + time.Duration(float64(g.self)/float64(known)*float64(g.alone))
}

// stats returns all regions by their key.
func (r *regions) stats() map[regionKey]spans.RegionStats {
	all := make(map[regionKey]spans.RegionStats, len(r.byKey))
	for key, g := range r.byKey {
		d := g.durations.Snapshot(nil)
		all[key] = spans.RegionStats{
			Scope: g.scope, Name: key.name, Kind: g.kind,
			Count: d.Count(), Errors: g.errors, Total: g.total, Self: g.selfTime(), Durations: d,
		}
	}
	return all
}

// shownScope is the scope's name. If there are several services it has whose it is.
func (k regionKey) shownScope(several bool) string {
	if !several || k.service == "" {
		return k.scope
	}
	return strings.TrimSuffix(k.service+": "+k.scope, ": ")
}

// ordered returns the regions with the most self time first.
func ordered(all map[regionKey]spans.RegionStats, several bool) []spans.RegionStats {
	out := make([]spans.RegionStats, 0, len(all))
	for key, s := range all {
		s.Scope.Name = key.shownScope(several)
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b spans.RegionStats) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), strings.Compare(a.Scope.Name, b.Scope.Name),
			strings.Compare(a.Scope.Version, b.Scope.Version), strings.Compare(a.Name, b.Name))
	})
	return out
}
