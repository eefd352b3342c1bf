package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/internal/answers"
)

// mostError is how near to the truth an answer of mode overlap is, in points. One of slow-downs
// bounds it.
const (
	mostError      = 5
	mostSureWrong  = 3 // points that the truth lies beyond an answer's interval
	defaultLimits  = "default"
	generousLimits = "wide"
)

var errClaim = errors.New("a claim does not hold")

// tryPlans runs two plans that ask for all regions, one that no limit gets in the way of and one
// with the limits of plan.DefaultLimits, and prints their answers and what they cost, and behind
// slow-downs the answers that recordings give within these. Actual is what happens really.
func (l lab) tryPlans(ctx context.Context, p program, b build, s *process) error {
	profiles := map[string]profile.Profile{}
	errs, err := l.underPlans(ctx, p, b, s, profiles)
	if err != nil {
		return err
	}
	all := []given{{l.mode, generousLimits, profiles[generousLimits]}, {l.mode, defaultLimits, profiles[defaultLimits]}}
	if l.mode == profile.ModeSlowdown {
		combined, text, t, err := s.predict(ctx, l.settings)
		if err != nil {
			return err
		}
		fmt.Fprintf(l.out, "# %s: recordings: %s\n", p.name, t)
		if err := keep(s.path()+".combined.json", text); err != nil {
			return err
		}
		all = append(all, given{answers.ModeCombined, defaultLimits, combined})
	}
	actual, t, err := s.realize(ctx, l.settings)
	if err != nil {
		return err
	}
	fmt.Fprintf(l.out, "# %s: windows: %s\n", p.name, t)
	for _, a := range all {
		cells := judge(p, b, a.mode, a.profile, actual, l.speedups)
		for i := range cells {
			c := &cells[i]
			c.limits = a.limits
			fmt.Fprintln(l.out, c.line())
			fmt.Fprintf(l.out, "#   actual from %.2f to %.2f in %d windows\n", c.actualLo, c.actualHi, len(actual[c.question]))
			if err := errors.Join(c.claims(), c.claimsTogether(p)); err != nil {
				errs = append(errs, fmt.Errorf("%s, %s, limits %s: %w", p.name, b, a.limits, err))
			}
		}
		for _, note := range a.profile.Notes {
			fmt.Fprintf(l.out, "# %s, limits=%s: %s\n", p.name, a.limits, note)
		}
		if !slices.ContainsFunc(cells, func(c cell) bool { return c.withheld == "" }) {
			errs = append(errs, fmt.Errorf("%w: %s, %s, mode %s, limits %s: all answers are withheld", errClaim, p.name, b, a.mode, a.limits))
		}
		fmt.Fprintln(l.out, summary(p.name, b, cells))
		fmt.Fprintln(l.out, rank(cells))
	}
	return errors.Join(errs...)
}

// underPlans runs both plans, and returns which claims do not hold. Of several processes the
// metrics must say the same.
func (l lab) underPlans(ctx context.Context, p program, b build, s *process, profiles map[string]profile.Profile) (missed []error, err error) {
	var backend *prometheus
	if s.processes() > 1 {
		if backend, err = l.startPrometheus(ctx, s); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, backend.stop()) }()
	}
	for _, limits := range []string{generousLimits, defaultLimits} {
		c, err := s.underPlan(ctx, l, limits, profiles)
		if err != nil {
			return nil, err
		}
		c.print(l.out, fmt.Sprintf("%s mode=%s build=%s limits=%s", p.name, l.mode, b, limits))
		if err := c.missed(); err != nil && limits == defaultLimits && l.mode == profile.ModeSlowdown {
			missed = append(missed, fmt.Errorf("%s, %s: %w", p.name, b, err))
		}
		if backend == nil {
			continue
		}
		switch err := backend.agrees(ctx, l.out, s, limits, profiles[limits], l.speedups[0]); {
		case errors.Is(err, errClaim):
			missed = append(missed, err)
		case err != nil:
			return nil, err
		}
	}
	return missed, nil
}

// given is a profile of a mode under a plan with these limits.
type given struct {
	mode    profile.Mode
	limits  string
	profile profile.Profile
}

// claims returns what does not hold of what a mode claims.
func (c cell) claims() error {
	switch {
	case c.mode == profile.ModeReplay:
		return c.claimsOfRecordings()
	case c.withheld != "":
	case c.mode == profile.ModeSlowdown && c.actualLo > c.hi:
		return fmt.Errorf("%w: %s at %.2f brings %.2f to %.2f in truth: must be at most %.2f", errClaim, c.region.span, c.speedup, c.actualLo, c.actualHi, c.hi)
	case c.mode == answers.ModeCombined:
		return c.outside(mostSureWrong)
	case c.mode == profile.ModeOverlap && math.Abs(c.error()) > mostError:
		return fmt.Errorf("%w: %s at %.2f is %.2f points off", errClaim, c.region.span, c.speedup, c.error())
	}
	return nil
}

// outside returns an error if the truth is further than so many points from the interval.
func (c cell) outside(by float64) error {
	if c.actualLo <= c.hi+by && c.actualHi >= c.lo-by {
		return nil
	}
	return fmt.Errorf("%w: %s at %.2f brings %.2f to %.2f in truth: must be from %.2f to %.2f", errClaim, c.region.span, c.speedup, c.actualLo, c.actualHi, c.lo, c.hi)
}

