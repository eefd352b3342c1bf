package profile

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/internal/validate"
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

// An Epoch is what one process counted in one epoch of a plan by the clock: which region was held,
// or would have been, and at which level, 0 in its placebos. The region may be another process's.
type Epoch struct {
	// Number counts epochs since 1970.
	Number int64   `json:"epoch"`
	Region Region  `json:"region"`
	Level  float64 `json:"level"`
	// Own is what the region took itself in this process, Taken for how long its callers were held.
	Own    time.Duration `json:"own_ns,omitempty"`
	Taken  time.Duration `json:"taken_ns,omitempty"`
	Counts []EpochCount  `json:"counts,omitempty"`
}

// An EpochCount is what one epoch did to a progress point.
type EpochCount struct {
	Progress string `json:"progress"`
	Metric   Metric `json:"metric"`
	// Visits is the number of visits, Sum the time in which they came, or that they had all taken
	// if each were the quantile.
	Visits uint64        `json:"visits"`
	Sum    time.Duration `json:"sum_ns"`
}

// inOrder returns epochs by their numbers, each once: where a clock was set back they come again,
// and the last one counts.
func inOrder(epochs []Epoch) []Epoch {
	last := map[int64]Epoch{}
	for _, e := range epochs {
		last[e.Number] = e
	}
	return slices.SortedFunc(maps.Values(last), func(a, b Epoch) int { return cmp.Compare(a.Number, b.Number) })
}

func (e Epoch) validate(v *validate.Errors, at string) {
	v.That(e.Number >= 0, at+".epoch", e.Number, "must not be negative")
	v.That(e.Level >= 0 && e.Level <= 1, at+".level", e.Level, "must be in [0, 1]")
	v.That(e.Own >= 0 && e.Taken >= 0, at, nil, "own_ns and taken_ns must not be negative")
	for _, c := range e.Counts {
		v.That(c.Metric != "" && c.Sum >= 0, at+".counts", nil, "must have a metric, and no negative sum_ns")
	}
}
