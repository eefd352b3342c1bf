package causal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/internal/glob"

	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/sched"
	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/spans"
)

// A run is one plan while it is carried out. The hook reads it on every goroutine that ends
// a span; one goroutine of its own changes what is inserted.
type run struct {
	plan    *Plan
	exempt  []string
	audit   *audit
	guard   *guard
	breaker *breaker
	started time.Time
	before  map[*class]usage
	load    *load
	pace    pace
	spin    wait // as work would
	sleep   wait // and let others run

	dilation atomic.Pointer[dilation] // at most one of the two is not nil
	overlap  atomic.Pointer[overlap]

	scheduled atomic.Pointer[scheduled] // in place of overlap, in runtime mode
	progress  []visitCounter            // by progress point
	cancel    context.CancelCauseFunc
	begun     atomic.Bool // experiments have, after warming up
	opened    atomic.Bool // the breaker did, or there was a panic
	panics    sync.Once   // of which the first is told
	done      chan struct{}

	// Of the run's goroutine.
	processors int
	swept      int64

	verdicts atomic.Pointer[map[RegionKey]verdict] // copied on write

	mu          sync.Mutex
	regions     []RegionKey // that the plan selects, in the order in which they were seen
	picked      bool        // regions that the plan leaves to us are among them
	experiments []experiment
	latency     map[latencyCell]*otelhdr.Snapshot
	iterations  int
	measured    int // arms, and of them rejected
	rejected    int
	now         string // the experiment that is being measured
	ended       time.Time
}

// verdict is what the plan says of a region.
type verdict struct {
	region   int   // index in run.regions, or noRegion
	progress []int // progress points that an end of it visits
	exempt   bool
}

func newRun(p *Plan, c config, now time.Time) (*run, error) {
	b, err := newBreaker(p.Abort)
	if err != nil {
		return nil, err
	}
	n := processors()
	r := &run{
		plan:     p,
		exempt:   c.exempt,
		audit:    c.audit,
		guard:    newGuard(p, p.Limits.Tighten(c.caps), n, now),
		breaker:  b,
		started:  now,
		before:   usages(),
		load:     &load{},
		spin:     clock.Spin,
		sleep:    clock.Sleep,
		progress: make([]visitCounter, len(p.Progress)),
		latency:  map[latencyCell]*otelhdr.Snapshot{},
		done:     make(chan struct{}),

		processors: n,
	}
	if c.wall != nil {
		r.guard.wall = c.wall
	}
	r.verdicts.Store(&map[RegionKey]verdict{})
	return r, nil
}

// end stops what is inserted, at once, and lets the run's goroutine go. The first cause counts.
func (run *run) end(r rule) { run.endFor(ruleError(r)) }

// The order matters: measure puts an arm in force and then looks whether the context has ended,
// so either it sees that, or what it stored is before the store here.
func (run *run) endFor(cause error) {
	if _, ok := errors.AsType[openedError](cause); ok {
		run.opened.Store(true)
	}
	run.cancel(cause)
	run.rest()
}

// verdict looks up what the plan says of a region, and thinks it over the first time.
func (run *run) verdict(r *spans.Region) verdict {
	key := RegionKey{Scope: r.Scope().Name, Span: r.Name()}
	if v, ok := (*run.verdicts.Load())[key]; ok {
		return v
	}
	return run.judge(key)
}

// maxVerdicts bounds the number of regions a run knows. Further ones are neither selected
// nor spared; they are stretched like the rest.
const maxVerdicts = 4096

func (run *run) judge(key RegionKey) verdict {
	run.mu.Lock()
	defer run.mu.Unlock()
	known := *run.verdicts.Load()
	if v, ok := known[key]; ok {
		return v
	}
	v := run.think(key)
	if len(known) >= maxVerdicts {
		return v
	}
	selected := slices.ContainsFunc(run.plan.Regions, func(p RegionPattern) bool { return p.Match(key.Scope, key.Span) })
	if selected && len(run.regions) < maxRegions {
		v.region = len(run.regions)
		run.regions = append(run.regions, key)
	}
	grown := maps.Clone(known)
	grown[key] = v
	run.verdicts.Store(&grown)
	return v
}

