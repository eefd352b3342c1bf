package causal

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/engine/admission"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/profile"
)

// What has run stands in its order, with when it did and what became of it.
func TestTimeline(t *testing.T) {
	c := newController(t)
	if got, err := json.Marshal(c.Timeline()); err != nil || strings.Contains(string(got), "null") {
		t.Errorf("the timeline of no plan is %s, %v: want empty lists", got, err)
	}
	plan := mustParse(t, "mode: overlap", "regions: [{span: a}, {span: b}]")
	run, err := engine.NewRun(plan, c.Settings, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	run.Regions = []profile.Region{{Scope: "s", Name: "a"}, {Scope: "s", Name: "b"}}
	at := time.Duration(0)
	add := func(speedup float64, spared int, period time.Duration, spoiled string) {
		e := experiment.Experiment{
			Arm: experiment.Arm{Speedup: speedup, Spared: spared}, At: at, Settled: time.Millisecond, Duration: time.Second, Spoiled: spoiled, Inserted: 3 * time.Millisecond,
			Passages: make([]experiment.Passage, len(plan.Progress)),
		}
		e.Passages[0] = experiment.Passage{Visits: 10, Effective: 10 * period}
		run.Add(e, nil)
		at += 2 * time.Second
	}
	const ms = time.Millisecond
	add(0, experiment.SparesNone, 10*ms, "")
	add(0.5, 1, 8*ms, "")
	add(0, experiment.SparesNone, 10*ms, "")
	add(0.25, 0, 9*ms, "3 of 4 delays withheld, most by limits.duty")
	add(0, experiment.SparesNone, 10*ms, "")
	add(0.25, 0, 9*ms, "")
	add(0, experiment.SparesNone, 30*ms, "") // something else happens
	got := timelineOf(run)
	type row struct {
		at, value time.Duration
		speedup   float64
		region    int
		why       string
	}
	var rows []row
	for _, e := range got.Experiments {
		rows = append(rows, row{e.At, e.Values[0], e.Speedup, e.Region, e.Rejected})
		if e.Settled != time.Millisecond || e.Took != time.Second || e.Delay != 3*ms {
			t.Errorf("experiment %+v: settled, took or delay differ", e)
		}
	}
	want := []row{
		{0, 10 * ms, 0, -1, ""},
		{2 * time.Second, 8 * ms, 0.5, 1, ""},
		{4 * time.Second, 10 * ms, 0, -1, ""},
		{6 * time.Second, 0, 0.25, 0, "3 of 4 delays withheld, most by limits.duty"},
		{8 * time.Second, 10 * ms, 0, -1, ""},
		{10 * time.Second, 9 * ms, 0.25, 0, ""},
		{12 * time.Second, 30 * ms, 0, -1, ""},
	}
	if diff := cmp.Diff(want, rows, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("experiments differ, -want +got:\n%s", diff)
	}
	if got.PlanID != plan.ID || got.Earlier != 0 || len(got.Regions) != 2 || len(got.Progress) != len(plan.Progress) {
		t.Errorf("timeline %+v", got)
	}
	for range maxTimeline {
		add(0, experiment.SparesNone, 10*ms, "")
	}
	if got := timelineOf(run); len(got.Experiments) != maxTimeline || got.Earlier != 7 || got.Experiments[0].At != 14*time.Second {
		t.Errorf("%d experiments, %d earlier, the first at %v: want the last %d", len(got.Experiments), got.Earlier, got.Experiments[0].At, maxTimeline)
	}
}

// Reading it is safe at any time, and what has run on a controller is in it.
func TestTimelineOfController(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t, wide, nil, calm, "timing: {experiment: 1s, max_experiment: 1s}")
		deadline := time.Now().Add(20 * time.Second)
		for time.Now().Before(deadline) {
			b.span(context.Background(), "a", time.Millisecond)
		}
		got := b.c.Timeline()
		if len(got.Experiments) == 0 || got.PlanHash != b.run.Plan.Hash() || !got.Started.Equal(b.run.Started) || !got.Ended.IsZero() {
			t.Errorf("timeline %+v", got)
		}
		for i := 1; i < len(got.Experiments); i++ {
			before, e := got.Experiments[i-1], got.Experiments[i]
			if end := before.At + before.Settled + before.Took; e.At < end {
				t.Errorf("experiment %d begins at %v, before the end of the last at %v", i, e.At, end)
			}
		}
	})
}

func TestWithheldSpoils(t *testing.T) {
	for _, tt := range []struct {
		w        admission.Withheld
		inserted int64
		want     string
	}{
		{admission.Withheld{}, 0, ""},
		{admission.Withheld{}, 10, ""},
		{admission.Withheld{admission.RuleHealth: 50}, 10, ""},
		{admission.Withheld{admission.RuleDuty: 1}, 99, ""},
		{admission.Withheld{admission.RuleDuty: 2}, 98, "2 of 100 delays withheld, most by limits.duty"},
		{admission.Withheld{admission.RuleDeadline: 3, admission.RulePerSpan: 4}, 1, "7 of 8 delays withheld, most by limits.per_span"},
	} {
		if got := tt.w.Spoils(tt.inserted); got != tt.want {
			t.Errorf("%v with %d inserted: %q, want %q", tt.w, tt.inserted, got, tt.want)
		}
	}
}

func TestPace(t *testing.T) {
	var p admission.Pace
	now := time.Unix(1000, 0)
	if p.Now() != 0 {
		t.Errorf("pace before anything is known: %g, want 0", p.Now())
	}
	spent := time.Duration(0)
	for i := range 200 { // 20 s of 10 ms each 100 ms, then nothing for as long
		p.Mark(now, spent, 2)
		if i == 100 {
			if got := p.Now(); got < 0.049 || got > 0.051 {
				t.Errorf("pace = %g, want 0.05 of each of two processors", got)
			}
		}
		spent += 10 * time.Millisecond
		now = now.Add(100 * time.Millisecond)
	}
	for range 200 {
		p.Mark(now, spent, 2)
		now = now.Add(100 * time.Millisecond)
	}
	if got := p.Now(); got != 0 {
		t.Errorf("pace after 20 s without delay: %g, want 0", got)
	}
	if len(p.Spent) > 12 {
		t.Errorf("%d readings are kept, want those of some 10 s", len(p.Spent))
	}
}
