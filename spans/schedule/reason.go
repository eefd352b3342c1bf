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

// A class is where time can go: running, runnable, or one of the reasons.
type class uint8

const (
	unknown class = iota // before the first event of a goroutine
	running
	runnable
	forLock
	forCond
	forSend
	forReceive
	forSelect
	forNetwork
	forSleep
	inSyscall
	forGC
	otherwise
	numClasses

	firstReason = forLock
)

// reasons are those of the classes from firstReason on.
var reasons = [numClasses - firstReason]Reason{"sync", "cond", "chan send", "chan receive", "select", "network", "sleep", "syscall", "gc", "other"}

// waits are the words that the runtime has for the reasons. It may get new ones: they are other.
var waits = map[string]class{
	"sync":                         forLock,
	"sync.(*Cond).Wait":            forCond,
	"chan send":                    forSend,
	"chan receive":                 forReceive,
	"select":                       forSelect,
	"network":                      forNetwork,
	"sleep":                        forSleep,
	"GC mark assist wait for work": forGC,
	"GC background sweeper wait":   forGC,
	"GC weak to strong wait":       forGC,
	"wait until GC ends":           forGC,
	// It could go on, but is held so that the collector can look at its stack.
	"preempted": runnable,
}

var (
	forChannel = []class{forReceive, forSelect}
	// forOthers are those that another goroutine ends by what it does.
	forOthers = []class{forLock, forCond, forSend, forReceive, forSelect}
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
