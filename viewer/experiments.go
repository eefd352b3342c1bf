package viewer

import (
	"context"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
)

// source names this package in the controller's audit.
func (h *Handler) source() causal.Source {
	return causal.Source{Name: "viewer", Signed: h.config.signed}
}

// experiments is what the viewer needs of a causal.Controller.
type experiments interface {
	Status() causal.Status
	Profile() profile.Profile
	Timeline() causal.Timeline
	Record(ctx context.Context, d time.Duration) error
	RecordTrace(ctx context.Context, d time.Duration, samples bool) (*causal.Trace, error)
	CheckFrom(causal.Source, *plan.Plan) error
	ApplyFrom(causal.Source, *plan.Plan) error
	Reject(causal.Source, error)
	StopPlan(reason string)
}

var _ experiments = (*causal.Controller)(nil)

// Saved data have no timeline, and take no plan.
func (savedExperiments) Timeline() causal.Timeline {
	return causal.Timeline{Regions: []profile.Region{}, Progress: []plan.ProgressPoint{}, Experiments: []causal.Experiment{}}
}
func (savedExperiments) CheckFrom(causal.Source, *plan.Plan) error { return errSaved }
func (savedExperiments) Record(context.Context, time.Duration) error {
	return errSavedRecording
}

func (savedExperiments) RecordTrace(context.Context, time.Duration, bool) (*causal.Trace, error) {
	return nil, errSavedRecording
}