// think judges a region by its name, but for whether it is examined.
func (run *run) think(key RegionKey) verdict {
	v := verdict{region: noRegion}
	for i := range run.plan.Progress {
		if glob.Match(run.plan.Progress[i].Span, key.Span) {
			v.progress = append(v.progress, i)
		}
	}
	v.exempt = slices.ContainsFunc(run.exempt, func(pattern string) bool { return glob.Match(pattern, key.Span) })
	return v
}

// maxRegions is the number of regions that a plan examines at most.
const maxRegions = 64

// loop measures iteration after iteration until ctx ends.
func (run *run) loop(ctx context.Context) {
	defer sched.Exempt()() // it measures, and is not measured
	defer func() {
		run.rest()
		live.ledgers.sweep(clock.Now())
		run.mu.Lock()
		run.now, run.ended = "", time.Now()
		run.mu.Unlock()
		close(run.done)
	}()
	rng := rand.New(rand.NewPCG(uint64(run.plan.Seed), 0))
	speedups := make([]float64, len(run.plan.Grid.Speedups))
	for i, s := range run.plan.Grid.Speedups {
		speedups[i] = s / 100
	}
	if !run.prepare(ctx) {
		return
	}
	run.begun.Store(true)
	for iteration := 0; ; {
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
	}
}

// round returns the arms to measure next. If there are none it says why.
func (run *run) round(speedups []float64, rng *rand.Rand) []arm {
	regions := run.pick()
	if len(regions) == 0 {
		run.say("waiting for a span that regions selects")
		return nil
	}
	if run.plan.Mode == ModeDilation {
		return schedule(len(regions), speedups, run.plan.Grid.ZeroWeight, rng)
	}
	arms := overlapArms(len(regions), speedups, run.plan.Grid.ZeroWeight, run.samples(), rng)
	if len(arms) == 0 {
		run.say("all answers are as exact as they get")
	}
	return arms
}

// prepare waits for the plan's time, warms up, and learns what is normal.
func (run *run) prepare(ctx context.Context) bool {
	for run.guard.early(time.Now()) {
		run.say("waiting for not_before")
		// One look is enough, unless a clock is set meanwhile.
		if !run.pause(ctx, max(time.Until(run.plan.NotBefore), glance)) {
			return false
		}
	}
	run.say("warming up")
	if !run.pause(ctx, time.Duration(run.plan.Timing.Warmup)) {
		return false
	}
	for !run.breaker.baseline() {
		run.say(fmt.Sprintf("waiting for %d root spans, to know what is normal before anything is delayed", run.plan.Abort.MinSamples))
		if !run.pause(ctx, tick) {
			return false
		}
	}
	return true
}

// measure puts one arm in force, lets it settle and counts visits.
func (run *run) measure(ctx context.Context, iteration int, a arm) bool {
	run.say(run.describe(a))
	at, spent := time.Since(run.started), run.guard.spent.Load()
	arrived := run.visits()
	live.ledgers.sweep(clock.Now() - int64(forgetAfter)) // those left begin anew
	influence := run.begin(a)
	defer run.rest()
	if ctx.Err() != nil { // it ended just before the arm began
		return false
	}
	if !run.pause(ctx, time.Duration(run.plan.Timing.Cooloff)) {
		return false
	}
	if !run.awaitVisits(ctx, arrived) {
		return false
	}
	before, withheld, delays := run.visits(), run.guard.counts(), influence.delays()
	for point := range before {
		if before[point].count == arrived[point].count { // it is visited rarely
			before[point].at, before[point].growth = clock.Now(), int64(influence.growth())
		}
	}
	growth, busy := influence.growth(), run.load.mark()
	slow := influence.latencies()
	began := time.Now()
	wait := time.Duration(run.plan.Timing.Experiment)
	for {
		if !run.pause(ctx, wait) {
			return false
		}
		e := experiment{
			arm: a, iteration: iteration, at: at, settled: began.Sub(run.started) - at, duration: time.Since(began),
			growth: influence.growth() - growth,
		}
		least := uint64(math.MaxUint64)
		for point, v := range run.visits() {
			e.passages = append(e.passages, v.since(before[point]))
			least = min(least, e.passages[point].visits)
		}
		if least < uint64(run.plan.Timing.MinProgress) && e.duration < time.Duration(run.plan.Timing.MaxExperiment) {
			wait = min(tick, time.Duration(run.plan.Timing.MaxExperiment)-e.duration)
			continue
		}
		e.spoiled = run.guard.counts().since(withheld).spoils(influence.delays() - delays)
		e.inserted = time.Duration(run.guard.spent.Load() - spent)
		e.busy = run.load.since(busy)
		influence.look(&e)
		recorded := run.recorded(slow, influence.latencies())
		e.quantiles = run.quantiles(recorded)
		run.add(e, recorded)
		return true
	}
}

