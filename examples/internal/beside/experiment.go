package beside

import (
	"context"
	"encoding/json"
	"time"

	"github.com/otelprof/otelprof/causal"
)

// caps bound the experiments, which harm nobody here.
var caps = causal.Limits{PerSpan: causal.Duration(time.Second), PerTrace: causal.Duration(time.Minute), Duty: 1, Total: causal.Duration(time.Hour)}

// inRuntime reports whether "otelprof run" has built this program: then the scheduler sees who waits for whom, and an
// experiment answers in place of recordings.
func inRuntime(c *causal.Controller) bool { return c.Status().Handover == causal.HandoverRuntime }

// newController returns one for recordings, or, in runtime mode, with an experiment that has begun.
func (p Program) newController(length time.Duration) (*causal.Controller, error) {
	c, err := causal.New(causal.WithExperiments(caps))
	if err != nil || !inRuntime(c) {
		return c, err
	}
	plan, err := p.plan(length)
	if err != nil {
		return nil, err
	}
	return c, c.Apply(plan)
}

// recordings is how many it takes for an interval.
const recordings = 5

// record takes recordings of a program that runs for so long, half of the time in all, unless an experiment answers.
func record(ctx context.Context, c *causal.Controller, length time.Duration) error {
	if inRuntime(c) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	select {
	case <-time.After(length / (2 * recordings)): // the program settles
	case <-ctx.Done():
	}
	for range recordings {
		if err := c.Record(ctx, length/(2*recordings)); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// plan asks about the region and the one with the most self time, in short experiments that follow each other closely.
func (p Program) plan(length time.Duration) (*causal.Plan, error) {
	document, err := json.Marshal(map[string]any{
		"api": causal.API, "id": p.Name, "mode": causal.ModeOverlap, "expires_at": time.Now().Add(length + time.Minute),
		"regions":  []map[string]any{{"span": p.Region}, {"auto": 1}},
		"progress": []map[string]string{{"span": p.Unit, "type": causal.TypeThroughput}},
		"grid":     map[string]any{"speedups": []int{0, 25, 50}},
		"timing":   map[string]string{"warmup": "500ms", "experiment": "200ms", "cooloff": "50ms"},
		"limits":   map[string]string{"per_span": "1s", "per_trace": "1m", "duty": "100%", "total": "1h"},
		"abort":    map[string]any{"p99_ratio": 1000, "err_delta": "100%", "min_samples": 1},
	})
	if err != nil {
		return nil, err
	}
	return causal.ParsePlan(document)
}
