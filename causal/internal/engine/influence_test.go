package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/internal/engine/virtualtime"
	"github.com/otelprof/otelprof/causal/internal/plantest"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
)

// Of the overlaps of two controllers one is in force. An arm of the other delays nothing, and
// counts for nothing: it would say that the region brings nothing.
func TestOverlapBesideAnotherController(t *testing.T) {
	p, err := plan.Parse(plantest.Document("mode: overlap"))
	if err != nil {
		t.Fatal(err)
	}
	arm := experiment.Arm{Speedup: 0.5}
	begin := func() (*Run, Influence) {
		run, err := NewRun(p, Settings{Caps: p.Limits, Breaker: p.Abort, Allowed: plan.DefaultAllowed()}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		run.Cancel = func(error) {}
		run.Number(profile.Region{Name: "beside"})
		return run, run.Begin(arm)
	}
	one, first := begin()
	defer one.Rest()
	other, second := begin()
	defer other.Rest()
	observed := virtualtime.Current.Load()
	if !one.has(first) || other.Influence.Load() != nil {
		t.Error("want the first in force, and not the second")
	}
	var e experiment.Experiment
	if second.Look(&e); !strings.Contains(e.Spoiled, "another controller") {
		t.Errorf("the second is spoiled by %q, want by another controller", e.Spoiled)
	}
	other.Rest()
	if got := virtualtime.Current.Load(); got != observed {
		t.Error("the end of the second ends what the first observes")
	}
	one.Rest()
	if i := other.Begin(arm); !other.has(i) {
		t.Error("the second is not in force when the first is over")
	}
}
