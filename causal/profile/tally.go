package profile

import (
	"time"

	"github.com/otelprof/otelprof/otelhdr"
)

// A Tally is what was counted while one region was faster by one speed-up, or in mode
// [ModeSlowdown] slower by one level, or, if Speedup is zero, while nothing was changed. Then
// Region is empty, but in mode [ModeSlowdown]: there it is the one that the placebos are of.
//
// Tallies of several instances add up. All that they count for each visit, and so by how much its
// time grew for each millisecond of delay, follows from the sums.
type Tally struct {
	Mode     Mode    `json:"mode"`
	Region   Region  `json:"region"`
	Speedup  float64 `json:"speedup"`
	Progress string  `json:"progress"`
	// Visits is the number of visits of the progress point.
	Visits uint64 `json:"visits"`
	// Effective is the time in which they would have happened.
	Effective time.Duration `json:"effective_ns"`
	// Delay is the sum of the delays inserted for it, and Delays their number.
	Delay  time.Duration `json:"delay_ns"`
	Delays uint64        `json:"delays,omitempty"`
	// Own is the sum of what the region took itself, in mode [ModeSlowdown].
	Own time.Duration `json:"own_ns,omitempty"`
	// Latency is the distribution of the durations of the progress point's spans, less
	// the delays, in ns; nil if it was not requested. It is not saved.
	Latency *otelhdr.Snapshot `json:"-"`
}

// cell is what a tally is about, with nothing counted.
func (t Tally) cell() Tally {
	return Tally{Mode: t.Mode, Region: t.Region, Speedup: t.Speedup, Progress: t.Progress}
}

// mergeTallies adds up those of the same cell, but for distributions.
func mergeTallies(profiles []Profile) (tallies []Tally) {
	for _, same := range grouped(allOf(profiles, func(p Profile) []Tally { return p.Tallies }), Tally.cell) {
		sum := same[0].cell()
		for _, t := range same {
			sum.Visits += t.Visits
			sum.Effective += t.Effective
			sum.Delay += t.Delay
			sum.Delays += t.Delays
			sum.Own += t.Own
		}
		tallies = append(tallies, sum)
	}
	return tallies
}
