package trace

import (
	"slices"
	"strconv"
	"strings"

	"github.com/otelprof/otelprof/internal/glob"
	"github.com/otelprof/otelprof/internal/mark"
)

// What call stacks show. A trace gives a wait one of fewer than twenty reasons, and no object. The
// stack of the goroutine that waits, and that of the one that ends the wait, show more: which
// operation of package sync it is in, whether it is the runtime's own, which function of the
// program uses the lock. Frames are functions by their names in Go's runtime and standard library,
// which are not covered by Go's promise of compatibility: a version that renames one makes a class
// empty, and answers worse, without an error. Since Go 1.24 sync.Mutex is a shell around
// internal/sync.Mutex; both names are known where it matters.
//
// The runtime leaves out some of its innermost frames (skipframes in runtime/sema.go), so that a
// wait for a Mutex begins like this, innermost first:
//
//	sync.(*Mutex).Lock        i = 0
//	main.(*cache).get             1: the frame that uses the lock
//	main.handle                   2
//	net/http.(*conn).serve        3: where the goroutine began
//
// A rule about the operation itself looks at the first three frames alone: further out the same
// name would be a caller of what waits, for another reason.

// Excludes reports whether a goroutine waits there for a lock or a condition variable: for others
// to leave, or to change something, not for an element. It is what the doubt about unknown order
// and the measure of contention count.
func (s Site) Excludes() bool {
	return slices.ContainsFunc(s.Frames, func(f Frame) bool { return hasPrefix(f.Func, "sync.(*Mutex).", "sync.(*RWMutex).", "sync.(*Cond).") })
}

// Closes reports whether a waker closes a channel. The runtime leaves closechan out of the stack
// (goready skips two frames there, in runtime/chan.go), so that the innermost frame is the caller.
// All others that end waits are the runtime's, or of packages sync and internal/poll.
func (s Site) Closes() bool {
	return len(s.Frames) > 0 && !IsInner(s.Frames[0].Func) && !strings.HasPrefix(s.Frames[0].Func, "internal/")
}

// hasPrefix reports whether a function begins with any of the prefixes.
func hasPrefix(function string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(function, prefix) })
}

// The classes of stacks, see [Classify]. A stack may be of several.
const (
	// PollWaker is a goroutine within internal/poll: if it ends another one's wait for the network,
	// it cut that short by a close or a deadline. Any other goroutine on which such a wait ends
	// only happened to look at the poller (calls of netpoll in runtime/proc.go).
	PollWaker = iota
	// NetWriter is a system call by which something is written to the network, or a connection is
	// opened: what a peer may answer. Datagrams (netFD.writeTo, writeMsg) and splice are not in it.
	NetWriter
	// OfRuntime is a goroutine of the runtime, or one that the garbage collector or a stop of the
	// world holds up: waits that no lock or channel of the program explains. They last as long in a
	// replay as they did. A stack whose outermost frame is the runtime's is taken for one, so those
	// of coroutines, too (iter.Pull): they begin with corostart in runtime/coro.go.
	OfRuntime
	// TrySender is a waker that has sent without waiting: select with one case and a default
	// (selectnbsend in runtime/chan.go), or with several cases, where it may also have received.
	TrySender
	// Teller is a waker that has closed a channel, or signalled a condition variable: both may end
	// several waits, and hand over no element.
	Teller
	// Admission is a wait for a lock, or for room in a channel: for leave to go on, not for a
	// result.
	Admission
	// FrameClasses is the number of classes.
	FrameClasses
)

