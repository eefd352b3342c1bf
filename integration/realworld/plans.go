package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
)

// planned is how plans are held against the real thing.
type planned struct {
	duration time.Duration // of each plan
}

// The claims: an answer is withheld or so near to the truth, in points, and with the limits that a plan has by default a
// program does at least such a part of its work.
const (
	mostError      = 5
	leastThrough   = 0.9
	defaultLimits  = "default"
	generousLimits = "wide"
)

var errClaim = errors.New("a claim does not hold")

// tryPlans runs two plans that ask for all regions, one that no limit gets in the way of and one with the limits of
// plan.DefaultLimits, and prints their answers and what they cost. Actual is what happens really.
func (l lab) tryPlans(ctx context.Context, p program, b build, s *process) error {
	var errs []error
	profiles := map[string]profile.Profile{}
	for _, limits := range []string{generousLimits, defaultLimits} {
		before, after, during, err := s.underPlan(ctx, l, limits, profiles)
		if err != nil {
			return err
		}
		through := (before + after) / 2 / during
		fmt.Fprintf(l.out, "throughput %s mode=%s build=%s limits=%s before=%.1f during=%.1f after=%.1f ratio=%.3f\n",
			p.name, l.mode, b, limits, 1/before, 1/during, 1/after, through)
		if limits == defaultLimits && through < leastThrough {
			errs = append(errs, fmt.Errorf("%w: %s, %s: throughput is %.3f of that before, must be %.1f", errClaim, p.name, b, through, leastThrough))
		}
	}
	actual, t, err := s.realize(ctx, l.settings)
	if err != nil {
		return err
	}
	fmt.Fprintf(l.out, "# %s: windows: %s\n", p.name, t)
	for _, limits := range []string{generousLimits, defaultLimits} {
		cells := judge(p, b, l.mode, profiles[limits], actual, l.speedups)
		for i := range cells {
			c := &cells[i]
			c.limits = limits
			fmt.Fprintln(l.out, c.line())
			fmt.Fprintf(l.out, "#   actual from %.2f to %.2f in %d windows\n", c.actualLo, c.actualHi, len(actual[c.question]))
			switch {
			case c.withheld != "":
			case l.mode == profile.ModeSlowdown && c.actualLo > c.hi:
				errs = append(errs, fmt.Errorf("%w: %s, %s, limits %s: %s at %.2f brings %.2f to %.2f in truth: must be at most %.2f", errClaim, p.name, b, limits, c.region.span, c.speedup, c.actualLo, c.actualHi, c.hi))
			case l.mode == profile.ModeOverlap && (c.error() > mostError || c.error() < -mostError):
				errs = append(errs, fmt.Errorf("%w: %s, %s, limits %s: %s at %.2f is %.2f points off", errClaim, p.name, b, limits, c.region.span, c.speedup, c.error()))
			}
		}
		for _, note := range profiles[limits].Notes {
			fmt.Fprintf(l.out, "# %s, limits=%s: %s\n", p.name, limits, note)
		}
		fmt.Fprintln(l.out, summary(p.name, b, cells))
	}
	return errors.Join(errs...)
}

// underPlan has a plan run, and returns the time between answers before it, after it and while it runs, in seconds.
func (s *process) underPlan(ctx context.Context, l lab, limits string, profiles map[string]profile.Profile) (before, after, during float64, err error) {
	o := l.settings
	o.window = l.plans.duration / 4
	if before, err = s.period(ctx, o); err != nil {
		return 0, 0, 0, err
	}
	text, err := s.planText(l.mode, limits, l.plans.duration, l.speedups)
	if err != nil {
		return 0, 0, 0, err
	}
	if _, err = s.ask(ctx, "POST", "/plan", url.Values{"plan": {string(text)}}); err != nil {
		return 0, 0, 0, err
	}
	o.window = l.plans.duration
	if during, err = s.period(ctx, o); err != nil {
		return 0, 0, 0, err
	}
	profile, text, err := s.profile(ctx)
	if err != nil {
		return 0, 0, 0, err
	}
	profiles[limits] = profile
	fmt.Fprintf(l.out, "# %s: limits=%s: %d experiments, %d thrown away, delay %v\n", s.name, limits, profile.Experiments, profile.Rejected, profile.Delay.Round(time.Millisecond))
	if _, err = s.ask(ctx, "POST", "/stop", nil); err != nil {
		return 0, 0, 0, err
	}
	if err = keep(fmt.Sprintf("%s.%s-%s.json", s.cmd.Path, l.mode, limits), text); err != nil {
		return 0, 0, 0, err
	}
	o.window = l.plans.duration / 4
	after, err = s.period(ctx, o)
	return before, after, during, err
}

// planText is the plan. Nothing aborts it: what it costs with the breaker open would tell nothing.
func (s *process) planText(mode profile.Mode, limits string, d time.Duration, speedups []float64) ([]byte, error) {
	var percent []float64
	for _, speedup := range speedups {
		percent = append(percent, 100*speedup)
	}
	var regions []map[string]string
	for _, r := range s.regions {
		regions = append(regions, map[string]string{"span": r.span})
	}
	plan := map[string]any{
		"api": plan.API, "id": string(mode) + "-" + limits, "mode": mode,
		"expires_at": time.Now().Add(d + time.Minute).UTC().Format(time.RFC3339Nano),
		"regions":    regions,
		"progress":   []map[string]any{{"span": s.progress, "type": plan.TypeThroughput}},
		"grid":       map[string]any{"speedups": percent},
		"abort":      map[string]any{"p99_ratio": 1000, "err_delta": "100%", "min_samples": 1},
	}
	if mode == profile.ModeOverlap {
		plan["timing"] = map[string]any{"warmup": "1s", "experiment": "1s", "cooloff": "200ms"}
	}
	if limits == generousLimits {
		plan["limits"] = map[string]string{"per_span": "1s", "per_trace": "1m", "duty": "100%", "total": "1h"}
	}
	return json.Marshal(plan)
}
