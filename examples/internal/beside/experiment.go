package beside

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
)

// caps bound the experiments, wide, since this is no service.
var caps = plan.Limits{PerSpan: plan.Duration(time.Second), PerTrace: plan.Duration(time.Minute), Duty: 1, Total: plan.Duration(time.Hour)}

// inRuntime reports whether "otelprof run" has built this program: then the scheduler sees which
// goroutine waits for which, and an experiment answers in place of recordings.
func inRuntime(c *causal.Controller) bool { return c.Status().Handover == profile.HandoverRuntime }

// newController returns one for recordings, or, in runtime mode, with an experiment by overlap that
// has begun.
func (p Program) newController(ctx context.Context, length time.Duration) (*causal.Controller, error) {
	c, err := permitted()
	if err != nil || !inRuntime(c) {
		return c, err
	}
	return c, p.begin(ctx, c, profile.ModeOverlap, length)
}

// permitted returns a controller that takes plans.
func permitted() (*causal.Controller, error) {
	return causal.NewController(causal.WithExperiments(caps), causal.WithBreaker(plan.Abort{P99Ratio: 1000, ErrDelta: 1, Window: plan.Duration(time.Minute), MinSamples: 1000}))
}

// begin begins an experiment, and shuts the controller down where there can be none.
func (p Program) begin(ctx context.Context, c *causal.Controller, mode profile.Mode, length time.Duration) error {
	plan, err := p.plan(mode, length)
	if err == nil {
		err = c.Apply(plan)
	}
	if err != nil {
		err = errors.Join(err, c.Shutdown(context.WithoutCancel(ctx)))
	}
	return err
}

// dilated runs the program under experiments by dilation, and returns what they say.
func (p Program) dilated(ctx context.Context, length time.Duration, optimized bool) (profile.Profile, error) {
	c, err := permitted()
	if err != nil {
		return profile.Profile{}, err
	}
	if err := p.begin(ctx, c, profile.ModeDilation, length); err != nil {
		return profile.Profile{}, err
	}
	_, err = p.during(ctx, c, optimized, lasting(length))
	prof := c.Profile()
	return prof, errors.Join(err, c.Shutdown(context.WithoutCancel(ctx)))
}

// recordings is how many it takes for an interval.
const recordings = 5

// record takes recordings of a program for half of the length, and lasts that long, or until the
// last of them has been analysed; an experiment answers in place of recordings.
func record(ctx context.Context, c *causal.Controller, length time.Duration) error {
	over := time.Now().Add(length)
	if !inRuntime(c) {
		if err := wait(ctx, length/(2*recordings)); err != nil { // the program settles
			return err
		}
		for range recordings {
			if err := c.Record(ctx, length/(2*recordings)); err != nil {
				return err
			}
		}
	}
	return wait(ctx, time.Until(over))
}

// lasting is a function that lasts for d.
func lasting(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error { return wait(ctx, d) }
}

// wait waits for d, or until ctx is over.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// timing is of short experiments that follow each other closely. Those of dilation are shorter: it
// has no debts that must be paid.
var timing = map[profile.Mode]map[string]string{
	profile.ModeOverlap:  {"warmup": "500ms", "experiment": "200ms", "cooloff": "50ms"},
	profile.ModeDilation: {"warmup": "500ms", "experiment": "100ms", "cooloff": "30ms"},
}

// plan asks about the region and the one with the most self time.
func (p Program) plan(mode profile.Mode, length time.Duration) (*plan.Plan, error) {
	document, err := json.Marshal(map[string]any{
		"api": plan.API, "id": p.Name + "-" + string(mode), "mode": mode, "expires_at": time.Now().Add(length + time.Minute),
		"regions":  []map[string]any{{"span": p.Region}, {"auto": 1}},
		"progress": []map[string]string{{"span": p.Unit, "type": plan.TypeThroughput}},
		"grid":     map[string]any{"speedups": []int{0, 25, 50}},
		"timing":   timing[mode],
		"limits":   map[string]string{"per_span": "1s", "per_trace": "1m", "duty": "100%", "total": "1h"},
		"abort":    map[string]any{"p99_ratio": 1000, "err_delta": "100%", "min_samples": 1},
	})
	if err != nil {
		return nil, err
	}
	return plan.Parse(document)
}