// Classify returns which classes a stack is of. Each frame counts for one class at most, the first
// that it fits; callers keep the result for each site, see [BySite].
func Classify(s Site) (is [FrameClasses]bool) {
	is[Teller] = s.Closes()
	for i, f := range s.Frames {
		switch {
		case i < 3 && f.Func == "runtime.selectnbsend", i == 0 && f.Func == "runtime.selectgo":
			is[TrySender] = true
		case i < 3 && strings.HasPrefix(f.Func, "sync.(*Cond)."):
			is[Teller] = true
		case i < 3 && (strings.HasPrefix(f.Func, "runtime.chansend") || strings.HasPrefix(f.Func, "sync.(*Mutex).") || strings.HasPrefix(f.Func, "sync.(*RWMutex).") || strings.HasPrefix(f.Func, "internal/sync.(*Mutex).")):
			is[Admission] = true
		case strings.HasPrefix(f.Func, "internal/poll."):
			is[PollWaker] = true
		case WritesToNetwork(f.Func), f.Func == "syscall.Connect":
			is[NetWriter] = true
		case strings.HasPrefix(f.Func, "runtime.gc"), strings.HasPrefix(f.Func, "runtime.mallocgc"), strings.HasPrefix(f.Func, "runtime.stopTheWorld"),
			strings.HasPrefix(f.Func, "runtime.asyncPreempt"), strings.HasPrefix(f.Func, "runtime.traceAdvance"):
			is[OfRuntime] = true
		// The outermost frame: a trace leaves out runtime.goexit, and runtime.main of goroutine 1
		// (traceStack in runtime/tracestack.go). The goroutine of iter.Pull begins with corostart,
		// and a call from a thread of C with cgocallbackg: what they do is the program's.
		case i == len(s.Frames)-1 && strings.HasPrefix(f.Func, "runtime.") &&
			f.Func != "runtime.main" && f.Func != "runtime.corostart" && f.Func != "runtime.cgocallbackg":
			is[OfRuntime] = true
		}
	}
	return is
}

// BySite returns what is of each stack: it is looked at once, and not for each of its events.
func BySite[T any](sites []Site, of func(Site) T) []T {
	all := make([]T, len(sites))
	for i, s := range sites {
		all[i] = of(s)
	}
	return all
}

// EndsOutside reports whether the goroutine on which a wait ended only happened to be there, by the
// wait's reason and the classes of its stack and the other's: the scheduler looks at timers and the
// poller on any goroutine's behalf, and a garbage collection holds up and lets go what it finds.
// Of the network a deadline or a close alone is the program's doing.
func EndsOutside(reason int32, wait, wake [FrameClasses]bool) bool {
	switch reason {
	case WaitTimer:
		return true
	case WaitNetwork:
		return !wake[PollWaker]
	}
	return wait[OfRuntime] || wake[OfRuntime]
}

// Joins reports whether it is where a goroutine waits for others to end (sync.WaitGroup), which has
// the same reason in a trace as a lock: Wait is one of the three innermost frames. A function that
// WaitGroup.Go has called stands below Go's own frame, and may wait for a lock.
func (s Site) Joins() bool {
	return slices.ContainsFunc(s.Frames[:min(3, len(s.Frames))], func(f Frame) bool { return f.Func == "sync.(*WaitGroup).Wait" })
}

// FunctionScope is the scope of regions that are functions.
const FunctionScope = "function"

// A Function is a region that no span shows: call stacks do, of waits and of samples of a CPU
// profile.
type Function struct {
	Region  int32  // index of Recording.Regions
	Pattern string // what the names of its functions match, see package glob
}

// Calls reports whether a function whose name matches is on the stack, however deep: the function's
// time is with all that it calls.
func (s Site) Calls(pattern string) bool {
	return slices.ContainsFunc(s.Frames, func(f Frame) bool { return glob.Match(pattern, f.Func) })
}

// Numbered gives sites numbers, the same to those of one key: the index of the first. A site
// without a key has its own. So places that differ in what does not matter become one: by
// [Site.User] all ways into one line that uses a lock, by [Site.Reader] all functions that read a
// connection. Places of different processes stay apart.
func Numbered[K comparable](sites []Site, key func(Site) (K, bool)) []int32 {
	of := make([]int32, len(sites))
	type place struct {
		process int32
		key     K
	}
	numbers := map[place]int32{}
	for i, s := range sites {
		of[i] = int32(i)
		named, ok := key(s)
		if !ok {
			continue
		}
		k := place{s.Process, named}
		if n, known := numbers[k]; known {
			of[i] = n
		} else {
			numbers[k] = of[i]
		}
	}
	return of
}

// IsInner reports whether a function is of the runtime or of package sync. Packages below these are
// not, such as runtime/trace: the prefix ends with a dot.
func IsInner(function string) bool { return hasPrefix(function, inner...) }

var inner = []string{"runtime.", "sync.", "internal/sync."}

// StackKey returns a key of functions and lines: equal for stacks that are the same to a reader,
// whatever their addresses and inlining were.
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

// Offers reports whether something is sent there by a select statement with a default: selectnbsend
// in runtime/chan.go, which the compiler calls for one case and a default. If there is no room the
// sender goes on without (load shedding).
func (s Site) Offers() bool {
	return slices.ContainsFunc(s.Frames[:min(3, len(s.Frames))], func(f Frame) bool { return f.Func == "runtime.selectnbsend" })
}

