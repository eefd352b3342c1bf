package whatif

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Two services have spans "query" of one scope, which are one region: a note names it, and no
// region of one process.
func TestSharedRegionsAreNamed(t *testing.T) {
	rec := &trace.Recording{
		Regions: []trace.Region{{Scope: "sql", Name: "query"}, {Scope: "shop", Name: "price"}},
		Spans:   []trace.Span{{Region: 0}, {Region: 1}, {Region: 1}, {Region: 0}, {Region: 0}},
		Count:   3,
	}
	for i, g := range []int32{0, 0, 1, 2, 2} {
		rec.Events = append(rec.Events, trace.Event{Kind: trace.EvOpen, G: g, Ref: int32(i)}, trace.Event{Kind: trace.EvClose, G: g, Ref: int32(i)})
	}
	if notes := sharedBy(rec); notes != nil {
		t.Errorf("of one process: %q", notes)
	}
	rec.Processes = []trace.Process{{Name: "shop", Goroutines: 2}, {Name: "stock", Goroutines: 3}}
	want := []string{`spans of one scope and name are one region, though of several processes: "query"`}
	if diff := cmp.Diff(want, sharedBy(rec)); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}
