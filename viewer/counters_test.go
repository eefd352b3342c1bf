package viewer

import (
	"testing"

	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/pmuattrs"
)

func TestRegionsHaveCounters(t *testing.T) {
	h := testHandler(t, nil)
	counts := func(e pmuattrs.Event, values ...uint64) pmuattrs.EventCounts {
		hist, err := otelhdr.NewHistogram()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			hist.Record(v)
		}
		return pmuattrs.EventCounts{Event: e, Snapshot: hist.Snapshot(nil)}
	}
	shop := instrumentation.Scope{Name: "shop", Version: "2"}
	h.counters = func() []pmuattrs.RegionCounters {
		return []pmuattrs.RegionCounters{
			{
				Scope: shop, Name: "a", Source: pmuattrs.SourceHardware, Spans: 2, Invalid: 1,
				Counts: []pmuattrs.EventCounts{counts(pmuattrs.Cycles, 100, 300), counts(pmuattrs.Instructions, 200, 400)},
			},
			{Scope: shop, Name: "b", Source: pmuattrs.SourceUsage, Invalid: 3, Counts: []pmuattrs.EventCounts{counts(pmuattrs.CPUTime)}},
			{Name: "a", Source: pmuattrs.SourceHardware},
		}
	}
	got := map[string]*pmuJSON{}
	for _, r := range decode[regionsJSON](t, ask(t, h, "GET", "/api/v1/regions", ""), 200).Regions {
		got[r.Name] = r.Pmu
	}
	a, b := got["a"], got["b"]
	if a == nil || b == nil || got["GET /items/{id}"] != nil {
		t.Fatalf("counters of %v, want those of a and b", got)
	}
	checkEqual(t, "a", []any{a.Source, a.Spans, a.Invalid, *a.IPC}, []any{"hw", 2, 1, 1.5})
	checkEqual(t, "means of a", a.Means, []pmuCountJSON{{"cycles", "{cycle}", 200}, {"instructions", "{instruction}", 300}})
	checkEqual(t, "b", []any{b.Source, b.Spans, b.Invalid, b.IPC, len(b.Means)}, []any{"rusage", 0, 3, (*float64)(nil), 0})
}
