package answers

import (
	"testing"

	"github.com/otelprof/otelprof/causal/profile"
)

// What the profile does not have is withheld, and is no answer of nothing.
func TestChange(t *testing.T) {
	p := profile.Profile{Changes: []profile.Change{
		{Change: "4 processors", Progress: "done", Metric: profile.MetricLatencyP50, Effect: profile.Effect{Reduction: 1}},
		{Change: "4 processors", Progress: "done", Metric: profile.MetricThroughput, Effect: profile.Effect{Reduction: 0.5}},
	}}
	if e := Change(p, "4 processors", "done", profile.MetricThroughput); !e.Known() || e.Reduction != 0.5 {
		t.Errorf("Change = %+v, want a half", e)
	}
	if e := Change(p, "2 processors", "done", profile.MetricThroughput); e.Known() {
		t.Errorf("Change = %+v of one that there is not, want that it is withheld", e)
	}
}
