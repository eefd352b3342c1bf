package goroutines

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/otelprof/otelprof/internal/perf"
	"github.com/otelprof/otelprof/spans/stacks"
)

// maxGoroutines is how many goroutines [Now] looks at, and perGoroutine how many bytes each takes
// meanwhile: 200,000 with one stack of 10 calls took 160 MiB, and with a hundred different stacks
// of 60 calls on average 520 MiB.
const (
	maxGoroutines = 200_000
	perGoroutine  = 3 << 10
)

// maxCalls is how many calls of a stack runtime/pprof has, the innermost.
const maxCalls = 128

// Now returns where the goroutines of this program are. The runtime writes their stacks down while
// the program runs, and stops it for some microseconds only, however many there are; each takes
// some tens of microseconds of one processor. Above maxGoroutines it is an error instead, and where
// they may take more than half of the memory that is left to the limits of the process. A stack has
// its 128 innermost calls. The reason of a wait is inferred from the runtime's calls, and for how
// long a goroutine has waited is not known: [Read] of a dump by the runtime has both. Now is safe
// for concurrent use.
func Now() (*Dump, error) {
	if err := affordable(runtime.NumGoroutine(), perf.FreeMemory(os.DirFS("/"))); err != nil {
		return nil, err
	}
	var written bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&written, 0); err != nil {
		return nil, fmt.Errorf("goroutines: %w", err)
	}
	p, err := profile.Parse(&written)
	if err != nil {
		return nil, fmt.Errorf("goroutines: %w", err)
	}
	groups := map[string]*Group{}
	for _, same := range p.Sample {
		reason, stack := resolve(same.Location)
		groupOf(groups, reason).add(stack, same.Value[0])
	}
	return newDump(groups), nil
}

// affordable is an error where n goroutines are too many to look at, or take too much memory for
// that, with left bytes left.
func affordable(n int, left int64) error {
	if n > maxGoroutines {
		return fmt.Errorf("goroutines: %d: must be at most %d", n, maxGoroutines)
	}
	if most := left / 2 / perGoroutine; int64(n) > most {
		return fmt.Errorf("goroutines: %d: must be at most %d, since each takes memory while they are looked at, of which %d MiB are left", n, max(most, 0), left>>20)
	}
	return nil
}

// resolve returns the reason of a wait and the calls, without those of the runtime's own, as in its
// dumps.
func resolve(calls []*profile.Location) (reason string, stack []stacks.Frame) {
	parked := false
	for _, call := range calls {
		for _, at := range call.Line { // those inlined come first
			name := at.Function.Name
			parked = parked || name == "runtime.gopark"
			if reason == "" {
				reason = reasons[name]
			}
			if shown(name) {
				stack = append(stack, stacks.NewFrame(name, at.Function.Filename, int(at.Line)))
			}
		}
	}
	switch {
	case len(calls) >= maxCalls:
		stack = append(stack, stacks.NewFrame("[calls left out]", "", 0))
	case len(stack) == 0:
		stack = append(stack, stacks.NewFrame("[runtime]", "", 0))
	}
	switch {
	case reason != "":
	case parked:
		reason = "waiting"
	default:
		reason = "runnable"
	}
	return reason, stack
}

// shown reports whether a call is one of a program's: of the runtime's functions only the exported
// ones are.
func shown(function string) bool {
	name, own := strings.CutPrefix(function, "runtime.")
	return function != "" && (!own || name[0] >= 'A' && name[0] <= 'Z')
}

// reasons are the runtime's names of what goroutines wait for, by the function in which they do.
// The innermost one counts. Without one a goroutine is "runnable": it runs, or waits for a
// processor.
var reasons = map[string]string{
	"runtime/pprof.writeGoroutine":            "running", // the one that looks
	"runtime.block":                           "select (no cases)",
	"runtime.chanrecv":                        "chan receive",
	"runtime.chansend":                        "chan send",
	"runtime.coroswitch":                      "coroutine",
	"runtime.selectgo":                        "select",
	"time.Sleep":                              "sleep",
	"internal/poll.runtime_pollWait":          "IO wait",
	"internal/poll.runtime_Semacquire":        "semacquire",
	"internal/sync.runtime_SemacquireMutex":   "sync.Mutex.Lock",
	"sync.runtime_SemacquireMutex":            "sync.Mutex.Lock",
	"sync.runtime_SemacquireRWMutex":          "sync.RWMutex.Lock",
	"sync.runtime_SemacquireRWMutexR":         "sync.RWMutex.RLock",
	"sync.runtime_SemacquireWaitGroup":        "sync.WaitGroup.Wait",
	"sync.runtime_Semacquire":                 "semacquire",
	"sync.runtime_notifyListWait":             "sync.Cond.Wait",
	"syscall.runtime_entersyscall":            "syscall",
	"syscall.Syscall":                         "syscall",
	"syscall.Syscall6":                        "syscall",
	"syscall.syscalln":                        "syscall",
	"internal/runtime/syscall.Syscall6":       "syscall",
	"internal/runtime/syscall/linux.Syscall6": "syscall",
	"runtime.cgocall":                         "syscall",
	"os/signal.signal_recv":                   "chan receive",
}
