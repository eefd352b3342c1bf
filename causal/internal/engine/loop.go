package engine

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/admission"
	"github.com/otelprof/otelprof/causal/internal/engine/breaker"
	"github.com/otelprof/otelprof/causal/internal/engine/classes"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/internal/engine/virtualtime"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/otelhdr"
)

// Loop measures iteration after iteration until ctx ends.
func (run *Run) Loop(ctx context.Context) {
	defer sched.Exempt()() // it measures, and is not measured
	defer func() {
		run.Rest()
		virtualtime.Unobserved()
		run.Guard.Traces.Clear()
		run.mu.Lock()
		run.now, run.ended = "", time.Now()
		run.mu.Unlock()
		close(run.Done)
	}()
	rng := rand.New(rand.NewPCG(uint64(run.Plan.Seed), 0))
	speedups := make([]float64, len(run.Grid))
	for i, s := range run.Grid {
		speedups[i] = s / 100
	}
	if !run.prepare(ctx) {
		return
	}
	warm := classes.Usages()
	run.mu.Lock()
	run.warm = warm
	run.mu.Unlock()
	if run.Plan.ByClock() {
		run.followClock(ctx)
		return
	}
	began := time.Now()
	for iteration := 0; !run.givesUp(); {
		arms := run.Round(speedups, rng)
		if len(arms) == 0 {
			if !run.pause(ctx, Tick) {
				return
			}
			continue
		}
		for _, a := range arms {
			if !run.measure(ctx, iteration, a) {
				return
			}
		}
		iteration++
		run.mu.Lock()
		run.Iterations = iteration
		run.mu.Unlock()
		if !run.repose(ctx, began) {
			return
		}
	}
}

// Round returns the arms to measure next. If there are none it has the reason.
func (run *Run) Round(speedups []float64, rng *rand.Rand) []experiment.Arm {
	regions := run.pick()
	if len(regions) == 0 {
		run.say("waiting for a span that regions selects")
		return nil
	}
	if run.Plan.Mode == profile.ModeDilation {
		return experiment.DilationArms(len(regions), speedups, run.Plan.Grid.ZeroWeight, rng)
	}
	run.mu.Lock()
	known := [2]int{len(regions), len(run.Experiments)}
	run.mu.Unlock()
	if known == run.idleAt { // what was reported of them holds
		return nil
	}
	arms := run.needed(len(regions), speedups, rng)
	if len(arms) == 0 {
		run.idleAt = known
		run.say("all answers are as exact as they get")
	}
	return arms
}

// needed are the arms of experiments that look at what was measured before.
func (run *Run) needed(regions int, speedups []float64, rng *rand.Rand) []experiment.Arm {
	if run.Plan.Mode == profile.ModeSlowdown {
		return experiment.SlowdownArms(regions, run.Levels(), run.Plan.Grid.ZeroWeight, run.samples(experiment.Slopes), rng)
	}
	return experiment.OverlapArms(regions, speedups, run.Plan.Grid.ZeroWeight, run.samples(experiment.Pairs), rng)
}

// prepare waits for the plan's time, warms up, and learns what is normal.
func (run *Run) prepare(ctx context.Context) bool {
	for run.Guard.Early(time.Now()) {
		run.say("waiting for not_before")
		// One look is enough, unless a clock is set meanwhile.
		if !run.pause(ctx, max(time.Until(run.Plan.NotBefore), glance)) {
			return false
		}
	}
	run.say("warming up")
	if !run.warmUp(ctx) || run.givesUp() {
		return false
	}
	for !run.Breaker.Baseline(time.Now()) && !run.CountsOnly {
		run.say(fmt.Sprintf("waiting for %d root spans, to know what is normal before anything is delayed", run.Breaker.Rules.MinSamples))
		if !run.pause(ctx, Tick) {
			return false
		}
	}
	return true
}

// measure puts one arm in force, lets it settle and counts visits.
func (run *Run) measure(ctx context.Context, iteration int, a experiment.Arm) bool {
	for !run.Turn.try() {
		run.say("waiting for a recording to end")
		if !run.pause(ctx, glance) {
			return false
		}
	}
	defer run.Turn.done()
	run.say(run.describe(a))
	start, i, end := run.enter(a)
	defer end()
	if ctx.Err() != nil { // it ended just before the arm began
		return false
	}
	settling := run.settling()
	if !run.pause(ctx, settling) {
		return false
	}
	if !run.awaitVisits(ctx, start.arrived) {
		return false
	}
	run.startCounting(start, a, i)
	wait := time.Duration(run.Plan.Timing.Experiment)
	if run.Plan.Mode == profile.ModeSlowdown { // else most of an arm would be settling
		wait = max(wait, settling)
	}
	for {
		if !run.pause(ctx, wait) {
			return false
		}
		e := run.counted(start, a, i)
		e.Iteration = iteration
		least := uint64(math.MaxUint64)
		for _, passed := range e.Passages {
			least = min(least, passed.Visits)
		}
		if least < uint64(run.Plan.Timing.MinProgress) && e.Duration < time.Duration(run.Plan.Timing.MaxExperiment) {
			wait = min(Tick, time.Duration(run.Plan.Timing.MaxExperiment)-e.Duration)
			continue
		}
		run.endCounting(e, start, i)
		return true
	}
}

// enter puts an arm in force, until end is called.
func (run *Run) enter(a experiment.Arm) (start *armStart, i Influence, end func()) {
	start = &armStart{at: time.Since(run.Started), spent: run.Guard.Spent.Load(), arrived: run.Visits()}
	virtualtime.Books.Sweep(clock.Now(), virtualtime.ForgetAfter, virtualtime.ForgetOpen) // those left begin anew
	i = run.Begin(a)
	run.Breaker.Enter(time.Now(), breaker.Delayed) // also of what the last arm has left behind
	return start, i, func() {
		run.Rest()
		run.Breaker.Enter(time.Now(), breaker.Between)
	}
}

