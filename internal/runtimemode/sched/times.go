package sched

import "time"

// Times are what a goroutine has been doing.
type Times struct {
	// Running is the time for which it had a processor of Go's, or was in a system call or in C.
	// Whether the operating system let the thread run is not known here.
	Running time.Duration
	// Runnable is the time for which it could have run, but others had the processors. What an
	// experiment delayed it by before it ran is part of it.
	Runnable time.Duration
	// Blocked is the time for which it waited: for a channel, a lock, a timer, the network.
	Blocked time.Duration
	// Stops is how often it stopped running, by itself or preempted. With none, it has been on one
	// thread, where no other goroutine ran meanwhile.
	Stops uint64
}
