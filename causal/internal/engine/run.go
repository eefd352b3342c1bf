package engine

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

	"github.com/otelprof/otelprof/causal/internal/engine/admission"
	"github.com/otelprof/otelprof/causal/internal/engine/breaker"
	"github.com/otelprof/otelprof/causal/internal/engine/classes"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/internal/engine/requests"
	"github.com/otelprof/otelprof/causal/internal/engine/virtualtime"
	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/replay/trace"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/otelhdr"
)

// A Run is one plan while it is carried out. The hook reads it on every goroutine that ends
// a span; one goroutine of its own changes what is inserted.
type Run struct {
	Plan     *plan.Plan
	Grid     []float64 // the speed-ups of the plan that the program allows, percent
	exempt   []string
	report   func(p *plan.Plan, value any) // takes a panic of our own code
	Guard    *admission.Guard
	Breaker  *breaker.Breaker
	Started  time.Time
	before   map[*classes.Class]classes.Usage
	warm     map[*classes.Class]classes.Usage // at the end of the warm-up
	Answered uint64                           // calls of the process of itself, before it
	Load     *Load
	Pace     admission.Pace
	Spin     wait // as work would
	Compute  wait // the same, not counting what others have of the processor
	Sleep    wait // and let others run

	Influence atomic.Pointer[Influence] // nil between arms, see InForce
	Booked    time.Duration             // of what is spent, in the controller's outlays
	waits     func(context.Context, time.Duration) (trace.Waits, error)
	work      func(context.Context, time.Duration) (Workload, error)
	loads     func() (end func() record.Load)
	Turn      Turn                      // shared with recordings
	durations durations                 // by progress point, of slow-downs
	Progress  []experiment.VisitCounter // by progress point
	paths     []experiment.Paths        // by progress point
	rooted    atomic.Int64              // the sum of the durations of local roots, ns
	Cancel    context.CancelCauseFunc
	Opened    atomic.Bool // the breaker did, or there was a panic
	panics    sync.Once   // of which the first is logged
	Done      chan struct{}

	// Of the run's goroutine.
	processors int
	swept      int64
	idleAt     [2]int // regions and experiments for which there was nothing to measure

	Verdicts atomic.Pointer[verdicts]
	numbers  atomic.Pointer[map[profile.Region]int] // of regions; replaced, never changed

	mu          sync.Mutex
	Regions     []profile.Region // that the plan selects, in the order in which they were seen
	picked      bool             // the regions of patterns with Auto are among them
	Experiments []experiment.Experiment
	latency     map[cell]*otelhdr.Snapshot
	Iterations  int
	measured    int // arms, and of them rejected
	rejected    int
	now         string // the experiment that is being measured
	ended       time.Time
	warmed      warmUp
	futile      profile.Withheld // why there will be no number
}

// Settings are what a program allows to plans, and how a run sees the program.
type Settings struct {
	Caps     plan.Limits
	Breaker  plan.Abort                                                // caps, too
	Allowed  plan.Allowed                                              // what plans may ask for
	Exempt   []string                                                  // patterns of the names of health checks
	Waits    func(context.Context, time.Duration) (trace.Waits, error) // nil for not recorded
	Work     func(context.Context, time.Duration) (Workload, error)    // the same
	Loads    func() (end func() record.Load)
	Wall     func(time.Time) time.Time     // nil for the real one
	Panicked func(p *plan.Plan, value any) // takes a panic of our own code
}

func NewRun(p *plan.Plan, c Settings, now time.Time) (*Run, error) {
	b, err := breaker.New(p.Abort.Tighten(c.Breaker))
	if err != nil {
		return nil, err
	}
	n := processors()
	r := &Run{
		Plan:     p,
		Grid:     c.Allowed.Speedups(p),
		exempt:   c.Exempt,
		report:   c.Panicked,
		Guard:    admission.NewGuard(p, c.Allowed.Expires(p, now), p.Limits.Tighten(c.Caps), n, now),
		Breaker:  b,
		Started:  now,
		before:   classes.Usages(),
		Answered: requests.Answered.Load(),
		Load:     &Load{},
		Spin:     clock.Spin,
		Compute:  clock.Compute,
		Sleep:    clock.Sleep,
		waits:    c.Waits,
		work:     c.Work,
		loads:    c.Loads,
		Progress: make([]experiment.VisitCounter, len(p.Progress)),
		paths:    make([]experiment.Paths, len(p.Progress)),
		latency:  map[cell]*otelhdr.Snapshot{},
		Done:     make(chan struct{}),

		processors: n,
	}
	if p.Mode == profile.ModeSlowdown {
		if r.durations, err = measuresLatency(p.Progress); err != nil {
			return nil, err
		}
	}
	if c.Wall != nil {
		r.Guard.Wall = c.Wall
	}
	for i := range r.paths {
		r.paths[i].Number("") // that of Progress
	}
	r.Verdicts.Store(new(verdicts))
	r.numbers.Store(&map[profile.Region]int{})
	return r, nil
}

// End stops what is inserted, at once, and lets the run's goroutine go. The first cause counts.
func (run *Run) End(r admission.Rule) { run.EndFor(RuleError(r)) }

// The order matters: measure puts an arm in force and then looks whether the context has ended,
// so either it sees that, or what it stored is before the store here.
func (run *Run) EndFor(cause error) {
	if _, ok := errors.AsType[OpenedError](cause); ok {
		run.Opened.Store(true)
	}
	run.Cancel(cause)
	run.Rest()
}

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
	run.warm = classes.Usages()
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

// Round returns the arms to measure next. If there are none it says why.
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
	for !run.Breaker.Baseline(time.Now()) {
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
	start := &armStart{at: time.Since(run.Started), spent: run.Guard.Spent.Load(), arrived: run.Visits()}
	virtualtime.Books.Sweep(clock.Now(), virtualtime.ForgetAfter, virtualtime.ForgetOpen) // those left begin anew
	i := run.Begin(a)
	run.Breaker.Enter(time.Now(), breaker.Delayed) // also of what the last arm has left behind
	defer func() { run.Breaker.Enter(time.Now(), breaker.Between) }()
	defer run.Rest()
	if ctx.Err() != nil { // it ended just before the arm began
		return false
	}
	if !run.pause(ctx, run.settling()) {
		return false
	}
	if !run.awaitVisits(ctx, start.arrived) {
		return false
	}
	run.startCounting(start, a, i)
	wait := time.Duration(run.Plan.Timing.Experiment)
	for {
		if !run.pause(ctx, wait) {
			return false
		}
		e := experiment.Experiment{
			Arm: a, Iteration: iteration, At: start.at, Settled: start.began.Sub(run.Started) - start.at, Duration: time.Since(start.began),
			Growth: time.Duration(i.GrowthAt(clock.Now()) - start.growth), Rooted: time.Duration(run.rooted.Load() - start.rooted),
		}
		least := uint64(math.MaxUint64)
		for point, v := range run.Visits() {
			e.Passages = append(e.Passages, v.Since(start.visits[point]))
			least = min(least, e.Passages[point].Visits)
		}
		if least < uint64(run.Plan.Timing.MinProgress) && e.Duration < time.Duration(run.Plan.Timing.MaxExperiment) {
			wait = min(Tick, time.Duration(run.Plan.Timing.MaxExperiment)-e.Duration)
			continue
		}
		run.endCounting(e, start, i)
		return true
	}
}

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
	now := clock.Now()
	run.Progress[point].Add(now, run.InForce().GrowthAt(now))
}

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
