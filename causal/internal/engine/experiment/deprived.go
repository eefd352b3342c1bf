package experiment

import (
	"time"

	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
	"github.com/otelprof/otelprof/internal/stats"
)

// Where a quota stops the process, or the host of a virtual machine has others on its processors,
// time passes that is no span's work. A delay leaves processor time unused, of which a quota then
// gives more, and the arms differ by that: a number is off by as many points as the part of the
// processor time that was taken, at most. So its interval is as much wider, and above mostDeprived
// there is none.

const (
	mostDeprived = 0.1
	// littleDeprived is what may always be taken: the system counts in steps of 10 ms.
	littleDeprived = 100 * time.Millisecond
)

// Deprived adds up what has become of processor time in some experiments.
type Deprived struct{ record.Load }

// Add adds what has become of processor time in another experiment.
func (d *Deprived) Add(l record.Load) {
	d.CPU += l.CPU
	d.Others += l.Others
	d.Stolen += l.Stolen
	d.Throttled += l.Throttled
}

// Most returns what took the larger part of the processor time, as the reason why there would be no
// number. What a quota took is held against what the process had, and what the host took against
// what all programs had: it does not ask whose processor it takes.
func (d Deprived) Most() profile.Withheld {
	part := func(taken, had time.Duration) float64 {
		if taken <= littleDeprived {
			return 0
		}
		return partOf(taken, taken+had)
	}
	quota := profile.Withheld{Code: withheldcode.Throttled, Part: part(d.Throttled, d.CPU)}
	host := profile.Withheld{Code: withheldcode.Stolen, Part: part(d.Stolen, d.CPU+d.Others)}
	if host.Part > quota.Part {
		return host
	}
	return quota
}

// Deprive returns an effect as experiments leave it in which so much was taken.
func Deprive(e profile.Effect, most profile.Withheld) profile.Effect {
	if most.Part > mostDeprived {
		e = e.Withhold(most)
	}
	return lessSure(e, most, most.Part)
}

// Widen returns an effect of slow-downs in which processor time was taken. It is off by the part of
// the time in which any was at most, too: a program that mostly waits loses little by that.
func (v Evidence) Widen(e profile.Effect) profile.Effect {
	most := v.Deprived.Most()
	part := most.Part
	if v.Elapsed > 0 {
		part = min(part, partOf(max(v.Deprived.Stolen, v.Deprived.Throttled), v.Elapsed))
	}
	return lessSure(e, most, part)
}

// lessSure returns an effect that is off by so much at most, for a reason.
func lessSure(e profile.Effect, why profile.Withheld, by float64) profile.Effect {
	if by > stats.ModelError && e.Known() {
		e.Warnings = append(e.Warnings, why.String())
	}
	return e.Wider(by)
}
