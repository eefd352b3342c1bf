package trace

import (
	"fmt"

	"golang.org/x/exp/trace"
)

// How the reader of traces sees a goroutine is a state machine (GoState in its resources.go), and
// so is a recording's; this file has the table from one to the other, as order.go there has one
// from bytes to states. A change that is not in it ends the reading: a recording from which changes
// are missing would have goroutines that run and wait at the same time, and its answers would be
// wrong without notice. TestKnownTransitions holds the table, TestTransitions and TestGoVersions
// hold it against traces of real programs, coroutines and callbacks of C included.

// goStates is the number of states: GoSyscall is the last one.
const goStates = trace.GoSyscall + 1

// Transitions are the events of a recording for a goroutine's change from one state to another. A
// change that has none here is not known: no trace of Go 1.22 to 1.27 has it. A switch between
// coroutines is three changes, in this order: the next one is ready, the current one waits or ends,
// the next one runs (advanceGoSwitch in the reader's order.go).
var Transitions = [goStates][goStates][]EventKind{
	trace.GoUndetermined: { // in the trace from now on
		trace.GoRunning: {EvExists}, trace.GoRunnable: {EvExists}, trace.GoSyscall: {EvExists}, trace.GoWaiting: {EvExists},
	},
	trace.GoNotExist: {
		trace.GoRunnable: {EvCreate},
		// A coroutine, of iter.Pull for one: it runs once its maker asks. A callback of C has its
		// thread become a goroutine, which is then as if it had been there.
		trace.GoWaiting: {EvCreate, EvWait},
		trace.GoSyscall: {EvExists},
	},
	trace.GoRunnable: {trace.GoRunning: {EvStart}},
	trace.GoRunning: {
		trace.GoNotExist: {EvEnd}, trace.GoRunnable: {EvYield}, trace.GoWaiting: {EvWait}, trace.GoSyscall: {EvSyscall},
	},
	trace.GoWaiting: {trace.GoRunnable: {EvReady}},
	trace.GoSyscall: {trace.GoRunning: {EvReturn}, trace.GoRunnable: {EvReady}, trace.GoNotExist: {EvEnd}},
}

// existing has the state that EvExists has, by the trace's.
var existing = [goStates]int32{
	trace.GoRunning: StateRunning, trace.GoRunnable: StateRunnable, trace.GoSyscall: StateSyscall, trace.GoWaiting: StateWaiting,
}

// transition takes a change of a goroutine's state. It sets Err if it does not know the change.
func (t *Tracer) transition(at int64, e *trace.Event, s *trace.StateTransition) {
	from, to := s.Goroutine()
	if p := e.Proc(); p != trace.NoProc {
		t.procs[p] = true
	}
	if from == to { // each generation repeats the state of each goroutine that there is
		return
	}
	if since, collects := t.workers[int64(s.Resource.Goroutine())]; collects && from == trace.GoRunning {
		t.worked += at - since
		delete(t.workers, int64(s.Resource.Goroutine()))
	}
	if from >= goStates || to >= goStates || Transitions[from][to] == nil {
		t.Err = fmt.Errorf("goroutine %d: a change from %v to %v: must be one of Go 1.22 to 1.27", s.Resource.Goroutine(), from, to)
		return
	}
	for _, kind := range Transitions[from][to] {
		t.changed(at, kind, e, s)
	}
}

// changed adds one event of a goroutine's change. The trace's event has two sides: the context in
// which it happened (e.Goroutine, e.Proc, e.Stack), which is the waker's or the creator's, and the
// goroutine that it is about (s.Resource, s.Stack).
func (t *Tracer) changed(at int64, kind EventKind, e *trace.Event, s *trace.StateTransition) {
	id, p := int64(s.Resource.Goroutine()), e.Proc()
	from, to := s.Goroutine()
	// A goroutine that yields, waits or ends does so in its own context: By stays NoWaker. One that
	// is put on a processor has none, as the scheduler does that.
	x := Event{Kind: kind, At: at, G: t.B.Goroutine(id), By: NoWaker}
	if by := e.Goroutine(); by != trace.NoGoroutine && int64(by) != id {
		x.By = t.B.Goroutine(int64(by))
	}
	switch kind {
	// Where and why it waits is left out, see EvExists.
	case EvExists:
		x.Arg = existing[to]
	case EvCreate, EvSyscall:
		x.Site = t.site(s.Stack)
	case EvWait:
		x.Arg = WaitOther
		if from != trace.GoNotExist { // else the stack is that of what made it
			x.Site, x.Arg = t.site(s.Stack), reasonOf(s.Reason)
		}
	case EvStart, EvReturn:
		x.Arg = int32(p)
	case EvReady:
		switch {
		// A system call ends by itself, whatever runs where the scheduler notes it.
		case from == trace.GoSyscall:
			x.By = NoWaker
		// A timer or the poller, which the scheduler looks at on some processor.
		case x.By < 0 && p != trace.NoProc:
			x.Arg = int32(p) + 1
		// The waker's stack shows what it did: unlock, send, close, or only happen to be there.
		case x.By >= 0:
			x.Site = t.site(e.Stack())
		}
	}
	t.B.Add(x)
	// Goroutine IDs are never used again, so that this only keeps the maps small.
	if kind == EvEnd {
		t.B.forget(id)
		delete(t.regions, id)
	}
}
