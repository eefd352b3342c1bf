package perf

import "time"

// Usage is what a thread has used of the machine since it began.
type Usage struct {
	// CPU is exact to the nanosecond.
	CPU time.Duration
	// User and System are CPU time as of the last timer tick, in microseconds, shared out
	// by where the ticks found the thread: an estimate for anything shorter than many ticks.
	User, System time.Duration
	// MinorFaults needed no input, MajorFaults did.
	MinorFaults, MajorFaults int64
	// VoluntarySwitches are waits; at InvoluntarySwitches others were given the CPU.
	VoluntarySwitches, InvoluntarySwitches int64
}
