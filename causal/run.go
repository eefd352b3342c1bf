package causal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/causal/internal/admission"
	"github.com/otelprof/otelprof/causal/internal/breaker"
	"github.com/otelprof/otelprof/causal/internal/classes"
	"github.com/otelprof/otelprof/causal/internal/experiment"
	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/internal/requests"
	"github.com/otelprof/otelprof/causal/internal/virtualtime"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/replay/trace"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/otelhdr"
)

// A run is one plan while it is carried out. The hook reads it on every goroutine that ends
// a span; one goroutine of its own changes what is inserted.
type run struct {
	plan     *plan.Plan
	grid     []float64 // the speed-ups of the plan that the program allows, percent
	exempt   []string
	audit    *audit
	guard    *admission.Guard
	breaker  *breaker.Breaker
	started  time.Time
	before   map[*classes.Class]classes.Usage
	warm     map[*classes.Class]classes.Usage // at the end of the warm-up
	answered uint64                           // calls of the process of itself, before it
	load     *load
	pace     admission.Pace
	spin     wait // as work would
	compute  wait // the same, not counting what others have of the processor
	sleep    wait // and let others run

	influence atomic.Pointer[influence] // nil between arms, see inForce
	booked    time.Duration             // of what is spent, in the controller's outlays
	waits     func(context.Context, time.Duration) (trace.Waits, error)
	work      func(context.Context, time.Duration) (workload, error)
	loads     func() (end func() record.Load)
	turn      turn                      // shared with recordings
	durations durations                 // by progress point, of slow-downs
	progress  []experiment.VisitCounter // by progress point
	paths     []experiment.Paths        // by progress point
	rooted    atomic.Int64              // the sum of the durations of local roots, ns
	cancel    context.CancelCauseFunc
	opened    atomic.Bool // the breaker did, or there was a panic
	panics    sync.Once   // of which the first is logged
	done      chan struct{}

	// Of the run's goroutine.
	processors int
	swept      int64
	idleAt     [2]int // regions and experiments for which there was nothing to measure

	verdicts atomic.Pointer[verdicts]
	numbers  atomic.Pointer[map[profile.Region]int] // of regions; replaced, never changed

	mu          sync.Mutex
	regions     []profile.Region // that the plan selects, in the order in which they were seen
	picked      bool             // the regions of patterns with Auto are among them
	experiments []experiment.Experiment
	latency     map[cell]*otelhdr.Snapshot
	iterations  int
	measured    int // arms, and of them rejected
	rejected    int
	now         string // the experiment that is being measured
	ended       time.Time
	warmed      warmUp
	futile      profile.Withheld // why there will be no number
}

func newRun(p *plan.Plan, c config, now time.Time) (*run, error) {
	b, err := breaker.New(p.Abort.Tighten(c.breaker))
	if err != nil {
		return nil, err
	}
	n := processors()
	r := &run{
		plan:     p,
		grid:     c.allowed.Speedups(p),
		exempt:   c.exempt,
		audit:    c.audit,
		guard:    admission.NewGuard(p, c.allowed.Expires(p, now), p.Limits.Tighten(c.caps), n, now),
		breaker:  b,
		started:  now,
		before:   classes.Usages(),
		answered: requests.Answered.Load(),
		load:     &load{},
		spin:     clock.Spin,
		compute:  clock.Compute,
		sleep:    clock.Sleep,
		waits:    c.waits,
		work:     c.work,
		loads:    c.loads,
		progress: make([]experiment.VisitCounter, len(p.Progress)),
		paths:    make([]experiment.Paths, len(p.Progress)),
		latency:  map[cell]*otelhdr.Snapshot{},
		done:     make(chan struct{}),

		processors: n,
	}
	if p.Mode == profile.ModeSlowdown {
		if r.durations, err = measuresLatency(p.Progress); err != nil {
			return nil, err
		}
	}
	if c.wall != nil {
		r.guard.Wall = c.wall
	}
	for i := range r.paths {
		r.paths[i].Number("") // that of Progress
	}
	r.verdicts.Store(new(verdicts))
	r.numbers.Store(&map[profile.Region]int{})
	return r, nil
}

// end stops what is inserted, at once, and lets the run's goroutine go. The first cause counts.
func (run *run) end(r admission.Rule) { run.endFor(ruleError(r)) }

