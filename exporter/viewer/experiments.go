package viewer

import (
	"context"
	"io"
	"time"

	"github.com/otelprof/otelprof/causal"
)

// source names this package in the controller's audit.
var source = causal.Source{Name: "viewer"}

// experiments is what the viewer needs of a causal.Controller.
type experiments interface {
	Status() causal.Status
	Profile() causal.Profile
	Timeline() causal.Timeline
	Record(ctx context.Context, d time.Duration) error
	Check(*causal.Plan) error
	ApplyFrom(causal.Source, *causal.Plan) error
	Reject(causal.Source, error)
	Stop(reason string)
}

var _ experiments = (*causal.Controller)(nil)

// What was saved has no timeline, and takes no plan.
func (savedExperiments) Timeline() causal.Timeline {
	return causal.Timeline{Regions: []causal.RegionKey{}, Progress: []causal.ProgressPoint{}, Experiments: []causal.Experiment{}}
}
func (savedExperiments) Check(*causal.Plan) error { return errSaved }
func (savedExperiments) Record(context.Context, time.Duration) error {
	return errSavedRecording
}

func parsePlan(doc []byte) (*causal.Plan, error) { return causal.ParsePlan(doc) }

func writeCoz(w io.Writer, p causal.Profile) error { return p.WriteCoz(w) }

func writeSVG(w io.Writer, p causal.Profile) error { return p.WriteSVG(w) }
