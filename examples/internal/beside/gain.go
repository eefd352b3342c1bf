package beside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/profile"
)

// A Gain is what the optimised variant really brings.
type Gain struct {
	// Speedup is the part by which the region takes less time.
	Speedup float64
	// Before and After are the times for each unit, Reduction the part by which they differ,
	// the median over pairs of turns, which lie between Lo and Hi.
	Before, After     time.Duration
	Reduction, Lo, Hi float64
}

// Compare lets the program and its variant take turns.
func (p Program) Compare(ctx context.Context, pairs int, turn time.Duration) (Gain, error) {
	var before, after, reductions, speedups []float64
	for range pairs {
		slow, a, err := p.turn(ctx, turn, false)
		if err != nil {
			return Gain{}, err
		}
		fast, b, err := p.turn(ctx, turn, true)
		if err != nil {
			return Gain{}, err
		}
		before, after = append(before, slow), append(after, fast)
		reductions, speedups = append(reductions, 1-fast/slow), append(speedups, 1-b/a)
	}
	return Gain{
		Speedup: median(speedups), Reduction: median(reductions), Lo: slices.Min(reductions), Hi: slices.Max(reductions),
		Before: time.Duration(median(before)), After: time.Duration(median(after)),
	}, nil
}

var errNothingDone = errors.New("nothing was done in a turn")

// turn runs one side, and returns the time for each unit and that of the region, means, in ns.
func (p Program) turn(ctx context.Context, length time.Duration, optimized bool) (unit, region float64, err error) {
	c, err := causal.NewController() // measures nothing; its hook costs what it costs in the profile
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	regions, err := p.during(ctx, c, optimized, lasting(length))
	took := time.Since(began)
	if err = errors.Join(err, c.Shutdown(context.WithoutCancel(ctx))); err != nil {
		return 0, 0, err
	}
	var units, ends, total float64
	for _, r := range regions {
		switch r.Name {
		case p.Unit:
			units = float64(r.Count)
		case p.Region:
			ends, total = float64(r.Count), float64(r.Total)
		}
	}
	if units == 0 || ends == 0 {
		return 0, 0, errNothingDone
	}
	return float64(took) / units, total / ends, nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// modes are all that have a curve of the region.
func (p Program) modes(prof profile.Profile) (modes []profile.Mode) {
	for _, c := range prof.Curves {
		if p.answers(c) && !slices.Contains(modes, c.Mode) {
			modes = append(modes, c.Mode)
		}
	}
	return modes
}

// answers reports whether a curve has what the program asks.
func (p Program) answers(c profile.Curve) bool {
	return c.Region.Name == p.Region && c.Progress == p.Unit && c.Metric == profile.MetricThroughput
}

// Predicted returns what a mode of the causal profile, "" for the first that has a curve, predicts
// of a speed-up: on the line between the two next to it that were asked. Reason says why it says
// nothing.
func (p Program) Predicted(prof profile.Profile, mode profile.Mode, speedup float64) (e profile.Effect, reason string) {
	for _, c := range prof.Curves {
		if !p.answers(c) || mode != "" && c.Mode != mode {
			continue
		}
		var before profile.Effect // nothing faster, nothing gained
		for _, e := range c.Effects {
			if !e.Known() {
				reason = e.Withheld.String()
				continue
			}
			if e.Speedup >= speedup {
				return between(before, e, speedup), ""
			}
			before = e
		}
		if reason == "" {
			reason = fmt.Sprintf("the largest speed-up asked is %.0f %%", 100*before.Speedup)
		}
		return profile.Effect{}, reason
	}
	return profile.Effect{}, fmt.Sprintf("it has no curve of %s yet", p.Region)
}

func between(a, b profile.Effect, speedup float64) profile.Effect {
	at := (speedup - a.Speedup) / (b.Speedup - a.Speedup)
	on := func(x, y float64) float64 { return x + at*(y-x) }
	return profile.Effect{Speedup: speedup, Reduction: on(a.Reduction, b.Reduction), Lo: on(a.Lo, b.Lo), Hi: on(a.Hi, b.Hi)}
}

func (g Gain) write(w io.Writer, p Program, profile profile.Profile) {
	fmt.Fprintf(w, "  %s takes %.0f %% less time.\n", p.Region, 100*g.Speedup)
	fmt.Fprintf(w, "  each %s: %v -> %v, %.1f %% less (%.1f .. %.1f in turns).\n", p.Unit,
		g.Before.Round(time.Microsecond), g.After.Round(time.Microsecond), 100*g.Reduction, 100*g.Lo, 100*g.Hi)
	modes := p.modes(profile)
	if len(modes) == 0 {
		fmt.Fprintf(w, "  The causal profile does not tell: it has no curve of %s yet.\n", p.Region)
	}
	for _, mode := range modes {
		e, reason := p.Predicted(profile, mode, g.Speedup)
		if reason != "" {
			fmt.Fprintf(w, "  The causal profile does not tell by %s: %s.\n", mode, reason)
			continue
		}
		fmt.Fprintf(w, "  The causal profile foretold %.1f %% (%.1f .. %.1f) by %s: %s.\n", 100*e.Reduction, 100*e.Lo, 100*e.Hi, mode, g.verdict(e))
	}
}

// verdict returns how what was gained lies to what was foretold.
func (g Gain) verdict(e profile.Effect) string {
	switch {
	case e.Lo <= g.Reduction && g.Reduction <= e.Hi:
		return "what was gained is within the interval"
	case g.Lo <= e.Hi && e.Lo <= g.Hi:
		return "what was gained in single turns is within the interval"
	case g.Reduction < e.Lo:
		return fmt.Sprintf("what was gained is %.1f points below the interval", 100*(e.Lo-g.Reduction))
	}
	return fmt.Sprintf("what was gained is %.1f points above the interval", 100*(g.Reduction-e.Hi))
}
