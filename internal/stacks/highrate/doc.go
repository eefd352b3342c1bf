// Package highrate samples the call stacks of a whole process a thousand times a second of CPU
// time, five times as often as package runtime/pprof can where the kernel ticks at 250 Hz. It is
// for Linux, and for finding what takes a few milliseconds.
//
//	p, err := highrate.NewProfiler()
//	if err != nil {
//		return err // says what does not permit it, and what would
//	}
//	defer p.Shutdown(ctx)
//	…
//	tree := p.Tree()
//
// The kernel takes the samples, of all threads, later ones included; no signal
// interrupts the application. It knows threads and not goroutines, so there is one tree for the
// process, and none for a region or a session: those are what package stacks has.
//
// # What is counted
//
// A sample stands for a period of CPU time. Where the kernel permits it (as root, with
// CAP_PERFMON, or at perf_event_paranoid <= 1), time in the kernel counts too, for the function
// that called it with the frame "[kernel]" below; an ordinary user gets user mode only, see
// [Stats.Kernel]. [Stats.CPU] is what the process has used by its own account.
//
// Stacks are found by frame pointers. Functions that call nothing have none; their callers are
// found on amd64 all the same, and are missing elsewhere. Code in other languages is one frame
// "[not Go]", and what is above 127 calls is cut off. Functions, base names of files and lines are
// kept; nothing else leaves the process.
//
// # Cost
//
// A sample is an interrupt, which takes 20 to 25 µs on a virtual machine: a CPU-bound thread keeps
// 97 to 98 % of its throughput at 1000 Hz. Reading it takes 0.2 µs. All memory is bounded: 260 KiB
// a CPU for the kernel's rings, which are read every 50 ms, and a tree of at most 131,072 nodes. It
// takes an open file for each thread and CPU, and refuses to take more than half of what the
// process may have.
package highrate
