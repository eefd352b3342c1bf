package trace

import (
	"fmt"

	"golang.org/x/exp/trace"
)

const goStates = trace.GoSyscall + 1

// Transitions are the events of a recording for a goroutine's change from one state to another. A
// change that has none here is not known: no trace of Go 1.22 to 1.27 has it.
var Transitions = [goStates][goStates][]EventKind{
	trace.GoUndetermined: { // in the trace from now on
		trace.GoRunning: {EvExists}, trace.GoRunnable: {EvExists}, trace.GoSyscall: {EvExists}, trace.GoWaiting: {EvExists},
	},
	trace.GoNotExist: {
		trace.GoRunnable: {EvCreate},
		trace.GoWaiting:  {EvCreate, EvWait}, // a coroutine, of iter.Pull for one: it runs once its maker asks
		trace.GoSyscall:  {EvExists},         // a callback of C
	},
	trace.GoRunnable: {trace.GoRunning: {EvStart}},
	trace.GoRunning: {
		trace.GoNotExist: {EvEnd}, trace.GoRunnable: {EvYield}, trace.GoWaiting: {EvWait}, trace.GoSyscall: {EvSyscall},
	},
	trace.GoWaiting: {trace.GoRunnable: {EvReady}},
	trace.GoSyscall: {trace.GoRunning: {EvReturn}, trace.GoRunnable: {EvReady}, trace.GoNotExist: {EvEnd}},
}

var existing = [goStates]int32{
	trace.GoRunning: StateRunning, trace.GoRunnable: StateRunnable, trace.GoSyscall: StateSyscall, trace.GoWaiting: StateWaiting,
}

func (t *Tracer) transition(at int64, e *trace.Event, s *trace.StateTransition) {
	from, to := s.Goroutine()
	if p := e.Proc(); p != trace.NoProc {
		t.procs[p] = true
	}
	if from == to { // repeated where the trace has a seam
		return
	}
	if from >= goStates || to >= goStates || Transitions[from][to] == nil {
		t.Err = fmt.Errorf("goroutine %d: a change from %v to %v: must be one of Go 1.22 to 1.27", s.Resource.Goroutine(), from, to)
		return
	}
	for _, kind := range Transitions[from][to] {
		t.changed(at, kind, e, s)
	}
}

// changed adds one event of a goroutine's change.
func (t *Tracer) changed(at int64, kind EventKind, e *trace.Event, s *trace.StateTransition) {
	id, p := int64(s.Resource.Goroutine()), e.Proc()
	from, to := s.Goroutine()
	x := Event{Kind: kind, At: at, G: t.B.Goroutine(id), By: NoWaker}
	if by := e.Goroutine(); by != trace.NoGoroutine && int64(by) != id {
		x.By = t.B.Goroutine(int64(by))
	}
	switch kind {
	case EvExists:
		x.Arg = existing[to]
	case EvCreate:
		x.Site = t.site(s.Stack)
		if isGCWorker(t.B.R.Sites[x.Site]) {
			t.B.R.IdleGC[x.G] = true
		}
	case EvWait:
		x.Arg = WaitOther
		if from != trace.GoNotExist { // else the stack is that of what made it
			x.Site, x.Arg = t.site(s.Stack), reasonOf(s.Reason)
		}
	case EvSyscall:
		x.Site = t.site(s.Stack)
	case EvStart, EvReturn:
		x.Arg = int32(p)
	case EvReady:
		switch {
		case from == trace.GoSyscall:
			x.By = NoWaker
		case x.By < 0 && p != trace.NoProc:
			x.Arg = int32(p) + 1
		case x.By >= 0:
			x.Site = t.site(e.Stack())
		}
	}
	t.B.Add(x)
	if kind == EvEnd {
		t.B.forget(id)
		delete(t.regions, id)
	}
}
