package profile

import (
	"fmt"

	"github.com/otelprof/otelprof/internal/naming/withheldcode"
	"github.com/otelprof/otelprof/internal/stats"
)

// fewSamples are too few to see that a distribution is not a normal one.
const fewSamples = 6

// NewEffect turns samples, pseudo-values of the reduction in the order of time, into one number, or
// has the reason where there is none. Doubts are warnings about it.
func NewEffect(speedup float64, samples []float64, doubts []string) Effect {
	e := Effect{Speedup: speedup, Samples: len(samples), Reductions: stats.Thinned(samples)}
	if len(samples) < stats.LeastSamples {
		e.Withheld = Withheld{Code: withheldcode.Iterations, Count: int64(len(samples)), Need: stats.LeastSamples}
		return e
	}
	s := stats.Summarize(samples)
	e.Reduction, e.StdErr, e.Lo, e.Hi = s.Mean, s.StdErr, s.Lo-stats.ModelError, s.Hi+stats.ModelError
	e = e.possible()
	e.ThroughputGain = stats.Gain(e.Reduction)
	e.Outliers = s.Outliers
	if s.Alike {
		e.Warnings = append(e.Warnings, "consecutive samples are correlated: the interval may be too narrow")
	}
	if len(samples) < fewSamples {
		e.Warnings = append(e.Warnings, fmt.Sprintf("the interval assumes a normal distribution: fewer than %d iterations", fewSamples))
	}
	if s.Median < e.Lo || s.Median > e.Hi {
		e.Warnings = append(e.Warnings, fmt.Sprintf("a half of the experiments give less than %.1f %%, and a half more: it comes in bursts", 100*s.Median))
	}
	e.Warnings = append(e.Warnings, doubts...)
	return e
}

// atLeast returns the effect with a standard error of so much at least, and an interval that
// reaches so far at least, beside what the model leaves out.
func (e Effect) atLeast(stdErr, reach float64) Effect {
	if !e.Known() || stdErr <= 0 {
		return e
	}
	reach += stats.ModelError
	e.StdErr, e.Lo, e.Hi = max(e.StdErr, stdErr), min(e.Lo, e.Reduction-reach), max(e.Hi, e.Reduction+reach)
	return e.possible()
}

// possible returns the effect as far as it can be: no time shrinks by more than all of it.
func (e Effect) possible() Effect {
	e.Reduction, e.Lo, e.Hi = min(e.Reduction, 1), min(e.Lo, 1), min(e.Hi, 1)
	return e
}

// Wider returns the effect with an interval that reaches further by a margin to both sides, 1 at
// most, or as it is if it has a wider one already.
func (e Effect) Wider(margin float64) Effect {
	margin = min(margin, 1) // all that a reduction may be
	if more := margin - e.Margin; more > 0 && e.Known() {
		e.Margin, e.Lo, e.Hi = margin, e.Lo-more, e.Hi+more
	}
	return e.possible()
}

// Known reports whether there is a number.
func (e Effect) Known() bool { return e.Withheld.Code == "" }

// Withhold returns the effect without its numbers, or as it is if there is no reason to. The
// samples go as well: merged with others, they would spoil them.
func (e Effect) Withhold(reason Withheld) Effect {
	if reason.Code == "" {
		return e
	}
	return Effect{Speedup: e.Speedup, Samples: e.Samples, Withheld: reason}
}
