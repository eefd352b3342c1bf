package perf

import (
	"math/bits"
	"runtime"
)

// A System is what a machine and a process allow to measure. Nothing in it is a guess: what could
// not be read is nil or zero, and what was tried has the error with which it failed. Tests make
// their own.
type System struct {
	OS, Arch string
	CPUs     int // that this process may run on
	Procs    int // GOMAXPROCS
	Files
	Limits
	Trials
}

// Limits are the resource limits of the process. The Go runtime has raised the soft limit of open
// files to the hard one by the time that a program reads it.
type Limits struct {
	MaxFiles       uint64 // RLIMIT_NOFILE
	MaxLockedBytes uint64 // RLIMIT_MEMLOCK
}

// Unlimited is the limit that is none.
const Unlimited = ^uint64(0)

// Trials say what happened when it was tried on a thread of this process, in user mode, samples on
// all threads. Nil means that it worked.
type Trials struct {
	Call    error // perf_event_open reaches the kernel; nil for any answer of it
	Clock   error // a software counter
	Counter error // a hardware counter: opened, scheduled, and it counted
	Page    error // [Open] has that counter read in user space: it can be, and that is faster
	Samples error // 1000 samples a second of CPU time, by a [Sampler]
	Usage   error // [ThreadUsage]
	Timer   error // timerfd_create

	// Counters that one thread can have at the same time: General ones count any event, Fixed ones
	// come on top because they count one. Zero means unknown: counted only where Counter is nil.
	General, Fixed int
}

// Capabilities, as bits of [Files.Capabilities]. See capability.h.
const (
	CapIPCLock  = 1 << 14
	CapSysAdmin = 1 << 21
	CapPerfmon  = 1 << 38
)

// ReadSystem asks the kernel, and tries on the calling thread what cannot be asked. It takes a few
// milliseconds, most of them to wait for a sample, and leaves nothing open. On other systems than
// Linux it says which one this is.
//
// A seccomp filter that kills instead of returning an error, as systemd's SystemCallFilter= does
// unless SystemCallErrorNumber= is set, kills the process here as it would kill it at the first
// counter.
func ReadSystem() System {
	s := System{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Procs: runtime.GOMAXPROCS(0)}
	s.readKernel()
	return s
}

// Has reports whether the process has one of the capabilities, where the kernel's perf checks look
// for them: in the first user namespace. Those of a container with a user namespace of its own do
// not count.
func (f *Files) Has(capabilities uint64) bool {
	return f.Capabilities&capabilities != 0 && !f.UserNamespace
}

// LockableBytes is how much memory the kernel lets the processes of this user map for counters and
// samples, or [Unlimited]. Zero means unknown.
func (s *System) LockableBytes() uint64 {
	switch {
	case s.MlockKB == nil:
		return 0
	case s.MaxLockedBytes == Unlimited, s.Has(CapIPCLock), s.Paranoid != nil && *s.Paranoid < 0:
		return Unlimited
	}
	hi, perUser := bits.Mul64(uint64(max(*s.MlockKB, 0))<<10, uint64(s.CPUs))
	sum, carry := bits.Add64(perUser, s.MaxLockedBytes, 0)
	if hi != 0 || carry != 0 {
		return Unlimited
	}
	return sum
}
