package engine

import (
	"github.com/otelprof/otelprof/causal/profile"

	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/internal/engine/requests"
)

// A plan is futile if all of its numbers will be withheld regardless of its experiments. That is
// known before the first of them where the warm-up has shown waits of unknown cause, or calls of
// the process to itself. Such a plan ends before it delays anything, unless it sets force.

// FutileError is why a run ended that could not have come to a number.
type FutileError struct{ why profile.Withheld }

func (e FutileError) Error() string { return e.why.String() }

const (
	// leastCallsOfItself, and twice the share that is too much, are no chance.
	leastCallsOfItself = 10
	surelyTooMany      = 2
)

// OwnCalls are the calls that the process has answered itself since the run began, if those are
// surely too many for its visits.
func (run *Run) OwnCalls() (calls, visits uint64) {
	for _, v := range run.Visits() {
		visits = max(visits, v.Count)
	}
	calls = requests.Answered.Load() - run.Answered
	if visits == 0 || calls < leastCallsOfItself || float64(calls) < surelyTooMany*experiment.MostCallsOfItself*float64(visits) {
		return 0, 0
	}
	return calls, visits
}

// givesUp ends the run if it is futile, and reports whether it did.
func (run *Run) givesUp() bool {
	if run.Plan.Mode != profile.ModeOverlap || run.Plan.Force {
		return false
	}
	run.mu.Lock()
	known := experiment.Evidence{Recorded: run.warmed.waits}
	run.mu.Unlock()
	known.Calls, known.Visits = run.OwnCalls()
	why := known.Withheld()
	if why.Code == "" {
		return false
	}
	run.pick() // for the regions of the report
	run.mu.Lock()
	run.futile = why
	run.mu.Unlock()
	run.EndFor(FutileError{why})
	return true
}
