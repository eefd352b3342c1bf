package profile

import (
	"slices"

	"github.com/otelprof/otelprof/internal/stats"
)

// A Verdict is what kind of answer the numbers are.
type Verdict string

// The verdicts, of an [Effect] by its interval, of a [Curve] by all of its effects: whether there
// is one is the question of [Curve.Significant], and which that of the intervals that leave out
// zero.
const (
	VerdictHelps    Verdict = "helps"    // to speed the region up helps, if [Curve.Knee] is above zero up to there
	VerdictHurts    Verdict = "hurts"    // to speed it up hurts
	VerdictMixed    Verdict = "mixed"    // it helps at some speed-ups and hurts at others; of curves only
	VerdictLittle   Verdict = "little"   // there is an effect, and it is surely below 2 percentage points
	VerdictNone     Verdict = "none"     // if there is an effect, it is surely below 2 percentage points
	VerdictUnclear  Verdict = "unclear"  // none of these is sure
	VerdictWithheld Verdict = "withheld" // there is no number
)

// noEffect is 2 percentage points: effects surely below it are reported as none, or as hardly any.
const noEffect = 0.02

// judge returns the verdict on the curve, once the rest of it is known.
func (c Curve) judge() Verdict {
	effects := c.measured()
	if len(effects) == 0 {
		return VerdictWithheld
	}
	little := effects[len(effects)-1].little() && !slices.ContainsFunc(effects, func(e Effect) bool { return e.Lo > noEffect || e.Hi < -noEffect })
	certain := c.certain()
	switch {
	case little && !c.Significant:
		return VerdictNone
	case little:
		return VerdictLittle
	case !c.Significant:
		return VerdictUnclear
	}
	first, most := certain[0], certain[len(certain)-1]
	switch {
	case first.Reduction > 0 != (most.Reduction > 0):
		return VerdictMixed
	case most.Reduction < 0:
		return VerdictHurts
	}
	return VerdictHelps
}

// judge returns the verdict on one effect.
func (e Effect) judge() Verdict {
	certain := e.certain()
	switch {
	case !e.Known():
		return VerdictWithheld
	case e.little() && certain:
		return VerdictLittle
	case e.little():
		return VerdictNone
	case certain && e.Lo > 0:
		return VerdictHelps
	case certain:
		return VerdictHurts
	}
	return VerdictUnclear
}

// judged returns the effect on a metric with what follows from its numbers.
func (e Effect) judged(on Metric) Effect {
	if e.ThroughputGain = 0; e.Known() && on == MetricThroughput {
		e.ThroughputGain = stats.Gain(e.Reduction)
	}
	e.Verdict, e.Loose = e.judge(), e.loose()
	return e
}

// little reports whether the effect is surely next to nothing.
func (e Effect) little() bool { return e.Lo > -noEffect && e.Hi < noEffect }

// certain reports whether the interval leaves out zero.
func (e Effect) certain() bool { return e.Lo > 0 || e.Hi < 0 }

// certain are the effects whose intervals leave out zero.
func (c Curve) certain() []Effect {
	return slices.DeleteFunc(c.measured(), func(e Effect) bool { return !e.certain() })
}

// loose reports whether the effect is between bounds that lie so far apart that a number alone
// would promise too much.
func (e Effect) loose() bool { return e.Bounded && e.Hi-e.Lo > 0.05 }
