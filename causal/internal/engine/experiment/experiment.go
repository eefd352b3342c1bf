package experiment

import (
	"time"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/causal/internal/record"
)

// Experiment is one arm, measured.
type Experiment struct {
	Arm
	Iteration int
	Epoch     int64         // its number, in a plan by the clock
	At        time.Duration // since the run began: when the arm was put in force
	Settled   time.Duration // after that: when it began to be measured
	Duration  time.Duration
	Rooted    time.Duration // the sum of the durations of local roots
	Passages  []Passage     // by progress point
	Quantiles [][]float64   // by progress point, those of latency that it asks for, ns
	Spoiled   string        // why it is thrown away, "" if it is not
	Inserted  time.Duration // the sum of the delays
	Delays    int64         // how many
	Machine   record.Load   // what has become of processor time

	// Of a slow-down: what the region did in its own time, and for how long its callers were held.
	Own, Taken    time.Duration
	NearDeadlines int64 // delays left out

	// Of an overlap.
	Ends     int64         // of the region's spans
	Took     time.Duration // the sum of their durations
	Self     time.Duration // of their self times
	Growth   time.Duration // what the region's saving grew by
	Residual time.Duration // what a goroutine still owed when it had paid, mean
	Busy     float64       // share of the time in which processors were short
	Counts   ledger.Counts
	Locks    time.Duration // waits for those of package sync
	Calls    uint64        // of the process of itself
	// Arrivals are the requests that came from the network, unpaid those of them that waited for
	// others before their first spans.
	Arrivals, Unpaid int64
	// Unforeseen is what spans of the region are started as, if it is not known then that they are
	// of the region.
	Unforeseen string
	// Paths are the visits of each progress point, by path.
	Paths [][MostPaths]uint32
}