// Operation returns the operation on a lock or a condition variable that a stack is in, 0 for none.
// An RWMutex has a Mutex of its own (sync/rwmutex.go), so that the outermost frame of package sync
// counts: of a writer that waits for another one the stack begins with
//
//	sync.(*Mutex).Lock, sync.(*RWMutex).Lock, main.write
//
// A Mutex within sync.Once or sync.Pool is an operation on that Mutex. A TryLock never waits, and a
// WaitGroup has no operation here: its waits are ended by the last goroutine of a group, see
// fork_join.go in package cond.
func (s Site) Operation() mark.Op {
	what := mark.Op(0)
	for _, f := range s.Frames {
		// From here on frames are the program's: what it does around the operation is another one.
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
// causal: where the program's own source has it. It is what a user reads and names in questions.
func (s Site) Caller() (Frame, bool) { return s.Outside(wrappers) }

// Outside returns the innermost frame that begins with none of the prefixes.
func (s Site) Outside(prefixes []string) (Frame, bool) {
	i := slices.IndexFunc(s.Frames, func(f Frame) bool { return !hasPrefix(f.Func, prefixes...) })
	if i < 0 {
		return Frame{}, false
	}
	return s.Frames[i], true
}

// wrappers are prefixes of functions that stand between a program and the runtime where it uses a
// lock or a channel: Go's own, and those of otelprof's types that mark operations.
var wrappers = slices.Concat(inner, []string{
	"github.com/otelprof/otelprof/causal.", "github.com/otelprof/otelprof/causal/internal/", "github.com/otelprof/otelprof/internal/traced.",
})

// Locks reports whether that is a wait for a lock, and not for a group of goroutines: both have the
// reason [WaitMutex]. Unlike [Site.Excludes] it leaves condition variables out.
func (s Site) Locks() bool {
	return slices.ContainsFunc(s.Frames, func(f Frame) bool {
		return glob.Match("sync.(*Mutex).Lock*", f.Func) || glob.Match("sync.(*RWMutex).*Lock*", f.Func) || glob.Match("internal/sync.(*Mutex).*", f.Func)
	})
}

// A Site is where a goroutine waits or wakes another one: its call stack, innermost frame first,
// cut at maxFrames. Of a goroutine that is created it is the function that it begins with, alone.
// It has no frames where it is not known.
type Site struct {
	Frames  []Frame
	Process int32 // index of Recording.Processes, 0 where there is only one
}

// Root returns the function that the goroutine began with, "" if that is not known. Of goroutine 1
// it is main.main. Of a stack deeper than maxFrames it is some function in the middle.
func (s Site) Root() string {
	if len(s.Frames) == 0 {
		return ""
	}
	return s.Frames[len(s.Frames)-1].Func
}

// User returns the innermost frame that is neither of the runtime nor of package sync: where a lock
// or a channel is used. That may be a library's, as of errgroup or database/sql.
func (s Site) User() (Frame, bool) { return s.Outside(inner) }

// Reader returns the innermost frame that is not of a package by which anything is read: where a
// connection is read, in a protocol's own code (net/http, a driver). Buffers and TLS are left out,
// as they read for any protocol.
func (s Site) Reader() (Frame, bool) { return s.Outside(readers) }

// Sends reports whether a wait for the network is to write to a connection, or to open one
// (netFD.connect in net/fd_unix.go waits by WaitWrite). Else it is to read: for what a peer
// answers. A file that is sent by the kernel (sendFile in internal/poll) waits to write, and is
// taken for a read.
func (s Site) Sends() bool {
	return slices.ContainsFunc(s.Frames, func(f Frame) bool {
		return f.Func == "internal/poll.(*FD).WaitWrite" || strings.HasPrefix(f.Func, "internal/poll.(*FD).Write")
	})
}

// readers are prefixes of functions by which files and connections are read.
var readers = []string{"runtime.", "internal/poll.", "net.", "os.", "io.", "bufio.", "crypto/tls."}

// A Frame is one call of a [Site].
type Frame struct {
	Func string // with its package's path: net/http.(*conn).serve
	File string // the path at the time of the build, "" where not known
	Line int    // where the call stands, from 1; of a goroutine's beginning, of the function
}

// WritesToNetwork reports whether a function of package net writes to a connection. Datagrams
// (netFD.writeTo, writeMsg) and splice are not in it.
func WritesToNetwork(function string) bool {
	return strings.HasPrefix(function, "net.(*netFD).Write") || strings.HasPrefix(function, "net.(*netFD).writeBuffers") || function == "net.sendFile"
}
