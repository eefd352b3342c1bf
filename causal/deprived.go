package causal

import (
	"time"

	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/withheldcode"
)

// Where a quota stops the process, or the host of a virtual machine has others on its processors, time passes that is no span's work. A delay
// leaves processor time unused, of which a quota then gives more, and the arms differ by that.

const (
	// mostDeprived is the part of the processor time that may be taken so: a number is off by as many points at most.
	mostDeprived = 0.1
	// littleDeprived is what may always be taken: the system counts in steps of 10 ms.
	littleDeprived = 100 * time.Millisecond
)

// deprived adds up what has become of processor time in some experiments.
type deprived struct{ record.Load }

func (d *deprived) add(l record.Load) {
	d.CPU += l.CPU
	d.Others += l.Others
	d.Stolen += l.Stolen
	d.Throttled += l.Throttled
}

// withheld returns why there is no number with these experiments, the zero value if there may be one. What a quota took is held against
// what the process had, and what the host took against what all programs had: it does not ask whose processor it takes.
func (d deprived) withheld() profile.Withheld {
	part := func(taken, had time.Duration) float64 {
		if taken <= littleDeprived {
			return 0
		}
		return partOf(taken, taken+had)
	}
	if p := part(d.Throttled, d.CPU); p > mostDeprived {
		return profile.Withheld{Code: withheldcode.Throttled, Part: p}
	}
	if p := part(d.Stolen, d.CPU+d.Others); p > mostDeprived {
		return profile.Withheld{Code: withheldcode.Stolen, Part: p}
	}
	return profile.Withheld{}
}
