package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/profile"
)

// lost is how much of its work the program has not done in these experiments, as the time that it
// would have taken for it: what was visited less often than without delay, by the first progress
// point.
func lost(experiments []experiment.Experiment) time.Duration {
	var still, took float64
	for _, e := range experiments {
		if e.Speedup == 0 && e.Spoiled == "" {
			still += float64(e.Passages[0].Visits)
			took += float64(e.Duration)
		}
	}
	if still == 0 {
		return 0
	}
	sum := 0.0
	for _, e := range experiments {
		if e.Speedup > 0 && e.Duration > 0 {
			visits := float64(e.Passages[0].Visits) / float64(e.Duration)
			sum += (1 - visits*took/still) * float64(e.Settled+e.Duration)
		}
	}
	return time.Duration(max(0, sum))
}

// repose leaves the program alone, after a round of slow-downs, until what they have lost is a
// small part of the time since they began. It reports whether the run goes on.
func (run *Run) repose(ctx context.Context, began time.Time) bool {
	if run.Plan.Mode != profile.ModeSlowdown {
		return true
	}
	most := design.LossOfDuty * float64(run.Guard.Limits.Duty)
	run.mu.Lock()
	due := time.Duration(float64(lost(run.Experiments)) / most)
	run.mu.Unlock()
	left := due - time.Since(began)
	if left <= 0 {
		return true
	}
	run.say(fmt.Sprintf("resting: experiments take %.2g %% of the throughput at most, in the mean", 100*most))
	return run.pause(ctx, left)
}
