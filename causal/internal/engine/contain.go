package engine

import (
	"fmt"
)

// All code of this package that runs on the application's goroutines recovers from its own panics.
// A panic is a bug of otelprof, and measurements taken with that bug are worth nothing: the plan is
// aborted and latched, and the application goes on.

// Contain is deferred where a run is asked something.
func (run *Run) Contain() {
	if v := recover(); v != nil {
		run.panicked(v)
	}
}

// panicked ends a run for good.
func (run *Run) panicked(v any) {
	run.panics.Do(func() { run.report(run.Plan, v) })
	run.EndFor(OpenedError(fmt.Sprintf("panic: %v", v)))
}