func (run *run) add(e experiment, recorded []*otelhdr.Snapshot) {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.measured++
	// What is thrown away keeps its place among its neighbours.
	run.experiments = append(run.experiments, e)
	if e.spoiled != "" {
		run.rejected++
		return
	}
	run.addLatency(e.arm, recorded)
}

// addLatency adds to what an arm has recorded so far. Snapshots that others may have are not
// changed.
func (run *run) addLatency(a arm, recorded []*otelhdr.Snapshot) {
	for point, now := range recorded {
		if now == nil {
			continue
		}
		cell := newLatencyCell(a, point)
		if sum := run.latency[cell]; sum != nil && now.Merge(sum) != nil {
			continue // of another layout, which no run changes
		}
		run.latency[cell] = now
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
		if r := run.guard.expired(now); r != ruleNone {
			run.end(r)
		} else if run.breaker.undelayed.durations != nil {
			if why := run.breaker.check(now); why != "" {
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
	run.pace.mark(time.Now(), time.Duration(run.guard.spent.Load()), run.processors)
	if n := processors(); n != run.processors {
		run.processors = n
		run.guard.share(n)
	}
	if t := clock.Now(); t-run.swept > int64(sweepEvery) {
		run.swept = t
		live.ledgers.sweep(t - int64(forgetWithin))
	}
}

const (
	sweepEvery = time.Second
	// forgetAfter is how long a ledger is kept between two experiments if its goroutine gives no sign
	// of life.
	forgetAfter = 5 * time.Second
	// forgetWithin is how long a ledger is kept in one experiment: whoever begins anew owes all
	// that the others have paid since that began.
	forgetWithin = time.Minute
)

// visits returns the latest visit of each progress point.
func (run *run) visits() []visit {
	v := make([]visit, len(run.progress))
	for i := range v {
		v[i] = run.progress[i].latest()
	}
	return v
}

// awaitVisits waits until each progress point has been visited after an earlier moment, or for
// as long as an experiment takes, and reports whether the run goes on.
func (run *run) awaitVisits(ctx context.Context, earlier []visit) bool {
	began := time.Now()
	for point := range run.progress {
		for run.progress[point].latest().count == earlier[point].count {
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

// visit counts a visit of a progress point.
func (run *run) visit(point int) {
	now := clock.Now()
	run.progress[point].add(now, run.growthAt(now))
}

func (run *run) seen() []RegionKey {
	run.mu.Lock()
	defer run.mu.Unlock()
	return slices.Clone(run.regions)
}

func (run *run) say(what string) {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.now = what
}

func (run *run) describe(a arm) string {
	switch {
	case a.speedup == 0:
		return "no delay"
	case run.plan.Mode == ModeOverlap:
		return fmt.Sprintf("all others delayed by what %q would save if it were %.0f%% faster", run.seen()[a.spared].Span, 100*a.speedup)
	case a.spared == sparesNone:
		return fmt.Sprintf("all regions %.0f%% longer", 100*a.factor())
	}
	return fmt.Sprintf("all regions %.0f%% longer but %q, which stands for making it %.0f%% faster", 100*a.factor(), run.seen()[a.spared].Span, 100*a.speedup)
}
