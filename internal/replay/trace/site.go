package trace

import (
	"slices"
	"strconv"
	"strings"

	"github.com/otelprof/otelprof/internal/glob"
	"github.com/otelprof/otelprof/internal/mark"
)

// Excludes reports whether a goroutine waits there for a lock or a condition variable.
func (s Site) Excludes() bool {
	for _, f := range s.Frames {
		if strings.HasPrefix(f.Func, "sync.(*Mutex).") || strings.HasPrefix(f.Func, "sync.(*RWMutex).") || strings.HasPrefix(f.Func, "sync.(*Cond).") {
			return true
		}
	}
	return false
}

// The frames that b.has looks for.
const (
	PollWaker = iota // a wait for the network is cut short
	NetWriter        // something is written to the network, or a connection is opened
	OfRuntime        // a goroutine of the runtime waits, or one that the garbage collector holds up
	TrySender        // something is sent to a channel where there is room, or may be
	Teller           // a channel is closed, or a condition is signalled
	Admission        // a lock is waited for, or room in a channel
	FrameClasses
)

// Classify returns which classes of waits a stack is of.
func Classify(s Site) (is [FrameClasses]bool) {
	for i, f := range s.Frames {
		switch {
		case i < 3 && f.Func == "runtime.selectnbsend", i == 0 && f.Func == "runtime.selectgo":
			is[TrySender] = true
		case i < 3 && (f.Func == "runtime.closechan" || strings.HasPrefix(f.Func, "sync.(*Cond).")):
			is[Teller] = true
		case i < 3 && (strings.HasPrefix(f.Func, "runtime.chansend") || strings.HasPrefix(f.Func, "sync.(*Mutex).") || strings.HasPrefix(f.Func, "sync.(*RWMutex).") || strings.HasPrefix(f.Func, "internal/sync.(*Mutex).")):
			is[Admission] = true
		case strings.HasPrefix(f.Func, "internal/poll."):
			is[PollWaker] = true
		case strings.HasPrefix(f.Func, "net.(*netFD).Write"), strings.HasPrefix(f.Func, "net.(*netFD).writeBuffers"), f.Func == "net.sendFile", f.Func == "syscall.Connect":
			is[NetWriter] = true
		case strings.HasPrefix(f.Func, "runtime.gc"), strings.HasPrefix(f.Func, "runtime.mallocgc"), strings.HasPrefix(f.Func, "runtime.stopTheWorld"),
			strings.HasPrefix(f.Func, "runtime.asyncPreempt"), strings.HasPrefix(f.Func, "runtime.traceAdvance"):
			is[OfRuntime] = true
		case i == len(s.Frames)-1 && strings.HasPrefix(f.Func, "runtime.") && f.Func != "runtime.main":
			is[OfRuntime] = true
		}
	}
	return is
}

// FunctionScope is the scope of regions that are functions.
const FunctionScope = "function"

// A Function is a region that no span shows: call stacks do.
type Function struct {
	Region  int32
	Pattern string
}

// Calls reports whether a function whose name matches is on the stack.
func (s Site) Calls(pattern string) bool {
	for _, f := range s.Frames {
		if glob.Match(pattern, f.Func) {
			return true
		}
	}
	return false
}

// Numbered gives sites numbers, the same to those of one key: the index of the first. A site
// without a key has its own.
func Numbered[K comparable](sites []Site, key func(Site) (K, bool)) []int32 {
	of := make([]int32, len(sites))
	numbers := map[K]int32{}
	for i, s := range sites {
		of[i] = int32(i)
		k, ok := key(s)
		if !ok {
			continue
		}
		if n, ok := numbers[k]; ok {
			of[i] = n
		} else {
			numbers[k] = of[i]
		}
	}
	return of
}

// IsInner reports whether a function is of the runtime or of package sync.
func IsInner(function string) bool {
	return strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "sync.") || strings.HasPrefix(function, "internal/sync.")
}

// StackKey returns a key of functions and lines.
func StackKey(frames []Frame) string {
	var key strings.Builder
	for _, f := range frames {
		key.WriteString(f.Func)
		key.WriteByte(':')
		key.WriteString(strconv.Itoa(f.Line))
		key.WriteByte('\n')
	}
	return key.String()
}

