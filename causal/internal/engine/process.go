package engine

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/otelprof/otelprof/causal/internal/engine/requests"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/spans"
)

// Live is what the runs of a process share, as there is one scheduler.
var Live shared

// Any goroutine reads what is atomic or is set by init. Lock mu is held to replace runs.
type shared struct {
	Scheduled atomic.Pointer[Scheduled] // the overlap that the scheduler carries out, nil for none
	Runs      atomic.Pointer[[]*Run]    // that Progress counts for; replaced, never changed
	mu        sync.Mutex

	// ScheduledSpan is what spans have at hand. It takes an inline slot, of which a span has few,
	// in programs of "otelprof build" only.
	ScheduledSpan spans.Slot[scheduledSpan]

	WrappersOnly bool // for tests of what the wrappers do, in programs where the scheduler would do it
}

func init() {
	if sched.Present {
		Live.ScheduledSpan = spans.NewSlot[scheduledSpan]()
	}
}

// AddRunning has Progress count for a run.
func AddRunning(r *Run) {
	changeRunning(func(runs []*Run) []*Run { return append(runs, r) })
}

// RemoveRunning ends that.
func RemoveRunning(r *Run) {
	changeRunning(func(runs []*Run) []*Run { return slices.DeleteFunc(runs, func(have *Run) bool { return have == r }) })
}

// changeRunning calls change with a copy.
func changeRunning(change func([]*Run) []*Run) {
	Live.mu.Lock()
	defer Live.mu.Unlock()
	var runs []*Run
	if p := Live.Runs.Load(); p != nil {
		runs = slices.Clone(*p)
	}
	if runs = change(runs); len(runs) == 0 {
		requests.Calls.Clear()
	}
	Live.Runs.Store(&runs)
}
