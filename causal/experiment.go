package causal

import (
	"time"

	"github.com/otelprof/otelprof/causal/internal/admission"
	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/otelhdr"
)

// experiment is one arm, measured.
type experiment struct {
	arm
	iteration int
	at        time.Duration // since the run began: when the arm was put in force
	settled   time.Duration // after that: when it began to be measured
	duration  time.Duration
	rooted    time.Duration // the sum of the durations of local roots
	passages  []passage     // by progress point
	quantiles [][]float64   // by progress point, those of latency that it asks for, ns
	spoiled   string        // why it is thrown away, "" if it is not
	inserted  time.Duration // the sum of the delays
	delays    int64         // how many
	machine   record.Load   // what has become of processor time

	// Of a slow-down: what the region did in its own time, and for how long its callers were held.
	own, taken    time.Duration
	nearDeadlines int64 // delays left out

	// Of an overlap.
	ends     int64         // of the region's spans
	took     time.Duration // the sum of their durations
	growth   time.Duration // what the region's saving grew by
	residual time.Duration // what a goroutine still owed when it had paid, mean
	busy     float64       // share of the time in which processors were short
	counts   ledger.Counts
	locks    time.Duration // waits for those of package sync
	calls    uint64        // of the process of itself
	// arrivals are the requests that came from the network, unpaid those of them that waited for others before their first spans.
	arrivals, unpaid int64
	// unforeseen is what spans of the region are started as, if it is not known then that they are of the region.
	unforeseen *class
	// paths are the visits of each progress point, by path.
	paths [][mostPaths]uint32
}

// An armStart is what the counters showed when an arm was put in force, and then when it began to be measured.
type armStart struct {
	at      time.Duration // since the run began
	spent   int64         // ns of delay
	arrived []visit       // by progress point

	began     time.Time // of the measurement, as all below
	delays    int64
	visits    []visit // by progress point
	withheld  admission.Withheld
	growth    int64 // ns
	busy      loadMark
	calls     uint64
	rooted    int64               // ns
	latencies []*otelhdr.Snapshot // by progress point
	ways      [][mostPaths]uint32 // by progress point
	loaded    func() record.Load  // of the time since
}

// ran books what the region has done since it had come to before.
func (e *experiment) ran(region *class, before usage) {
	now := region.usage()
	e.ends, e.took = now.count-before.count, time.Duration(now.took-before.took)
}

// A cell is what experiments are added up by: an arm and a progress point.
type cell struct {
	arm
	point int
}

// cellOf returns the cell of an arm. Those without delay are all alike, but in mode slowdown, where each is the placebo of a region.
func (run *run) cellOf(a arm, point int) cell {
	if a.speedup == 0 && run.plan.Mode != profile.ModeSlowdown {
		a.spared = sparesNone
	}
	return cell{a, point}
}
