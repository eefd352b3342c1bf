// Package perf is the boundary to the kernel: hardware counters of one OS thread, and what
// a thread has used of the machine. Nothing above it makes these system calls, and on
// systems other than Linux all of it answers [ErrNotSupported].
//
// A [Group] is read in one of two ways. The plain one is a read() of all its counters. The
// fast one takes no system call: the kernel keeps a page for each event (struct
// perf_event_mmap_page) which gives the register in which the event is counted right now, and
// the register is read by RDPMC on amd64 and by MRS on arm64. [Open] finds out by trial
// whether that works and pays.
//
// A [Sampler] takes call stacks of all threads, by a clock that ticks while they run. The kernel
// writes them into a ring for each CPU.
package perf
