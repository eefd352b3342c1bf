package causal

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/spans"
)

// live is what the runs of a process share, as there is one scheduler.
//
// Any goroutine reads what is atomic or is set by init. Lock mu is held to replace runs.
var live struct {
	scheduled atomic.Pointer[scheduled] // the overlap that the scheduler carries out, nil for none
	runs      atomic.Pointer[[]*run]    // that Progress counts for; replaced, never changed
	mu        sync.Mutex

	// scheduledSpan is what spans have at hand. It takes an inline slot, of which a span has few, in programs of "otelprof build" only.
	scheduledSpan spans.Slot[scheduledSpan]

	wrappersOnly bool // for tests of what the wrappers do, in programs where the scheduler would do it
}

func init() {
	if sched.Present {
		live.scheduledSpan = spans.NewSlot[scheduledSpan]()
	}
}

// addRunning has Progress count for a run.
func addRunning(r *run) {
	changeRunning(func(runs []*run) []*run { return append(runs, r) })
}

// removeRunning ends that.
func removeRunning(r *run) {
	changeRunning(func(runs []*run) []*run { return slices.DeleteFunc(runs, func(have *run) bool { return have == r }) })
}

// changeRunning calls change with a copy.
func changeRunning(change func([]*run) []*run) {
	live.mu.Lock()
	defer live.mu.Unlock()
	var runs []*run
	if p := live.runs.Load(); p != nil {
		runs = slices.Clone(*p)
	}
	runs = change(runs)
	live.runs.Store(&runs)
}
