package perf

import "fmt"

// A Sample is what one thread of this process was executing at one moment.
type Sample struct {
	Thread int
	// Time is on CLOCK_MONOTONIC, in nanoseconds.
	Time uint64
	// Kernel reports that the thread was in the kernel; Stack is then where it had entered it.
	Kernel bool
	// Stack are the program counters in user mode, the innermost first: that one is of the next
	// instruction, the others are return addresses. The kernel follows frame pointers, so the
	// caller is missing while the innermost function has no frame. It is valid until the next
	// sample, and empty if there was none.
	Stack []uint64
	// Top are the two words that the stack pointer points to, 0 if they could not be read.
	Top [2]uint64
}

// SampleCounts are what a [Sampler] has read since it was opened.
type SampleCounts struct {
	// Samples were handed on.
	Samples uint64
	// Lost samples found no room in a ring: it was read too seldom.
	Lost uint64
	// Throttled is how often the kernel suspended a thread's samples for the rest of a tick,
	// because there were too many.
	Throttled uint64
	// Foreign samples were another process's.
	Foreign uint64
	// Malformed records are not as linux/perf_event.h has them.
	Malformed uint64
}

// tooManyFiles is the refusal of a sampler that would take more than its share of the process's
// files.
func tooManyFiles(threads, cpus, limit int) *Error {
	return &Error{
		Kind: ErrTooManyFiles, Event: -1,
		Cause: fmt.Sprintf("samples of %d threads on %d CPUs take %d open files: must be at most %d, half of the limit",
			threads, cpus, threads*cpus, limit/2),
		Remedy: raiseFiles,
	}
}

// raiseFiles is the remedy for a process that may have too few files open.
const raiseFiles = "raise the limit: ulimit -n, LimitNOFILE= of systemd, docker run --ulimit nofile="
