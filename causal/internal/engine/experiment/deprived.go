package experiment

import (
	"math"
	"time"

	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
	"github.com/otelprof/otelprof/internal/stats"
)

// Where a quota stops the process, or the host of a virtual machine has others on its processors,
// time passes that is no span's work. A delay leaves processor time unused, of which a quota then
// gives more, and the arms differ by that. A number of virtual time is off by as many points as the
// part of the processor time that was taken, at most. So its interval is as much wider, and above
// mostDeprived there is none. Slow-downs compare windows side by side, and are off by what was
// taken from one more than from the other, which is measured.

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

// lost is which part of a window the host or a quota took: of the processor time that was asked
// for, or of the window, if that is less, as a program that mostly waits loses little.
func lost(l record.Load, window time.Duration) float64 {
	part := func(taken, had time.Duration) float64 {
		if taken <= 0 || window <= 0 {
			return 0
		}
		return min(partOf(taken, taken+had), partOf(taken, window))
	}
	return max(part(l.Throttled, l.CPU), part(l.Stolen, l.CPU+l.Others))
}

// delayedBy is by how much longer a window is, in logarithms, of which that part is lost.
func delayedBy(lost float64) float64 {
	const most = 0.9
	return -math.Log1p(-min(lost, most))
}

// Favoured is by how much elasticities are off, at most, as more or less of the windows with delays
// was taken by the host or a quota than of their placebos. What was taken from both alike cancels,
// and what differs by chance is in the jackknife's standard error already: only what goes beyond
// that counts.
func Favoured(arms []Contrast) float64 {
	if len(arms) < stats.LeastSamples || !held(arms) {
		return 0
	}
	e := stats.Summarize(stats.PseudoValues(arms, (*Contrast).Add, func(c Contrast) float64 {
		if s := c.Slower(); s > stats.LeastSlower {
			return c.stretched / c.Arms / s
		}
		return 0
	}))
	return max(0, math.Abs(e.Mean)-e.StdErr)
}

// Widen makes effects of slow-downs as much wider as they are off by what favoured windows with
// delays, or those without, for a reason.
func Widen(effects []profile.Effect, arms []Contrast, why profile.Withheld) {
	favoured := Favoured(arms)
	for i, e := range effects {
		effects[i] = lessSure(e, why, favoured*e.Speedup)
	}
}

// lessSure returns an effect that is off by so much at most, for a reason.
func lessSure(e profile.Effect, why profile.Withheld, by float64) profile.Effect {
	if by > stats.ModelError && e.Known() {
		e.Warnings = append(e.Warnings, why.String())
	}
	return e.Wider(by)
}
