package viewer

import (
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/stacks"
)

func TestSaved(t *testing.T) {
	tree := stacks.NewTree()
	tree.Add([]stacks.Frame{stacks.NewFrame("sum", "a.go", 7)}, stacks.Weight{Samples: 5, Nanos: 5e7})
	regions := testRegions(t)
	h, err := New(Sources{
		Regions: func() []spans.RegionStats { return regions },
		Store:   testSessions(1),
		Saved: &Saved{
			Profile:       &causal.Profile{PlanID: "night", Curves: []causal.Curve{{Progress: "checkout"}}},
			Stacks:        &stacks.Recording{Duration: time.Second, Regions: []stacks.RegionTree{{Region: stacks.Region{Name: "a"}, Number: 1, Tree: tree}}},
			RelativeError: 0.003,
		},
	}, WithHosts("viewer.test"), WithToken(testToken))
	if err != nil {
		t.Fatal(err)
	}
	got := decode[regionsJSON](t, ask(t, h, "GET", "/api/v1/regions", ""), 200)
	checkEqual(t, "error", got.RelativeError, 0.003)
	checkEqual(t, "error of a region", decode[distributionJSON](t, ask(t, h, "GET", "/api/v1/regions/a/distribution", ""), 200).RelativeError, 0.003)
	checkEqual(t, "plan", decode[causal.Profile](t, ask(t, h, "GET", "/api/v1/causal/profile", ""), 200).PlanID, "night")
	state := decode[planJSON](t, ask(t, h, "GET", "/api/v1/causal/plan", ""), 200)
	checkEqual(t, "state", state.Status.State, causal.StateStopped)
	if a := ask(t, h, "GET", "/api/v1/regions/a/stacks", ""); a.code != 200 {
		t.Errorf("stacks of a: %d, %s", a.code, a.body)
	}
	if a := ask(t, h, "DELETE", "/api/v1/causal/plan", "", header("Authorization", "Bearer "+testToken)); a.code != 200 {
		t.Errorf("stop: %d, %s", a.code, a.body)
	}
}
