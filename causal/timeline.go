package causal

import (
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
)

// maxTimeline is the number of experiments that a [Timeline] has at most: the latest ones.
const maxTimeline = 500

// A Timeline is which experiments have run under a plan, when, and what came of each. As JSON it
// takes some 150 bytes for each experiment and progress point, and less than 512 KiB.
type Timeline struct {
	PlanID   string       `json:"plan_id"`
	PlanHash string       `json:"plan_hash"`
	Mode     profile.Mode `json:"mode"`
	// Started is when the plan was applied, Ended when it was over; zero while it runs.
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	// Regions are those examined, in the order in which they were seen.
	Regions []profile.Region `json:"regions"`
	// Progress are the plan's progress points.
	Progress []plan.ProgressPoint `json:"progress"`
	// Experiments are the latest ones, at most 500, the oldest first.
	Experiments []Experiment `json:"experiments"`
	// Earlier is how many ran before them.
	Earlier int `json:"earlier"`
}

// An Experiment is one arm of a plan: a while in which one region was faster by one speed-up, as it
// were, or in which nothing was delayed.
type Experiment struct {
	// At is when it was put in force, as the time since the plan was applied; Settled how long it
	// settled from then on, and Took how long it was measured after that.
	At      time.Duration `json:"at_ns"`
	Settled time.Duration `json:"settled_ns"`
	Took    time.Duration `json:"took_ns"`
	// Speedup is in [0, 1); with 0 nothing is delayed.
	Speedup float64 `json:"speedup"`
	// Region is an index in Regions; -1 for none, which in mode dilation with a speed-up means that
	// all regions are made longer.
	Region int `json:"region"`
	// Delay is the sum of the delays inserted.
	Delay time.Duration `json:"delay_ns"`
	// Values are, by progress point, the time between two visits, or, of type latency, its first
	// quantile, less the delay of all goroutines; zero without a number.
	Values []time.Duration `json:"values_ns"`
	// Rejected is why the experiment counts for nothing, "" if it counts.
	Rejected string `json:"rejected,omitempty"`
}

// Timeline returns the latest experiments of the plan in force, or of the last one. It takes
// microseconds for each experiment that has run.
func (c *Controller) Timeline() Timeline {
	c.mu.Lock()
	r := c.last
	c.mu.Unlock()
	if r == nil {
		return Timeline{Regions: []profile.Region{}, Progress: []plan.ProgressPoint{}, Experiments: []Experiment{}}
	}
	return timelineOf(r)
}

func timelineOf(run *engine.Run) Timeline {
	regions, experiments, ended := run.Measurements()
	t := Timeline{
		PlanID: run.Plan.ID, PlanHash: run.Plan.Hash(), Mode: run.Plan.Mode, Started: run.Started, Ended: ended,
		Regions: append([]profile.Region{}, regions...), Progress: run.Plan.Progress,
		Experiments: []Experiment{}, Earlier: max(0, len(experiments)-maxTimeline),
	}
	values := make([][]experiment.Step, len(t.Progress))
	for point := range t.Progress {
		values[point] = run.StepsOf(experiments, point, 0)
	}
	for i := t.Earlier; i < len(experiments); i++ {
		e := experiments[i]
		x := Experiment{At: e.At, Settled: e.Settled, Took: e.Duration, Speedup: e.Speedup, Region: e.Spared, Delay: e.Inserted, Rejected: e.Spoiled}
		if e.Speedup == 0 || e.Spared < 0 {
			x.Region = engine.NoRegion
		}
		for point := range values {
			x.Values = append(x.Values, values[point][i].Value())
		}
		t.Experiments = append(t.Experiments, x)
	}
	return t
}
