package trace

import (
	"github.com/otelprof/otelprof/internal/mark"
)

// EventKind is what happened to a goroutine. A goroutine goes through these states:
//
//	EvCreate     EvStart     EvWait      EvReady      EvStart     EvEnd
//	   |--runnable--|--running--|--waiting--|--runnable--|--running--|
//
//	EvSyscall          EvReturn                 the call kept its processor
//	   |--system call-----|--running--
//
//	EvSyscall          EvReady      EvStart     another goroutine got the processor meanwhile
//	   |--system call-----|--runnable--|--running--
//
// What is between EvReady and EvStart is scheduling latency: the goroutine waits for a processor,
// not for its object. EvYield (preempted, or runtime.Gosched) leads from running to runnable.
// transition.go makes these events of those of a trace.
type EventKind uint8

// The kinds of events.
const (
	// EvExists is of a goroutine that was there before the window, or that a thread of C has become
	// by a call into Go; arg is a state. Of one that waits, site is where and ref a reason, 0 where
	// these are not known. A trace has the state when it first needs it: of a goroutine that waits,
	// just before it is woken, or at the end of a generation (emitUnblockStatus in
	// runtime/traceruntime.go, traceAdvance in runtime/trace.go). So its time may be later than the
	// window's start, though the state has held since then.
	EvExists EventKind = iota + 1
	// EvCreate is of g, which by creates, or something outside with by -1 (a timer's call). The
	// site is the function that g begins with, a stack of one frame (startPCForTrace in
	// runtime/tracestack.go), not where the go statement stands. Goroutines of one place of a
	// program have this in common, and so do all of errgroup's.
	EvCreate
	// EvReady has g need not wait any more: by woke it, or something outside (timer, network
	// poller) on processor arg-1 if arg is not 0. The site is the waker's stack, where there is a
	// waker.
	EvReady
	EvStart   // g runs on processor arg
	EvYield   // g no longer runs, though it could
	EvWait    // g waits at site; arg is a reason
	EvSyscall // g enters a system call at site
	EvReturn  // g is back from one, and runs on processor arg
	EvEnd     // g ends
	EvOpen    // span ref begins on g
	EvClose   // span ref ends on g, which need not be where it began
	EvVisit   // progress point ref is visited by g
	EvSample  // g computes at site: one sample of a CPU profile
	EvOperate // g does operation what on object ref, with arg; see mark.Op
	// EvIdle is of a worker of the garbage collector that has a processor which has nothing else to
	// do. It gives that to the next goroutine that is ready (gcDrainMarkWorkerIdle in
	// runtime/mgcmark.go), so that it takes nothing from any.
	EvIdle
)

// The states that EvExists has. Running must be 0: a goroutine of which only marks are seen runs,
// see skipUnmarked.
const (
	StateRunning = iota
	StateRunnable
	StateWaiting
	StateSyscall
)

// The reasons for a wait that matter to the model, by traceBlockReasonStrings in
// runtime/traceruntime.go. [Recording.Waited] needs those from WaitMutex to WaitSelect in one
// range: locks and channels. Package model has reasons of its own from 64 on.
const (
	// WaitOther is any other one: sync.Cond, a coroutine's switch, the garbage collector.
	WaitOther = iota
	// WaitTimer is time.Sleep alone. A wait for a timer's channel is a receive or a select, which
	// something outside ends.
	WaitTimer
	// WaitNetwork is a wait for the poller: connections, and files and pipes that can be polled.
	WaitNetwork
	// WaitMutex is a wait for a semaphore: Mutex, RWMutex and WaitGroup (semacquire1 in
	// runtime/sema.go). The call stack distinguishes them, see [Site.Locks].
	WaitMutex
	WaitSend
	WaitReceive
	// WaitSelect is a select statement that has more than one case; with one case the compiler
	// makes it a send or a receive.
	WaitSelect
	// waitForever are waits that nothing ends (an empty select, a nil channel), and goroutines of
	// the runtime that idle.
	waitForever
)

// An Event is a change of one goroutine. It takes 32 bytes: millions of them are held at a time,
// see maxEvents. What a field means depends on the kind.
type Event struct {
	At   int64     // ns, on the recording's own clock
	G    int32     // the goroutine whose event it is
	By   int32     // another goroutine on which it happened: the waker, the creator; -1 for none
	Ref  int32     // the number of a span, a progress point or an object; of EvExists a reason
	Arg  int32     // a state, a processor, a reason, or the argument of an operation
	Site int32     // index of Recording.Sites, 0 for not known
	Kind EventKind // first of all
	What mark.Op   // of EvOperate alone
}

// Runs reports whether a goroutine runs from its event on. It is not known where the event leaves
// that as it is, as marks and samples do.
func (e *Event) Runs() (runs, known bool) {
	switch e.Kind {
	case EvExists:
		return e.Arg == StateRunning, true
	case EvStart, EvReturn:
		return true, true
	case EvYield, EvWait, EvSyscall, EvEnd:
		return false, true
	}
	return false, false
}

// A Span is a live region: one start and one end. Either may be outside of the recording. A region
// of runtime/trace is one without a parent that is no root, so that it is no progress point.
type Span struct {
	Region int32 // index of Recording.Regions
	// Parent is the index of the local parent, -1 for none, or for one that began before the
	// recording: Root distinguishes these.
	Parent int32
	ID     uint64 // the span's ID of OpenTelemetry, 0 where there is none
	Remote uint64 // ID of the remote parent, 0 for none: of another process, or this one's loopback
	// Trace is the ID of the trace that a sampled span belongs to, zeros for others.
	Trace [16]byte
	// Root is of a span without a local parent. Its end is progress, unless its remote parent is in
	// the recording ([Recording.Requests]).
	Root bool
}

// NoWaker is the waker of what something outside wakes: a timer, the network, a signal, C.
const NoWaker = -1