// What recordings claim, in points: which effects have an answer, and how far a number may be off
// where all operations are known.
const (
	surelyAnswered = 5
	mostBuiltError = 3
)

// claimsOfRecordings returns what does not hold of an answer of recordings alone.
func (c cell) claimsOfRecordings() error {
	if c.withheld != "" {
		if c.actualLo > surelyAnswered {
			return fmt.Errorf("%w: %s at %.2f is withheld, and brings %.2f to %.2f in truth: %s", errClaim, c.region.span, c.speedup, c.actualLo, c.actualHi, c.withheld)
		}
		return nil
	}
	if c.build == byTheTool && max(c.actualLo-c.predicted, c.predicted-c.actualHi) > mostBuiltError {
		return fmt.Errorf("%w: %s at %.2f brings %.2f to %.2f in truth: must be %.2f within %d points", errClaim, c.region.span, c.speedup, c.actualLo, c.actualHi, c.predicted, mostBuiltError)
	}
	return c.outside(0)
}

// What joined recordings claim: how near the region that limits the program is, the first one, and
// how far from nothing the others may seem, in points.
const (
	mostOffTogether = 3
	mostIdle        = 2
)

// claimsTogether returns what does not hold of what is claimed of a program of several processes.
func (c cell) claimsTogether(p program) error {
	switch {
	case c.of < 2 || c.mode != answers.ModeCombined:
	case c.withheld != "":
		return fmt.Errorf("%w: %s at %.2f is withheld: %s", errClaim, c.region.span, c.speedup, c.withheld)
	case c.region == p.regions[0] && math.Abs(c.error()) > mostOffTogether:
		return fmt.Errorf("%w: %s at %.2f is %.2f points off, must be %d at most", errClaim, c.region.span, c.speedup, c.error(), mostOffTogether)
	case c.region != p.regions[0] && math.Abs(c.predicted) > mostIdle:
		return fmt.Errorf("%w: %s at %.2f brings %.2f, must be within %d of 0", errClaim, c.region.span, c.speedup, c.predicted, mostIdle)
	default:
		return c.outside(0)
	}
	return nil
}

// underPlan has a plan run, and returns what it cost.
func (s *process) underPlan(ctx context.Context, l lab, limits string, profiles map[string]profile.Profile) (c cost, err error) {
	o, lasts := l.settings, l.planFor
	if s.processes() > 1 && limits == defaultLimits {
		lasts *= 2 // by the clock, all rest for as long as the limits ask of a region that is all of the time
	}
	o.window = lasts / looks
	if c.before, err = s.load(ctx, o, looks/2); err != nil {
		return c, err
	}
	text, err := s.planText(l.mode, limits, lasts, l.speedups)
	if err != nil {
		return c, err
	}
	if _, err = s.ask(ctx, "POST", "/plan", url.Values{"plan": {string(text)}}); err != nil {
		return c, err
	}
	if c.during, err = s.load(ctx, o, looks); err != nil {
		return c, err
	}
	profile, text, err := s.profile(ctx)
	if err != nil {
		return c, err
	}
	profiles[limits] = profile
	fmt.Fprintf(l.out, "# %s: limits=%s: %d experiments, %d thrown away, delay %v\n", s.name, limits, profile.Experiments, profile.Rejected, profile.Delay.Round(time.Millisecond))
	if _, err = s.ask(ctx, "POST", "/stop", nil); err != nil {
		return c, err
	}
	if err = keep(fmt.Sprintf("%s.%s-%s.json", s.path(), l.mode, limits), text); err != nil {
		return c, err
	}
	c.after, err = s.load(ctx, o, looks/2)
	return c, err
}

// planText is the plan. Nothing aborts it: what it costs with the breaker open would tell nothing.
func (s *process) planText(mode profile.Mode, limits string, d time.Duration, speedups []float64) ([]byte, error) {
	var percent []float64
	for _, speedup := range speedups {
		percent = append(percent, 100*speedup)
	}
	var regions []map[string]string
	for _, r := range s.regions {
		named := map[string]string{"span": r.span}
		if s.processes() > 1 {
			named["scope"] = r.scope
		}
		regions = append(regions, named)
	}
	plan := map[string]any{
		"api": plan.API, "id": string(mode) + "-" + limits, "mode": mode,
		"expires_at": time.Now().Add(d + time.Minute).UTC().Format(time.RFC3339Nano),
		"regions":    regions,
		"progress":   []map[string]any{{"span": s.progress, "type": plan.TypeThroughput}},
		"grid":       map[string]any{"speedups": percent},
		"abort":      map[string]any{"p99_ratio": 1000, "err_delta": "100%", "min_samples": 1},
	}
	if s.processes() > 1 {
		plan["timing"] = map[string]any{"warmup": "1s", "epoch": "2s"}
	}
	if mode == profile.ModeOverlap {
		plan["timing"] = map[string]any{"warmup": "1s", "experiment": "1s", "cooloff": "200ms"}
	}
	if limits == generousLimits {
		plan["limits"] = map[string]string{"per_span": "1s", "per_trace": "1m", "duty": "100%", "total": "1h"}
	}
	return json.Marshal(plan)
}
