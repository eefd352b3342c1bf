package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/otelhdr"
)

// TestTallyOfBothTypes: a span listed for its throughput and for its latency, in either order, is
// tallied once, with its latency.
func TestTallyOfBothTypes(t *testing.T) {
	throughput := plan.ProgressPoint{Span: "order", Type: plan.TypeThroughput}
	latency := plan.ProgressPoint{Span: "order", Type: plan.TypeLatency}
	other := plan.ProgressPoint{Span: "ship", Type: plan.TypeThroughput}
	arm := experiment.Arm{Speedup: 0.5, Spared: 0}
	for _, points := range [][]plan.ProgressPoint{{throughput, other, latency}, {latency, other, throughput}} {
		run := &Run{Plan: &plan.Plan{Mode: profile.ModeOverlap, Progress: points}}
		e := experiment.Experiment{Arm: arm, Delays: 3, Taken: time.Second, Passages: make([]experiment.Passage, len(points))}
		recorded := map[cell]*otelhdr.Snapshot{}
		durations := new(otelhdr.Snapshot)
		for i, p := range points {
			e.Passages[i] = experiment.Passage{Visits: 5, Effective: time.Minute}
			if p.Type == plan.TypeLatency {
				recorded[run.cellOf(arm, i)] = durations
			}
		}
		tally := profile.Tally{
			Mode: profile.ModeOverlap, Region: profile.Region{Name: "pay"}, Speedup: 0.5, Progress: "order",
			Visits: 10, Effective: 2 * time.Minute, Delay: 2 * time.Second, Delays: 6,
		}
		want := []profile.Tally{tally, tally}
		want[1].Progress = "ship"
		got := run.tallies([]profile.Region{{Name: "pay"}}, []experiment.Experiment{e, e}, recorded)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(profile.Tally{}, "Latency")); diff != "" {
			t.Errorf("points %v: tallies (-want +got):\n%s", points, diff)
		} else if got[0].Latency != durations || got[1].Latency != nil {
			t.Errorf("points %v: latency %p and %p, want %p and none", points, got[0].Latency, got[1].Latency, durations)
		}
	}
}
