package causal

import (
	"fmt"
	"runtime"

	"github.com/otelprof/otelprof/causal/plan"
)

// All code of this package that runs on the application's goroutines recovers from its own panics.
// A panic is a bug of otelprof, and measurements taken with that bug are worth nothing: the plan is
// aborted and latched, and the application goes on.

// contain is deferred where a run is asked something.
func (run *run) contain() {
	if v := recover(); v != nil {
		run.panicked(v)
	}
}

// panicked ends a run for good.
func (run *run) panicked(v any) {
	run.panics.Do(func() { run.audit.panicked(run.plan, v) })
	run.endFor(openedError(fmt.Sprintf("panic: %v", v)))
}

// panicked books a panic, with the stack as far as it has room in a log.
func (a *audit) panicked(p *plan.Plan, value any) {
	stack := make([]byte, 4096)
	e := about(p, "", AuditPanicked, fmt.Sprint(value))
	e.stack = string(stack[:runtime.Stack(stack, false)])
	a.add(e)
}
