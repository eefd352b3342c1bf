package replay

import (
	"fmt"

	"golang.org/x/exp/trace"
)

const goStates = trace.GoSyscall + 1

// transitions are the events of a recording for a goroutine's change from one state to another. A change that has none here is
// not known: no trace of Go 1.22 to 1.27 has it.
var transitions = [goStates][goStates][]eventKind{
	trace.GoUndetermined: { // in the trace from now on
		trace.GoRunning: {evExists}, trace.GoRunnable: {evExists}, trace.GoSyscall: {evExists}, trace.GoWaiting: {evExists},
	},
	trace.GoNotExist: {
		trace.GoRunnable: {evCreate},
		trace.GoWaiting:  {evCreate, evWait}, // a coroutine, of iter.Pull for one: it runs once its maker asks
		trace.GoSyscall:  {evExists},         // a callback of C
	},
	trace.GoRunnable: {trace.GoRunning: {evStart}},
	trace.GoRunning: {
		trace.GoNotExist: {evEnd}, trace.GoRunnable: {evYield}, trace.GoWaiting: {evWait}, trace.GoSyscall: {evSyscall},
	},
	trace.GoWaiting: {trace.GoRunnable: {evReady}},
	trace.GoSyscall: {trace.GoRunning: {evReturn}, trace.GoRunnable: {evReady}, trace.GoNotExist: {evEnd}},
}

var existing = [goStates]int32{
	trace.GoRunning: stateRunning, trace.GoRunnable: stateRunnable, trace.GoSyscall: stateSyscall, trace.GoWaiting: stateWaiting,
}

func (t *tracer) transition(at int64, e *trace.Event, s *trace.StateTransition) {
	from, to := s.Goroutine()
	if p := e.Proc(); p != trace.NoProc {
		t.procs[p] = true
	}
	if from == to { // repeated where the trace has a seam
		return
	}
	if from >= goStates || to >= goStates || transitions[from][to] == nil {
		t.err = fmt.Errorf("goroutine %d: a change from %v to %v: must be one of Go 1.22 to 1.27", s.Resource.Goroutine(), from, to)
		return
	}
	for _, kind := range transitions[from][to] {
		t.changed(at, kind, e, s)
	}
}

// changed adds one event of a goroutine's change.
func (t *tracer) changed(at int64, kind eventKind, e *trace.Event, s *trace.StateTransition) {
	id, p := int64(s.Resource.Goroutine()), e.Proc()
	from, to := s.Goroutine()
	x := event{kind: kind, at: at, g: t.b.goroutine(id), by: noWaker}
	if by := e.Goroutine(); by != trace.NoGoroutine && int64(by) != id {
		x.by = t.b.goroutine(int64(by))
	}
	switch kind {
	case evExists:
		x.arg = existing[to]
	case evCreate:
		x.site = t.site(s.Stack)
		if isGCWorker(t.b.r.sites[x.site]) {
			t.b.r.idleGC[x.g] = true
		}
	case evWait:
		x.arg = waitOther
		if from != trace.GoNotExist { // else the stack is that of what made it
			x.site, x.arg = t.site(s.Stack), reasonOf(s.Reason)
		}
	case evSyscall:
		x.site = t.site(s.Stack)
	case evStart, evReturn:
		x.arg = int32(p)
	case evReady:
		switch {
		case from == trace.GoSyscall:
			x.by = noWaker
		case x.by < 0 && p != trace.NoProc:
			x.arg = int32(p) + 1
		case x.by >= 0:
			x.site = t.site(e.Stack())
		}
	}
	t.b.add(x)
	if kind == evEnd {
		t.b.forget(id)
		delete(t.regions, id)
	}
}
