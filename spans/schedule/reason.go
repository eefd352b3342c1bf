package schedule

import "golang.org/x/exp/trace"

// A Reason is what a goroutine is blocked by. Later versions may have further ones:
//
//	sync          a Mutex, RWMutex, WaitGroup or Once
//	cond          a sync.Cond
//	chan send     a channel that takes no value
//	chan receive  a channel that has none
//	select        a select statement
//	network       the network, and other files that can be polled
//	sleep         time.Sleep
//	syscall       a system call, or C
//	gc            work for the garbage collector, or a wait for it
//	other         what else the runtime has a word for
type Reason string

const (
	reasonSync        Reason = "sync"
	reasonCond        Reason = "cond"
	reasonChanSend    Reason = "chan send"
	reasonChanReceive Reason = "chan receive"
	reasonSelect      Reason = "select"
	reasonNetwork     Reason = "network"
	reasonSleep       Reason = "sleep"
	reasonSyscall     Reason = "syscall"
	reasonGC          Reason = "gc"
	reasonOther       Reason = "other"
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

var reasons = [...]Reason{reasonSync, reasonCond, reasonChanSend, reasonChanReceive, reasonSelect, reasonNetwork, reasonSleep, reasonSyscall, reasonGC, reasonOther}

func classOf(r Reason) class {
	for i, known := range reasons {
		if known == r {
			return firstReason + class(i)
		}
	}
	return classOf(reasonOther)
}

// waits are the words that the runtime has for the reasons. It may get new ones: they are other.
var waits = map[string]class{
	"sync":                         classOf(reasonSync),
	"sync.(*Cond).Wait":            classOf(reasonCond),
	"chan send":                    classOf(reasonChanSend),
	"chan receive":                 classOf(reasonChanReceive),
	"select":                       classOf(reasonSelect),
	"network":                      classOf(reasonNetwork),
	"sleep":                        classOf(reasonSleep),
	"GC mark assist wait for work": classOf(reasonGC),
	"GC background sweeper wait":   classOf(reasonGC),
	"GC weak to strong wait":       classOf(reasonGC),
	"wait until GC ends":           classOf(reasonGC),
	// It could go on, but is held so that the collector can look at its stack.
	"preempted": runnable,
}

var (
	inSyscall = classOf(reasonSyscall)
	forGC     = classOf(reasonGC)
	otherwise = classOf(reasonOther)

	forChannel = []class{classOf(reasonChanReceive), classOf(reasonSelect)}

	forLock = classOf(reasonSync)
	forCond = classOf(reasonCond)
	// forOthers are those that another goroutine ends by what it does.
	forOthers = []class{forLock, forCond, classOf(reasonChanSend), classOf(reasonChanReceive), classOf(reasonSelect)}
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
