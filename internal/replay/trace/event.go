package trace

import (
	"github.com/otelprof/otelprof/internal/mark"
)

// EventKind is what happened to a goroutine.
type EventKind uint8

// The kinds of events.
const (
	EvExists  EventKind = iota + 1 // at the beginning of the window; arg is a state; of one that waits, site is where and ref a reason
	EvCreate                       // by creates g; site is where
	EvReady                        // g need not wait any more: by woke it, or something outside, on processor arg-1 if arg is not 0
	EvStart                        // g runs on processor arg
	EvYield                        // g no longer runs, though it could
	EvWait                         // g waits at site; arg is a reason
	EvSyscall                      // g enters a system call at site
	EvReturn                       // g is back from one, and runs
	EvEnd                          // g ends
	EvOpen                         // span ref begins on g
	EvClose                        // span ref ends on g
	EvVisit                        // progress point ref is visited by g
	EvSample                       // g computes at site
	EvOperate                      // g does operation what on object ref, with arg
)

// The states that EvExists has.
const (
	StateRunning = iota
	StateRunnable
	StateWaiting
	StateSyscall
)

// The reasons for a wait that matter to the model.
const (
	WaitOther = iota
	WaitTimer
	WaitNetwork
	WaitMutex
	WaitSend
	WaitReceive
	WaitSelect
	waitForever // goroutines of the runtime that idle
)

// An Event is a change of one goroutine.
type Event struct {
	At   int64
	G    int32
	By   int32 // -1 for none
	Ref  int32 // the number of a span, a progress point or an object
	Arg  int32
	Site int32
	Kind EventKind
	What mark.Op
}

// A Span is a live region: one start and one end.
type Span struct {
	Region int32
	Parent int32 // index of the local parent, -1 for none
	id     uint64
	Remote uint64 // ID of the remote parent, 0 for none
	Root   bool
}

// NoWaker is the waker of what something outside wakes.
const NoWaker = -1
