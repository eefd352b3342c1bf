package schedule

import "golang.org/x/exp/trace"

// A Reason is what a goroutine is blocked by.
type Reason string

// The reasons.
const (
	Sync        Reason = "sync" // Mutex, RWMutex, WaitGroup, Once
	Cond        Reason = "cond" // sync.Cond
	ChanSend    Reason = "chan send"
	ChanReceive Reason = "chan receive"
	Select      Reason = "select"
	Network     Reason = "network" // and other files that can be polled
	Sleep       Reason = "sleep"
	Syscall     Reason = "syscall" // and C
	GC          Reason = "gc"      // work for the garbage collector, or a wait for it
	Other       Reason = "other"
)

// A class is where time can go: running, runnable, or one of the reasons.
type class uint8

const (
	unknown class = iota // before the first event of a goroutine
	running
	runnable
	firstReason
	numClasses = firstReason + class(len(reasons))
)

var reasons = [...]Reason{Sync, Cond, ChanSend, ChanReceive, Select, Network, Sleep, Syscall, GC, Other}

func classOf(r Reason) class {
	for i, known := range reasons {
		if known == r {
			return firstReason + class(i)
		}
	}
	return classOf(Other)
}

// waits are the words that the runtime has for the reasons. It may get new ones: they are other.
var waits = map[string]class{
	"sync":                         classOf(Sync),
	"sync.(*Cond).Wait":            classOf(Cond),
	"chan send":                    classOf(ChanSend),
	"chan receive":                 classOf(ChanReceive),
	"select":                       classOf(Select),
	"network":                      classOf(Network),
	"sleep":                        classOf(Sleep),
	"GC mark assist wait for work": classOf(GC),
	"GC background sweeper wait":   classOf(GC),
	"GC weak to strong wait":       classOf(GC),
	"wait until GC ends":           classOf(GC),
	// It could go on, but is held so that the collector can look at its stack.
	"preempted": runnable,
}

var (
	inSyscall = classOf(Syscall)
	forGC     = classOf(GC)
	otherwise = classOf(Other)
)

// classAfter is where the time goes after a change of a goroutine's state.
func classAfter(s trace.StateTransition) class {
	switch _, to := s.Goroutine(); to {
	case trace.GoRunning:
		return running
	case trace.GoRunnable:
		return runnable
	case trace.GoSyscall:
		return inSyscall
	case trace.GoWaiting:
		if c, ok := waits[s.Reason]; ok {
			return c
		}
		return otherwise
	default:
		return unknown
	}
}
