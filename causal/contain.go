package causal

import (
	"fmt"
	"runtime"

	"github.com/otelprof/otelprof/causal/internal/ledger"
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

// contain is deferred where an observation is.
func (o *observation) contain() {
	if v := recover(); v != nil {
		o.panicked(v)
	}
}

// These wrappers recover from panics in the ledger, so that the application's lock or send always
// completes.

func (o *observation) arrive(l *ledger.Ledger, at int64) {
	defer o.contain()
	l.Arrive(o.setting, at)
}

func (o *observation) acquire(l *ledger.Ledger, at, got int64, left *ledger.Stamp) {
	defer o.contain()
	l.Acquire(o.setting, at, got, left)
}

func (o *observation) resume(l *ledger.Ledger, at, got int64) {
	defer o.contain()
	l.Resume(o.setting, at, got)
}

func (o *observation) stamp(l *ledger.Ledger, at int64, into *ledger.Stamp) {
	defer o.contain()
	l.Stamp(o.setting, at, into)
}

// panicked books a panic, with the stack as far as it has room in a log.
func (a *audit) panicked(p *plan.Plan, value any) {
	stack := make([]byte, 4096)
	e := about(p, "", AuditPanicked, fmt.Sprint(value))
	e.stack = string(stack[:runtime.Stack(stack, false)])
	a.add(e)
}
