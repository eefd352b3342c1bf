// Package offwake finds what spans waited for, and who ended each wait: off-CPU time by waker. For
// threads that is known from bcc's offwaketime (B. Gregg, Linux Wakeup and Off-Wake Profiling,
// 2016); here both sides are spans, and waits for Go's own objects are told apart.
//
// It reads a recording of package trace and nothing else: no simulation, no inference. What it says
// happened in the recording, so it holds of that alone.
//
// # Who waits
//
// A wait belongs to the innermost span that is open on its goroutine. Goroutines without a span of
// their own have no part: some wait beside a request for what it does not need, as net/http's
// reader does for the next one. Where a span waits for such a goroutine, that is a wait of the
// span.
//
// # Who is waited for
//
// The waker is the goroutine that made the waiting one ready: of a channel the other end, of a
// WaitGroup who was done last. Of a lock it is who held it for most of the wait, see holder.go. Its
// span is the innermost one that is open on it, else the one in which it was created, while that is
// open: so labels of runtime/pprof are inherited. What something outside ends has no waker: a
// timer, the network, a system call, a processor that is busy.
//
// # Cost
//
// One pass over the events, some 100 ns each where all are waits of spans (BenchmarkRead), and a
// map entry for each kind of wait.
package offwake

import (
	"time"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A Kind is what a goroutine waited for.
type Kind uint8

// The kinds of waits.
const (
	Other Kind = iota
	// Lock is of a sync.Mutex or a sync.RWMutex, Group of a sync.WaitGroup, and Condition of a
	// sync.Cond.
	Lock
	Group
	Condition
	// Send is for room in a channel, or for who takes from it, Receive for what comes from one, and
	// Select for any of several.
	Send
	Receive
	Select
	// Network is for connections, and for files and pipes that can be polled, Sleep is time.Sleep,
	// and SystemCall the kernel.
	Network
	Sleep
	SystemCall
	// Processor is for one of Go's scheduler: the goroutine could have run.
	Processor
	// Runtime is for a stop of the world, or another part of Go's runtime.
	Runtime
	// GC is for the garbage collector: its work on the goroutine itself (mark assist), and waits
	// for a processor or the runtime while it marked.
	GC
	// Running is no wait: the goroutine ran. It is a part of requests alone, see [Part].
	Running
)

var kinds = [...]string{"other", "lock", "wait group", "condition", "channel send", "channel receive", "select", "network", "sleep", "system call", "processor", "runtime", "garbage collection", "running"}

// String returns the kind as profiles have it.
func (k Kind) String() string { return kinds[k] }

// A Wait is one wait of one span.
type Wait struct {
	Kind Kind
	// Where is the place in the program that waited, as function:line; "" where the trace has no
	// stack.
	Where string
	// At is when it began, since the span did, and For how long it was.
	At, For time.Duration
	Waker
}

// A Waker is who ended a wait, zero for something outside. Place is where it did; Span and Trace
// name the span that it was in, if any.
type Waker struct {
	Region trace.Region
	Span   uint64
	Trace  [16]byte
	Place  string
}

// A Region is what all spans of one region waited for, those below them included: waits at the same
// time add up to more than Time.
type Region struct {
	Region trace.Region
	Spans  int
	// Time is that of the spans within the recording, a span within one of its own region included.
	Time time.Duration
	Rows []Row // the longest in all first
}

// A Key is what waits have in common that are summed up. In is the region of the spans that waited.
type Key struct {
	In, By         trace.Region
	Kind           Kind
	Where, ByPlace string
}

// A Row is a sum of waits.
type Row struct {
	Key
	Count          int
	Total, Longest time.Duration
}

// Waits are those of a recording.
type Waits struct {
	Regions []Region // that with the most time first
	// Spans has the longest waits by the span's ID, in the order of time.
	Spans map[uint64][]Wait
	Tails []Tail
}
