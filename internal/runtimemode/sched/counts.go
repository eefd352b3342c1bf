package sched

import "time"

// Counts are the counters of an experiment.
type Counts struct {
	// Paid is the sum of the delays during which a processor was held, Slept by how much sleeps and
	// waits for the network were made longer, Delays how many of both there were.
	Paid, Slept time.Duration
	Delays      int64
	// Spent is what the limits have booked: both of these, and what is being paid now.
	Spent time.Duration
	// Points is how often a goroutine paid at a point of the program, Left the sum of what was
	// still owed then.
	Points int64
	Left   time.Duration
	// Foreign is the number of ends of the region on another goroutine.
	Foreign int64
}