// counted is what has been counted of an arm until now.
func (run *Run) counted(start *armStart, a experiment.Arm, i Influence) experiment.Experiment {
	e := experiment.Experiment{
		Arm: a, At: start.at, Settled: start.began.Sub(run.Started) - start.at, Duration: time.Since(start.began),
		Growth: time.Duration(i.GrowthAt(clock.Now()) - start.growth), Rooted: time.Duration(run.rooted.Load() - start.rooted),
	}
	for point, v := range run.Visits() {
		e.Passages = append(e.Passages, v.Since(start.visits[point]))
	}
	return e
}

// Add keeps an experiment, and what it has recorded of latency by progress point.
func (run *Run) Add(e experiment.Experiment, recorded []*otelhdr.Snapshot) {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.measured++
	// What is thrown away keeps its place among its neighbours.
	run.Experiments = append(run.Experiments, e)
	if e.Spoiled != "" {
		run.rejected++
		return
	}
	run.addLatency(e.Arm, recorded)
}

// addLatency adds to what an arm has recorded so far. Snapshots that others may have are not
// changed.
func (run *Run) addLatency(a experiment.Arm, recorded []*otelhdr.Snapshot) {
	for point, now := range recorded {
		if now == nil {
			continue
		}
		of := run.cellOf(a, point)
		if sum := run.latency[of]; sum != nil && now.Merge(sum) != nil {
			continue // of another layout, which no run changes
		}
		run.latency[of] = now
	}
}

// Tick is how often a run looks at the clock and the breaker.
const Tick = 100 * time.Millisecond

// pause waits for d and reports whether the run goes on. Meanwhile it watches over the rules
// that end a plan.
func (run *Run) pause(ctx context.Context, d time.Duration) bool {
	until := time.Now().Add(d)
	for {
		now := time.Now()
		run.tend()
		if r := run.Guard.Expired(now); r != admission.RuleNone {
			run.End(r)
		} else if run.Breaker.Learned() {
			if why := run.Breaker.Check(now); why != "" {
				run.EndFor(OpenedError(why))
			}
		}
		left := until.Sub(now)
		if ctx.Err() != nil {
			return false
		}
		if left <= 0 {
			return true
		}
		timer := time.NewTimer(min(left, Tick))
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
	}
}

// tend looks after what changes while a run goes on: the pace, the number of processors, and
// goroutines that have ended.
func (run *Run) tend() {
	run.Pace.Mark(time.Now(), time.Duration(run.Guard.Spent.Load()), run.processors)
	if n := processors(); n != run.processors {
		run.processors = n
		if s, at := run.InForce().(*Scheduled); at { // the scheduler has the duty of so many as there were
			s.Rest()
		}
		run.Guard.Share(n)
	}
	if t := clock.Now(); t-run.swept > int64(sweepEvery) {
		run.swept = t
		virtualtime.Books.Sweep(t, virtualtime.ForgetWithin, virtualtime.ForgetOpen)
	}
}

const sweepEvery = time.Second

// Visits returns the latest visit of each progress point.
func (run *Run) Visits() []experiment.Visit {
	v := make([]experiment.Visit, len(run.Progress))
	for i := range v {
		v[i] = run.Progress[i].Latest()
	}
	return v
}

// awaitVisits waits until each progress point has been visited after an earlier moment, or for
// as long as an experiment takes, and reports whether the run goes on.
func (run *Run) awaitVisits(ctx context.Context, earlier []experiment.Visit) bool {
	began := time.Now()
	for point := range run.Progress {
		for run.Progress[point].Latest().Count == earlier[point].Count {
			if time.Since(began) > time.Duration(run.Plan.Timing.Experiment) {
				return true
			}
			if !run.pause(ctx, glance) {
				return false
			}
		}
	}
	return true
}

// glance is how often a run looks for a visit.
const glance = 5 * time.Millisecond

// visit counts a visit of a progress point, on one of its paths.
func (run *Run) visit(point, path int) {
	run.paths[point].Visits[path].Add(1)
	run.Progress[point].Add(func() (at, growth int64) {
		at = clock.Now()
		return at, run.InForce().GrowthAt(at)
	})
}

// Seen are the regions that the plan selects, in the order in which they were seen.
func (run *Run) Seen() []profile.Region {
	run.mu.Lock()
	defer run.mu.Unlock()
	return slices.Clone(run.Regions)
}

func (run *Run) say(what string) {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.now = what
}

func (run *Run) describe(a experiment.Arm) string {
	switch {
	case a.Speedup == 0:
		return "no delay"
	case run.Plan.Mode == profile.ModeSlowdown:
		return fmt.Sprintf("callers of %q held for %.0f%% of its own time", run.Seen()[a.Spared].Name, 100*a.Speedup)
	case run.Plan.Mode == profile.ModeOverlap:
		return fmt.Sprintf("all others delayed by what %q would save if it were %.0f%% faster", run.Seen()[a.Spared].Name, 100*a.Speedup)
	case a.Spared == experiment.SparesNone:
		return fmt.Sprintf("all regions %.0f%% longer", 100*a.Factor())
	}
	return fmt.Sprintf("all regions %.0f%% longer but %q, which stands for making it %.0f%% faster", 100*a.Factor(), run.Seen()[a.Spared].Name, 100*a.Speedup)
}
