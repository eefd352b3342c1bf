package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
)

// randomPlan returns a valid plan for at least a second.
func randomPlan(rng *rand.Rand, n int) (*plan.Plan, time.Duration, error) {
	between := func(lo, hi time.Duration) time.Duration { return lo + time.Duration(rng.Int64N(int64(hi-lo)+1)) }
	life := between(time.Second, 6*time.Second)
	mode := []profile.Mode{profile.ModeSlowdown, profile.ModeSlowdown, profile.ModeOverlap, profile.ModeDilation}[rng.IntN(4)]
	perSpan := between(500*time.Microsecond, 10*time.Millisecond)
	speedups := []float64{0}
	for _, s := range []float64{5, 10, 25, 50, 75, 80} {
		if rng.IntN(2) == 0 {
			speedups = append(speedups, s)
		}
	}
	if len(speedups) == 1 {
		speedups = append(speedups, 50)
	}
	progress := []map[string]any{{"span": "GET /front", "type": plan.TypeThroughput}}
	if mode != profile.ModeDilation {
		progress = append(progress, map[string]any{"span": "GET /front", "type": plan.TypeLatency})
	}
	pl := map[string]any{
		"api": plan.API, "id": fmt.Sprintf("soak-%d", n), "mode": mode, "seed": rng.Int32(),
		"force":      true, // what matters here are the limits
		"expires_at": time.Now().Add(life).UTC().Format(time.RFC3339Nano),
		"regions":    []map[string]string{{"span": []string{"work", "locked", "query", "w*"}[rng.IntN(4)]}},
		"progress":   progress,
		"grid":       map[string]any{"speedups": speedups, "zero_weight": 0.1 + 0.5*rng.Float64()},
		"timing": map[string]any{
			"warmup": "0s", "experiment": between(100*time.Millisecond, 500*time.Millisecond).String(),
			"cooloff": between(0, 100*time.Millisecond).String(), "min_progress": 1 + rng.IntN(5), "max_experiment": "2s",
		},
		"limits": map[string]string{
			"per_span": perSpan.String(), "per_trace": (perSpan + between(0, 40*time.Millisecond)).String(),
			"duty": fmt.Sprintf("%.2f%%", 1+49*rng.Float64()), "total": between(50*time.Millisecond, 10*time.Second).String(),
		},
		"abort": map[string]any{"p99_ratio": 1000, "err_delta": "100%", "min_samples": 1},
	}
	text, err := json.Marshal(pl)
	if err != nil {
		return nil, 0, err
	}
	p, err := plan.Parse(text)
	return p, life, err
}
