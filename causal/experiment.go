package causal

import (
	"time"

	"github.com/otelprof/otelprof/causal/internal/ledger"
)

// experiment is one arm, measured.
type experiment struct {
	arm
	iteration int
	at        time.Duration // since the run began: when the arm was put in force
	settled   time.Duration // after that: when it began to be measured
	duration  time.Duration
	passages  []passage     // by progress point
	quantiles [][]float64   // by progress point, those of latency that it asks for, ns
	spoiled   string        // why it is thrown away, "" if it is not
	inserted  time.Duration // the sum of the delays

	// Of an overlap.
	ends     int64         // of the region's spans
	growth   time.Duration // what the region's saving grew by
	residual time.Duration // what a goroutine still owed when it had paid, mean
	busy     float64       // share of the time in which processors were short
	counts   ledger.Counts
	locks    time.Duration // waits for those of package sync
}

// A latencyCell is an arm and one of the progress points that have a latency.
type latencyCell struct {
	arm
	point int
}

func newLatencyCell(a arm, point int) latencyCell {
	if a.speedup == 0 {
		a.spared = sparesNone // they are all alike
	}
	return latencyCell{a, point}
}
