// Package answers finds in a causal profile what was asked, for commands that hold it against the
// real thing.
package answers

import (
	"math"
	"slices"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
)

// ModeCombined is the one answer from both kinds of evidence: recordings, within what slow-downs of
// the same run allow, or slow-downs alone.
const ModeCombined profile.Mode = "combined"

// LeastWindows is how many windows a number takes.
const LeastWindows = 5

// Enough reports whether there are as many in which nothing changed, simulated, meets what was
// recorded.
func Enough(p profile.Profile) bool {
	return p.Recorded != nil && len(p.Recorded.Progress) > 0 && p.Recorded.Progress[0].Windows >= LeastWindows
}

// A Question is about a region that is faster by a speed-up, in [0, 1).
type Question struct {
	Mode             profile.Mode
	Region, Progress string
	Metric           profile.Metric
	Speedup          float64
}

// Effect returns the answer to a question. If there is none, that is why it is withheld.
func Effect(p profile.Profile, q Question) profile.Effect {
	if q.Mode == ModeCombined {
		q.Mode = profile.ModeReplay
		if e := Effect(p, q); e.Known() {
			return e
		}
		q.Mode = profile.ModeSlowdown
	}
	for _, c := range p.Curves {
		if c.Mode != q.Mode || c.Region.Name != q.Region || c.Progress != q.Progress || c.Metric != q.Metric {
			continue
		}
		if i := slices.IndexFunc(c.Effects, func(e profile.Effect) bool { return math.Abs(e.Speedup-q.Speedup) < 1e-9 }); i >= 0 {
			return c.Effects[i]
		}
	}
	return profile.Effect{Speedup: q.Speedup, Withheld: profile.Withheld{Code: withheldcode.Other, Text: "the profile has no such curve"}}
}

// Change returns what a change brings to a metric of a progress point, which is withheld if the
// profile has no such change.
func Change(p profile.Profile, change, progress string, metric profile.Metric) profile.Effect {
	for _, c := range p.Changes {
		if c.Change == change && c.Progress == progress && c.Metric == metric {
			return c.Effect
		}
	}
	return profile.Effect{Withheld: profile.Withheld{Code: withheldcode.Other, Text: "there is no such thing in what was recorded"}}
}
