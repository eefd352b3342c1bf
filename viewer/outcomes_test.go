package viewer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/profile"
)

// What was foretold and what came, and how often that held; nothing where nothing is kept.
func TestOutcomes(t *testing.T) {
	h := testHandler(t, &fakeExperiments{})
	if got := decode[outcomesJSON](t, ask(t, h, "GET", "/api/v1/causal/outcomes", ""), 200); got.Outcomes == nil || len(got.Outcomes) != 0 || got.Of != 0 {
		t.Errorf("nothing is kept: %+v", got)
	}
	all := []profile.Outcome{{From: "1", To: "2", Verdict: "held"}, {Verdict: "missed"}, {Verdict: "other_load"}}
	h.outcomes = func() []profile.Outcome { return all }
	h.foretold.expire()
	got := decode[outcomesJSON](t, ask(t, h, "GET", "/api/v1/causal/outcomes", ""), 200)
	if diff := cmp.Diff(outcomesJSON{Outcomes: all, Held: 1, Of: 2}, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}
