package profile

import (
	"fmt"
	"time"

	"github.com/otelprof/otelprof/causal/internal/validate"
)

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

func validateEpochs(v *validate.Errors, all []Epoch) {
	for i, e := range all {
		if v.Full() {
			return
		}
		at := fmt.Sprintf("epochs[%d]", i)
		e.validate(v, at)
		v.That(i == 0 || e.Number > all[i-1].Number, at+".epoch", e.Number, "must rise")
	}
}

func (e Epoch) validate(v *validate.Errors, at string) {
	v.That(e.Level >= 0 && e.Level <= 1, at+".level", e.Level, "must be in [0, 1]")
	v.That(e.Own >= 0 && e.Taken >= 0, at, nil, "own_ns and taken_ns must not be negative")
	for _, c := range e.Counts {
		v.That(c.Metric != "" && c.Sum >= 0, at+".counts", nil, "must have a metric, and no negative sum_ns")
	}
}
