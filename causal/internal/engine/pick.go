package engine

import (
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/classes"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
)

// pick returns the regions to examine: those seen so far that a pattern selects and, where the
// plan leaves the choice open, those with the most self time since it began. That choice is
// made once, so that the numbers of the regions stay what they are.
func (run *Run) pick() []profile.Region {
	if slices.ContainsFunc(run.Plan.Regions, func(p plan.RegionPattern) bool { return p.Auto > 0 }) {
		run.pickOnce()
	}
	return run.Seen()
}

func (run *Run) pickOnce() {
	run.mu.Lock()
	defer run.mu.Unlock()
	if run.picked {
		return
	}
	var candidates []experiment.Candidate
	for c, now := range classes.Usages() {
		candidates = append(candidates, experiment.Candidate{Key: c.Key, Self: time.Duration(now.Self - run.before[c].Self), Root: c.Root.Load()})
	}
	for _, key := range experiment.PickRegions(run.Plan.Regions, candidates) {
		run.picked = true
		run.enroll(key)
	}
	if run.picked {
		run.Verdicts.Store(new(verdicts)) // what was thought of these regions before
	}
}