// Offers reports whether something is sent there by a select statement with a default.
func (s Site) Offers() bool {
	return slices.ContainsFunc(s.Frames[:min(3, len(s.Frames))], func(f Frame) bool { return f.Func == "runtime.selectnbsend" })
}

// Operation returns the operation on a lock or a condition variable that a stack is in, 0 for none.
// An RWMutex has a Mutex of its own, so that the outermost frame of package sync counts.
func (s Site) Operation() mark.Op {
	what := mark.Op(0)
	for _, f := range s.Frames {
		if !IsInner(f.Func) {
			break
		}
		switch f.Func {
		case "sync.(*Mutex).Lock":
			what = mark.Lock
		case "sync.(*Mutex).Unlock":
			what = mark.Unlock
		case "sync.(*RWMutex).Lock":
			what = mark.WriteLock
		case "sync.(*RWMutex).Unlock":
			what = mark.WriteUnlock
		case "sync.(*RWMutex).RLock":
			what = mark.ReadLock
		case "sync.(*RWMutex).RUnlock":
			what = mark.ReadUnlock
		case "sync.(*Cond).Wait":
			if what == 0 { // else it gives its lock back, or takes it again
				what = mark.Await
			}
		case "sync.(*Cond).Signal":
			what = mark.Signal
		case "sync.(*Cond).Broadcast":
			what = mark.Broadcast
		}
	}
	return what
}

// Caller returns the frame that uses a lock or a channel, be it of package sync or of package
// causal.
func (s Site) Caller() (Frame, bool) {
	for _, f := range s.Frames {
		if !slices.ContainsFunc(wrappers, func(prefix string) bool { return strings.HasPrefix(f.Func, prefix) }) {
			return f, true
		}
	}
	return Frame{}, false
}

var wrappers = []string{
	"runtime.", "sync.", "internal/sync.",
	"github.com/otelprof/otelprof/causal.", "github.com/otelprof/otelprof/causal/internal/", "github.com/otelprof/otelprof/internal/traced.",
}

// Locks reports whether that is a wait for a lock, and not for a group of goroutines.
func (s Site) Locks() bool {
	return slices.ContainsFunc(s.Frames, func(f Frame) bool {
		return glob.Match("sync.(*Mutex).Lock*", f.Func) || glob.Match("sync.(*RWMutex).*Lock*", f.Func) || glob.Match("internal/sync.(*Mutex).*", f.Func)
	})
}

// A Site is where a goroutine waits, or was created: its call stack, innermost frame first.
type Site struct{ Frames []Frame }

// Root returns the function that the goroutine began with.
func (s Site) Root() string {
	if len(s.Frames) == 0 {
		return ""
	}
	return s.Frames[len(s.Frames)-1].Func
}

// User returns the innermost frame that is neither of the runtime nor of package sync: where a lock
// or a channel is used.
func (s Site) User() (Frame, bool) {
	for _, f := range s.Frames {
		if !strings.HasPrefix(f.Func, "runtime.") && !strings.HasPrefix(f.Func, "sync.") && !strings.HasPrefix(f.Func, "internal/sync.") {
			return f, true
		}
	}
	return Frame{}, false
}

// Reader returns the innermost frame that is not of a package by which anything is read: where a
// connection is read.
func (s Site) Reader() (Frame, bool) {
	for _, f := range s.Frames {
		if !slices.ContainsFunc(readers, func(p string) bool { return strings.HasPrefix(f.Func, p) }) {
			return f, true
		}
	}
	return Frame{}, false
}

// Sends reports whether it is to write to a connection, or to open one.
func (s Site) Sends() bool {
	return slices.ContainsFunc(s.Frames, func(f Frame) bool {
		return f.Func == "internal/poll.(*FD).WaitWrite" || strings.HasPrefix(f.Func, "internal/poll.(*FD).Write")
	})
}

// readers are prefixes of functions by which files and connections are read.
var readers = []string{"runtime.", "internal/poll.", "net.", "os.", "io.", "bufio.", "crypto/tls."}

// A Frame is one call of a [Site].
type Frame struct {
	Func string
	File string
	Line int
}