// The order matters: measure puts an arm in force and then looks whether the context has ended,
// so either it sees that, or what it stored is before the store here.
func (run *run) endFor(cause error) {
	if _, ok := errors.AsType[openedError](cause); ok {
		run.opened.Store(true)
	}
	run.cancel(cause)
	run.rest()
}

// loop measures iteration after iteration until ctx ends.
func (run *run) loop(ctx context.Context) {
	defer sched.Exempt()() // it measures, and is not measured
	defer func() {
		run.rest()
		virtualtime.Unobserved()
		run.guard.Traces.Clear()
		run.mu.Lock()
		run.now, run.ended = "", time.Now()
		run.mu.Unlock()
		close(run.done)
	}()
	rng := rand.New(rand.NewPCG(uint64(run.plan.Seed), 0))
	speedups := make([]float64, len(run.grid))
	for i, s := range run.grid {
		speedups[i] = s / 100
	}
	if !run.prepare(ctx) {
		return
	}
	run.warm = classes.Usages()
	began := time.Now()
	for iteration := 0; !run.givesUp(); {
		arms := run.round(speedups, rng)
		if len(arms) == 0 {
			if !run.pause(ctx, tick) {
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
		run.iterations = iteration
		run.mu.Unlock()
		if !run.repose(ctx, began) {
			return
		}
	}
}

// round returns the arms to measure next. If there are none it says why.
func (run *run) round(speedups []float64, rng *rand.Rand) []experiment.Arm {
	regions := run.pick()
	if len(regions) == 0 {
		run.say("waiting for a span that regions selects")
		return nil
	}
	if run.plan.Mode == profile.ModeDilation {
		return experiment.DilationArms(len(regions), speedups, run.plan.Grid.ZeroWeight, rng)
	}
	run.mu.Lock()
	known := [2]int{len(regions), len(run.experiments)}
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
func (run *run) needed(regions int, speedups []float64, rng *rand.Rand) []experiment.Arm {
	if run.plan.Mode == profile.ModeSlowdown {
		return experiment.SlowdownArms(regions, run.levels(), run.plan.Grid.ZeroWeight, run.samples(experiment.Slopes), rng)
	}
	return experiment.OverlapArms(regions, speedups, run.plan.Grid.ZeroWeight, run.samples(experiment.Pairs), rng)
}

// prepare waits for the plan's time, warms up, and learns what is normal.
func (run *run) prepare(ctx context.Context) bool {
	for run.guard.Early(time.Now()) {
		run.say("waiting for not_before")
		// One look is enough, unless a clock is set meanwhile.
		if !run.pause(ctx, max(time.Until(run.plan.NotBefore), glance)) {
			return false
		}
	}
	run.say("warming up")
	if !run.warmUp(ctx) || run.givesUp() {
		return false
	}
	for !run.breaker.Baseline(time.Now()) {
		run.say(fmt.Sprintf("waiting for %d root spans, to know what is normal before anything is delayed", run.breaker.Rules.MinSamples))
		if !run.pause(ctx, tick) {
			return false
		}
	}
	return true
}

// measure puts one arm in force, lets it settle and counts visits.
func (run *run) measure(ctx context.Context, iteration int, a experiment.Arm) bool {
	for !run.turn.try() {
		run.say("waiting for a recording to end")
		if !run.pause(ctx, glance) {
			return false
		}
	}
	defer run.turn.done()
	run.say(run.describe(a))
	start := &armStart{at: time.Since(run.started), spent: run.guard.Spent.Load(), arrived: run.visits()}
	virtualtime.Books.Sweep(clock.Now(), virtualtime.ForgetAfter, virtualtime.ForgetOpen) // those left begin anew
	influence := run.begin(a)
	run.breaker.Enter(time.Now(), breaker.Delayed) // also of what the last arm has left behind
	defer func() { run.breaker.Enter(time.Now(), breaker.Between) }()
	defer run.rest()
	if ctx.Err() != nil { // it ended just before the arm began
		return false
	}
	if !run.pause(ctx, run.settling()) {
		return false
	}
	if !run.awaitVisits(ctx, start.arrived) {
		return false
	}
	run.startCounting(start, a, influence)
	wait := time.Duration(run.plan.Timing.Experiment)
	for {
		if !run.pause(ctx, wait) {
			return false
		}
		e := experiment.Experiment{
			Arm: a, Iteration: iteration, At: start.at, Settled: start.began.Sub(run.started) - start.at, Duration: time.Since(start.began),
			Growth: time.Duration(influence.growthAt(clock.Now()) - start.growth), Rooted: time.Duration(run.rooted.Load() - start.rooted),
		}
		least := uint64(math.MaxUint64)
		for point, v := range run.visits() {
			e.Passages = append(e.Passages, v.Since(start.visits[point]))
			least = min(least, e.Passages[point].Visits)
		}
		if least < uint64(run.plan.Timing.MinProgress) && e.Duration < time.Duration(run.plan.Timing.MaxExperiment) {
			wait = min(tick, time.Duration(run.plan.Timing.MaxExperiment)-e.Duration)
			continue
		}
		run.endCounting(e, start, influence)
		return true
	}
}

func (run *run) add(e experiment.Experiment, recorded []*otelhdr.Snapshot) {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.measured++
	// What is thrown away keeps its place among its neighbours.
	run.experiments = append(run.experiments, e)
	if e.Spoiled != "" {
		run.rejected++
		return
	}
	run.addLatency(e.Arm, recorded)
}

// addLatency adds to what an arm has recorded so far. Snapshots that others may have are not
// changed.
func (run *run) addLatency(a experiment.Arm, recorded []*otelhdr.Snapshot) {
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

// tick is how often a run looks at the clock and the breaker.
const tick = 100 * time.Millisecond

// pause waits for d and reports whether the run goes on. Meanwhile it watches over the rules
// that end a plan.
func (run *run) pause(ctx context.Context, d time.Duration) bool {
	until := time.Now().Add(d)
	for {
		now := time.Now()
		run.tend()
		if r := run.guard.Expired(now); r != admission.RuleNone {
			run.end(r)
		} else if run.breaker.Learned() {
			if why := run.breaker.Check(now); why != "" {
				run.endFor(openedError(why))
			}
		}
		left := until.Sub(now)
		if ctx.Err() != nil {
			return false
		}
		if left <= 0 {
			return true
		}
		timer := time.NewTimer(min(left, tick))
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
	}
}

// tend looks after what changes while a run goes on: the pace, the number of processors, and
// goroutines that have ended.
func (run *run) tend() {
	run.pace.Mark(time.Now(), time.Duration(run.guard.Spent.Load()), run.processors)
	if n := processors(); n != run.processors {
		run.processors = n
		run.guard.Share(n)
	}
	if t := clock.Now(); t-run.swept > int64(sweepEvery) {
		run.swept = t
		virtualtime.Books.Sweep(t, virtualtime.ForgetWithin, virtualtime.ForgetOpen)
	}
}

const sweepEvery = time.Second

// visits returns the latest visit of each progress point.
func (run *run) visits() []experiment.Visit {
	v := make([]experiment.Visit, len(run.progress))
	for i := range v {
		v[i] = run.progress[i].Latest()
	}
	return v
}

// awaitVisits waits until each progress point has been visited after an earlier moment, or for
// as long as an experiment takes, and reports whether the run goes on.
func (run *run) awaitVisits(ctx context.Context, earlier []experiment.Visit) bool {
	began := time.Now()
	for point := range run.progress {
		for run.progress[point].Latest().Count == earlier[point].Count {
			if time.Since(began) > time.Duration(run.plan.Timing.Experiment) {
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
func (run *run) visit(point, path int) {
	run.paths[point].Visits[path].Add(1)
	now := clock.Now()
	run.progress[point].Add(now, run.inForce().growthAt(now))
}

func (run *run) seen() []profile.Region {
	run.mu.Lock()
	defer run.mu.Unlock()
	return slices.Clone(run.regions)
}

func (run *run) say(what string) {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.now = what
}

func (run *run) describe(a experiment.Arm) string {
	switch {
	case a.Speedup == 0:
		return "no delay"
	case run.plan.Mode == profile.ModeSlowdown:
		return fmt.Sprintf("callers of %q held for %.0f%% of its own time", run.seen()[a.Spared].Name, 100*a.Speedup)
	case run.plan.Mode == profile.ModeOverlap:
		return fmt.Sprintf("all others delayed by what %q would save if it were %.0f%% faster", run.seen()[a.Spared].Name, 100*a.Speedup)
	case a.Spared == experiment.SparesNone:
		return fmt.Sprintf("all regions %.0f%% longer", 100*a.Factor())
	}
	return fmt.Sprintf("all regions %.0f%% longer but %q, which stands for making it %.0f%% faster", 100*a.Factor(), run.seen()[a.Spared].Name, 100*a.Speedup)
}
