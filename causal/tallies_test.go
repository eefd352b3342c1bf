package causal

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
)

// The sums of slow-downs are by region, its placebos too, so that all estimates follow from them.
func TestTalliesOfSlowdowns(t *testing.T) {
	for mode, want := range map[string][]profile.Tally{
		"slowdown": {
			{Region: profile.Region{Name: "a"}, Visits: 20, Effective: 400, Delay: 2, Delays: 2, Own: 80},
			{Region: profile.Region{Name: "a"}, Speedup: 0.1, Visits: 10, Effective: 210, Delay: 4, Delays: 1, Own: 40},
			{Region: profile.Region{Name: "b"}, Visits: 10, Effective: 200, Delay: 1, Delays: 1, Own: 40},
		},
		"overlap": {
			{Visits: 30, Effective: 600, Delay: 3, Delays: 3, Own: 120},
			{Region: profile.Region{Name: "a"}, Speedup: 0.1, Visits: 10, Effective: 210, Delay: 4, Delays: 1, Own: 40},
		},
	} {
		run, err := engine.NewRun(mustParse(t, "mode: "+mode, "progress: [{span: root, type: throughput}]"), engine.Settings{Caps: wide, Allowed: plan.DefaultAllowed()}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		run.Regions = []profile.Region{{Name: "a"}, {Name: "b"}}
		add := func(a experiment.Arm, spoiled string, effective, taken time.Duration) {
			run.Add(experiment.Experiment{Arm: a, Spoiled: spoiled, Passages: []experiment.Passage{{Visits: 10, Effective: effective}}, Delays: 1, Own: 40, Taken: taken}, nil)
		}
		add(experiment.Arm{Speedup: 0, Spared: 0}, "", 200, 1)
		add(experiment.Arm{Speedup: 0.1, Spared: 0}, "", 210, 4)
		add(experiment.Arm{Speedup: 0.1, Spared: 0}, "a test", 1000, 1000)
		add(experiment.Arm{Speedup: 0, Spared: 0}, "", 200, 1)
		add(experiment.Arm{Speedup: 0, Spared: 1}, "", 200, 1)

		for i := range want {
			want[i].Mode, want[i].Progress = profile.Mode(mode), "root"
		}
		if diff := cmp.Diff(want, run.Profile(func() {}).Tallies); diff != "" {
			t.Errorf("%s: tallies (-want +got):\n%s", mode, diff)
		}
	}
}
