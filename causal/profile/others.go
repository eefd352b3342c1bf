package profile

import (
	"fmt"

	"github.com/otelprof/otelprof/internal/stats"
)

// WidenByOthers makes the intervals of slow-downs wider where one region shows that a progress
// point's time is no monotone function of durations, as that holds for the other regions, too:
//   - the time falls although a region is slower. No slope bounds what any region brings but that
//     this is at most all of the time saved, and as much as the time has fallen.
//   - a part of a region's delays was left out since a deadline was near: as many calls may fail,
//     are no visits, and may succeed where any region is faster.
//   - the slopes of all regions add up to more than 1, by more than a standard error: there is a
//     kink where the program works, see kinked.
//   - work goes another way where a region is slower: with any region faster, what is done again or
//     elsewhere may take what that saves, so that no speed-up beyond [Near] surely brings anything.
//   - work that matters avoids a region where that is slower, as in larger batches: the period is
//     convex in none, so that a smaller slope at the large level does not bound the small one.
func WidenByOthers(curves []Curve) {
	type point struct {
		progress string
		metric   Metric
	}
	all := map[point]signs{}
	for _, c := range curves {
		if c.Mode != ModeSlowdown {
			continue
		}
		p := point{c.Progress, c.metric()}
		of, summed := all[p]
		if !summed && p.metric == MetricThroughput {
			sum, stdErr, _, _ := Profile{Curves: curves}.explained(p.progress)
			of.more = max(0, sum-1-stdErr)
		}
		of.expires = max(of.expires, c.Expiring)
		of.reroutes = of.reroutes || c.reroutable()
		of.avoids = of.avoids || c.avoidedMuch()
		for _, s := range c.Slopes {
			of.falls = max(of.falls, s.falls())
		}
		all[p] = of
	}
	for _, c := range curves {
		of := all[point{c.Progress, c.metric()}]
		for i, e := range c.Effects {
			if c.Mode == ModeSlowdown && !c.savedWithoutSamples() && e.Known() {
				e = e.kinked(of.more).fallen(of.falls, c.Progress).expiring(c.Expiring, of.expires).rerouted(of.reroutes)
				c.Effects[i] = e.unbounded(of.avoids, c.Slopes)
			}
		}
	}
}

// signs are what the regions of a progress point show about all of them.
type signs struct {
	falls    float64 // the part by which its time fell
	expires  float64 // most of a region's delays that were left out, in [0, 1]
	more     float64 // by which all slopes exceed 1
	reroutes bool
	avoids   bool
}

// kinked returns an effect where the slopes of all regions add up to so much more than 1. These are
// what a longer region costs; what a shorter one brings is less at a kink, but at least what the
// slopes of all others leave of the whole, by sublinearity and Euler's theorem. So the region's own
// may be too large by all that is more.
func (e Effect) kinked(more float64) Effect {
	e.Lo = min(e.Lo, max(e.Lo-more*min(e.Speedup, Near), -stats.ModelError))
	return e
}

// fallen returns an effect where the time has fallen by this part.
func (e Effect) fallen(by float64, progress string) Effect {
	if by == 0 {
		return e
	}
	e.Hi = max(e.Hi, e.Speedup+stats.ModelError)
	e = e.Wider(max(e.Margin, by))
	e.Bounded = true
	e.Warnings = append(e.Warnings, fmt.Sprintf("the time of %s falls by %.1f %% where a region is slower: the program is at a resonance", progress, 100*by))
	return e
}

// expiring returns an effect where these parts of the delays were left out near deadlines: of its
// own region and of that with the most.
func (e Effect) expiring(own, most float64) Effect {
	if most == 0 {
		return e
	}
	e.Reduction += own / 2 * (1 - e.Reduction) // in the middle of what it may be, so that it ranks by that
	e.Hi += most * (1 - e.Hi)
	if most > stats.ModelError {
		e.Bounded = true
		e.Warnings = append(e.Warnings, fmt.Sprintf("%.0f %% of a region's spans end near deadlines: what is faster may save calls that fail", 100*most))
	}
	return e
}

// rerouted returns an effect where work may go another way.
func (e Effect) rerouted(may bool) Effect {
	if may && e.Speedup > Near {
		e.Lo = min(e.Lo, -stats.ModelError)
	}
	return e
}

// unbounded returns an effect where the slopes of the levels may not bound each other.
func (e Effect) unbounded(may bool, slopes []Slope) Effect {
	for _, s := range slopes {
		if most := s.surely()*(1+delaysOff)*e.Speedup + stats.ModelError; may && s.known() && most > e.Hi {
			e.Hi, e.Bounded = max(e.Hi, min(most, e.Speedup+stats.ModelError)), true
		}
	}
	return e
}
