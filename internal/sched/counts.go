package sched

import "time"

// Counts are the counters of an experiment.
type Counts struct {
	// Paid is the sum of the delays during which a processor was held, Slept by how much sleeps and
	// waits for the network were made longer, Delays how many of both there were.
	Paid, Slept time.Duration
	Delays      int64
	// Points is how often somebody paid at a point of the program, Left the sum of what they
	// still owed then.
	Points int64
	Left   time.Duration
	// Foreign is the number of ends of the region on another goroutine.
	Foreign int64
}
