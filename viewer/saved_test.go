package viewer

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/schedule"
	"github.com/otelprof/otelprof/spans/stacks"
)

func TestSaved(t *testing.T) {
	tree := stacks.NewTree()
	tree.Add([]stacks.Frame{stacks.NewFrame("sum", "a.go", 7)}, stacks.Weight{Samples: 5, Nanos: 5e7})
	regions := testRegions(t)
	h, err := NewHandler(Sources{
		Regions: func() []spans.RegionStats { return regions },
		Store:   testSessions(1),
		Saved: &Saved{
			Profile:  &profile.Profile{PlanID: "night", Curves: []profile.Curve{{Progress: "checkout"}}},
			Stacks:   &stacks.Recording{Duration: time.Second, Regions: []stacks.RegionTree{{Region: spans.Region{Name: "a"}, Number: 1, Tree: tree}}},
			Schedule: &schedule.Report{Window: time.Second, Regions: []schedule.Region{{Scope: "shop", Name: "a", Count: 2}}},
			Runs: []Run{
				{Name: "monday", Regions: regions[:1], RelativeError: 0.004},
				{Name: "tuesday", Regions: regions},
			},
			RelativeError: 0.003,
		},
	}, WithHosts("viewer.test"), WithToken(testToken))
	if err != nil {
		t.Fatal(err)
	}
	got := decode[regionsJSON](t, ask(t, h, "GET", "/api/v1/regions", ""), 200)
	checkEqual(t, "error", got.RelativeError, 0.003)
	checkEqual(t, "error of a region", decode[distributionJSON](t, ask(t, h, "GET", "/api/v1/regions/distribution?name=a", ""), 200).RelativeError, 0.003)
	checkEqual(t, "plan", decode[profile.Profile](t, ask(t, h, "GET", "/api/v1/causal/profile", ""), 200).PlanID, "night")
	state := decode[planJSON](t, ask(t, h, "GET", "/api/v1/causal/plan", ""), 200)
	checkEqual(t, "state", state.Status.State, causal.StateStopped)
	split := decode[scheduleJSON](t, ask(t, h, "GET", "/api/v1/regions/schedule?name=a", ""), 200)
	if len(split.Regions) != 1 || split.Regions[0].Count != 2 || split.WindowNs != 1e9 {
		t.Errorf("schedule of a: %+v, want that of the trace", split)
	}
	if page := ask(t, h, "GET", "/", "").body; !strings.Contains(page, `data-saved="true"`) || !strings.Contains(page, `href="#/compare"`) {
		t.Error("the page does not know that it shows saved runs")
	}
	if a := ask(t, h, "GET", "/api/v1/regions/stacks?name=a", ""); a.code != 200 {
		t.Errorf("stacks of a: %d, %s", a.code, a.body)
	}
	if a := ask(t, h, "DELETE", "/api/v1/causal/plan", "", header("Authorization", "Bearer "+testToken)); a.code != 200 {
		t.Errorf("stop: %d, %s", a.code, a.body)
	}
}

// TestRuns checks that each run answers for itself, independently of the other views.
func TestRuns(t *testing.T) {
	regions, recording := testRegions(t), (&fakeStacks{}).Snapshot(0)
	h, err := NewHandler(Sources{
		Regions: func() []spans.RegionStats { return regions }, Store: testSessions(1),
		Saved: &Saved{Runs: []Run{{Name: "monday", Regions: regions[:1], RelativeError: 0.004}, {Name: "tuesday", Regions: regions, Stacks: recording}}},
	}, WithHosts("viewer.test"))
	if err != nil {
		t.Fatal(err)
	}
	runs := decode[runsJSON](t, ask(t, h, "GET", "/api/v1/runs", ""), 200).Runs
	want := []runJSON{{"monday", 1, 1000, 0}, {"tuesday", 4, 3000, recording.Process().Total().Samples}}
	if diff := cmp.Diff(want, runs); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	monday := decode[regionsJSON](t, ask(t, h, "GET", "/api/v1/runs/0/regions?buckets=1", ""), 200)
	if len(monday.Regions) != 1 || monday.RelativeError != 0.004 || len(monday.Regions[0].Cumulative.Buckets) == 0 {
		t.Errorf("monday: %+v, want one region with its buckets", monday)
	}
	checkEqual(t, "regions of tuesday", len(decode[regionsJSON](t, ask(t, h, "GET", "/api/v1/runs/1/regions", ""), 200).Regions), len(regions))
	for _, n := range []string{"2", "-1", "x"} {
		if got := errorOf(t, ask(t, h, "GET", "/api/v1/runs/"+n+"/regions", ""), 404); !strings.Contains(got, "one of 2 runs") {
			t.Errorf("run %s: %s", n, got)
		}
	}
	tree := decode[struct{ Tree struct{ Samples int64 } }](t, ask(t, h, "GET", "/api/v1/runs/1/stacks", ""), 200).Tree
	checkEqual(t, "samples of tuesday", tree.Samples, runs[1].Samples)
	if got := errorOf(t, ask(t, h, "GET", "/api/v1/runs/0/stacks", ""), 404); got != `run "monday": must have call stacks` {
		t.Errorf("stacks of monday: %s", got)
	}
	for _, path := range []string{"runs/0/regions?", "regions?", "regions/distribution?name=a&"} {
		if got := errorOf(t, ask(t, h, "GET", "/api/v1/"+path+"buckets=2", ""), 400); got != `buckets "2": must be 0, 1 or coarse` {
			t.Errorf("%s: %s", path, got)
		}
	}
	if live := decode[runsJSON](t, ask(t, testHandler(t, nil), "GET", "/api/v1/runs", ""), 200); live.Runs == nil || len(live.Runs) != 0 {
		t.Errorf("runs of a process: %+v, want an empty list", live)
	}
}
