package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/internal/engine/classes"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/glob"
)

// enrollAll numbers the regions as the plan does, whether this process has their spans or not.
func (run *Run) enrollAll() {
	for _, p := range run.Plan.Regions {
		run.Number(profile.Region{Scope: glob.Name(p.Scope), Name: glob.Name(p.Span)})
	}
}

// followClock measures in the epochs of a plan by the clock until ctx ends.
func (run *Run) followClock(ctx context.Context) {
	schedule := experiment.NewEpochs(run.Plan)
	for {
		now := run.Guard.Wall(time.Now())
		number := schedule.Number(now)
		if now.Sub(schedule.Begins(number)) > design.EpochSkew {
			number++ // it is too late for that
		}
		number = schedule.Next(number)
		if left := schedule.Begins(number).Sub(now); left > 0 {
			run.say(fmt.Sprintf("resting until %s", schedule.Begins(number).UTC().Format(time.TimeOnly)))
			if !run.pause(ctx, left) {
				return
			}
		}
		if !run.measureEpoch(ctx, schedule, number) {
			return
		}
		run.mu.Lock()
		run.Iterations = int(schedule.Round(number) - schedule.Round(schedule.Number(run.Started)))
		run.mu.Unlock()
	}
}

// measureEpoch does what is due in an epoch from its beginning to its end, and counts in between.
// It reports whether the run goes on.
func (run *Run) measureEpoch(ctx context.Context, schedule *experiment.Epochs, number int64) bool {
	a, _ := schedule.Arm(number)
	// While something is recorded this process delays nothing, and counts all the same: the others
	// do not wait.
	free := run.Turn.try()
	if free {
		defer run.Turn.done()
	}
	run.idle = run.CountsOnly || !free
	what := run.describe(a)
	if run.idle {
		what = "counting, delays elsewhere: " + what
	}
	run.say(what)
	start, i, end := run.enter(a)
	defer end()
	if ctx.Err() != nil {
		return false
	}
	from, to := schedule.Counted(number, run.settling())
	if !run.pauseUntil(ctx, from) {
		return false
	}
	run.startCounting(start, a, i)
	if !run.pauseUntil(ctx, to) {
		return false
	}
	e := run.counted(start, a, i)
	e.Epoch, e.Iteration = number, int(schedule.Round(number))
	if off := run.Guard.Wall(time.Now()).Sub(to); off.Abs() > design.EpochSkew || (e.Duration-to.Sub(from)).Abs() > design.EpochSkew {
		e.Spoiled = "the clock was set, or this process stood still"
	}
	run.endCounting(e, start, i)
	return run.pauseUntil(ctx, schedule.Begins(number+1))
}

// pauseUntil is pause until a time of the wall clock.
func (run *Run) pauseUntil(ctx context.Context, t time.Time) bool {
	return run.pause(ctx, t.Sub(run.Guard.Wall(time.Now())))
}

// epochs are what this process has counted in the epochs of a plan by the clock.
func (run *Run) epochs(regions []profile.Region, experiments []experiment.Experiment) (all []profile.Epoch) {
	for _, e := range experiments {
		if e.Spoiled != "" || !run.Plan.ByClock() {
			continue
		}
		x := profile.Epoch{Number: e.Epoch, Region: regions[e.Spared], Level: e.Speedup, Own: e.Own, Taken: e.Taken}
		for point, p := range run.Plan.Progress {
			passed := e.Passages[point]
			if passed.Visits == 0 {
				continue
			}
			metrics, _ := p.Metrics()
			for which, metric := range metrics {
				c := profile.EpochCount{Progress: p.Name(), Metric: metric, Visits: passed.Visits}
				switch {
				case metric == profile.MetricThroughput:
					c.Sum = passed.Effective
				case which < len(e.Quantiles[point]):
					c.Sum = time.Duration(e.Quantiles[point][which] * float64(passed.Visits))
				}
				if c.Sum > 0 {
					x.Counts = append(x.Counts, c)
				}
			}
		}
		all = append(all, x)
	}
	return all
}

// unseen returns the regions that this process delays and has no spans of, or that it counts only.
func (run *Run) unseen(regions []profile.Region) (notes []string) {
	if !run.Plan.ByClock() {
		return nil
	}
	if run.CountsOnly {
		return []string{"this process delays nothing: it counts for the others that hold the plan. otelprof report has the answer, from the profiles of all of them or from their Prometheus"}
	}
	epoch := time.Duration(run.Plan.Timing.Epoch)
	if rest, wanted := experiment.MostSettling(epoch), run.settling(); wanted > rest {
		notes = append(notes, fmt.Sprintf("timing.epoch %v: an epoch settles for %v, and requests take so long that it should for %v: what is counted has a part of the one before, so that regions seem to matter less. Use at least %v",
			epoch, rest, wanted, 2*wanted+2*design.EpochSkew))
	}
	for _, key := range regions {
		if c := classes.Known(key); c == nil || c.Count.Load() == 0 {
			notes = append(notes, key.Unseen())
		}
	}
	return notes
}
