package viewer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/schedule"
	"github.com/otelprof/otelprof/spans/stacks"
)

// Saved is what was measured at another time or elsewhere, in place of what runs here. It must
// not change any more.
type Saved struct {
	// Profile is the causal profile; nil for none.
	Profile *profile.Profile
	// Stacks are the call stacks; nil for none. They are the answer for any time that is asked for.
	Stacks *stacks.Recording
	// Schedule is where the time of regions went, from an execution trace; nil for none.
	Schedule *schedule.Report
	// Runs are compared with each other, the first with the last unless the reader chooses others;
	// fewer than two for no comparison.
	Runs []Run
	// RelativeError bounds the error of the regions' percentiles, where it is more than the
	// snapshots of the durations say: they were made of coarser histograms.
	RelativeError float64
}

// useSaved puts what was saved where the live sources would be.
func (h *Handler) useSaved(s Saved) {
	if s.Profile != nil {
		h.causal = savedExperiments{*s.Profile}
	}
	if s.Stacks != nil {
		h.stacks = savedStacks{s.Stacks}
	}
	if s.Schedule != nil {
		h.schedule = savedSchedule{s.Schedule}
	}
	h.saved, h.runs, h.leastError = true, s.Runs, s.RelativeError
}

// savedExperiments are over.
type savedExperiments struct{ profile profile.Profile }

var errSavedRecording = fmt.Errorf("%w: must be of a process that runs; these are saved data", causal.ErrRecording)

var errSaved = errors.New("viewer: plan: must be sent to a process that runs; these are saved data")

func (s savedExperiments) Status() causal.Status {
	return causal.Status{State: causal.StateStopped, Reason: "these are saved data: no experiment can run"}
}
func (s savedExperiments) Profile() profile.Profile                  { return s.profile }
func (s savedExperiments) ApplyFrom(causal.Source, *plan.Plan) error { return errSaved }
func (s savedExperiments) Reject(causal.Source, error)               {}
func (s savedExperiments) StopPlan(string)                           {}

// savedStacks have one window, all of the recording, and no sessions.
type savedStacks struct{ recording *stacks.Recording }

func (s savedStacks) Snapshot(time.Duration) *stacks.Recording { return s.recording }

func (s savedStacks) Session(spans.SessionID) (*stacks.Tree, bool) { return nil, false }

func (s savedStacks) Stats() stacks.Stats {
	return stacks.Stats{State: stacks.Closed, Reason: "these are saved data"}
}

// savedSchedule has one window, all of the trace.
type savedSchedule struct{ report *schedule.Report }

func (s savedSchedule) Snapshot(context.Context) (*schedule.Report, error) { return s.report, nil }
