package causal

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/otelhdr"
)

// What arms have recorded of latency is added up by cell. Arms without delay are one cell, and one
// that was thrown away counts for nothing.
func TestTalliesHaveLatency(t *testing.T) {
	run, err := engine.NewRun(mustParse(t, "mode: overlap", "progress: [{span: root, type: latency}]"), engine.Settings{Caps: wide, Allowed: plan.DefaultAllowed()}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	of := func(values ...uint64) []*otelhdr.Snapshot {
		h, err := otelhdr.NewConcurrent()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			h.Record(v)
		}
		return []*otelhdr.Snapshot{h.Snapshot(nil)}
	}
	run.Regions = []profile.Region{{Scope: "s", Name: "a"}, {Scope: "s", Name: "b"}}
	add := func(speedup float64, spared int, spoiled string, values ...uint64) {
		run.Add(experiment.Experiment{Arm: experiment.Arm{Speedup: speedup, Spared: spared}, Spoiled: spoiled, Passages: make([]experiment.Passage, 1)}, of(values...))
	}
	add(0, 0, "", 10)
	add(0, 1, "", 11, 12)
	add(0.5, 1, "", 5)
	before := run.Profile(func() {}).Tallies
	add(0.5, 1, "", 6, 7)
	add(0.5, 1, "a test", 1000)
	add(0.5, 0, "", 8)

	got := map[string]uint64{}
	for _, tally := range run.Profile(func() {}).Tallies {
		got[tally.Region.Name] = tally.Latency.Count()
		if tally.Latency.Max() > 20 {
			t.Errorf("%q has a latency of %v", tally.Region.Name, time.Duration(tally.Latency.Max()))
		}
	}
	if diff := cmp.Diff(map[string]uint64{"": 3, "a": 1, "b": 3}, got); diff != "" {
		t.Errorf("latencies by region (-want +got):\n%s", diff)
	}
	if n := before[1].Latency.Count(); n != 1 {
		t.Errorf("a profile given away has changed: %d values, want 1", n)
	}
}
