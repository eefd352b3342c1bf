package causal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/spans"
)

// A run is one plan while it is carried out. The hook reads it on every goroutine that ends
// a span; one goroutine of its own changes what is inserted.
type run struct {
	plan    *Plan
	exempt  []string
	guard   *guard
	breaker *breaker
	started time.Time
	spin    func(start time.Time, d time.Duration, valid func() bool) time.Duration

	dilation atomic.Pointer[dilation] // nil while nothing is measured
	progress []atomic.Uint64          // visits, by progress point
	cancel   context.CancelCauseFunc
	done     chan struct{}

	verdicts atomic.Pointer[map[RegionKey]verdict] // copied on write

	mu          sync.Mutex
	regions     []RegionKey // that the plan selects, in the order in which they were seen
	experiments []experiment
	iterations  int
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

// experiment is one arm, measured.
type experiment struct {
	arm
	iteration int
	duration  time.Duration
	visits    []uint64 // by progress point
}

// ruleError is why a rule ended a run.
type ruleError rule

func (e ruleError) Error() string { return ruleNames[e] }

// openedError is why the breaker ended a run.
type openedError string

func (e openedError) Error() string { return string(e) }

func newRun(p *Plan, c config, now time.Time) (*run, error) {
	b, err := newBreaker(p.Abort)
	if err != nil {
		return nil, err
	}
	limits := p.Limits.Tighten(c.caps)
	r := &run{
		plan:     p,
		exempt:   c.exempt,
		guard:    newGuard(p, limits, runtime.GOMAXPROCS(0), now),
		breaker:  b,
		started:  now,
		spin:     spin,
		progress: make([]atomic.Uint64, len(p.Progress)),
		done:     make(chan struct{}),
	}
	r.verdicts.Store(&map[RegionKey]verdict{})
	return r, nil
}

// end stops what is inserted, at once, and lets the run's goroutine go. The first cause counts.
func (run *run) end(r rule) { run.endFor(ruleError(r)) }

// The order matters: measure stores a dilation and then looks whether the context has ended,
// so either it sees that, or its store is before the one here.
func (run *run) endFor(cause error) {
	run.cancel(cause)
	run.dilation.Store(nil)
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
	v := verdict{region: noRegion}
	for i := range run.plan.Progress {
		if glob(run.plan.Progress[i].Span, key.Span) {
			v.progress = append(v.progress, i)
		}
	}
	v.exempt = slices.ContainsFunc(run.exempt, func(pattern string) bool { return glob(pattern, key.Span) })
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

// maxRegions is the number of regions that a plan examines at most.
const maxRegions = 64

// loop measures iteration after iteration until ctx ends.
func (run *run) loop(ctx context.Context) {
	defer func() {
		run.dilation.Store(nil)
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
	for iteration := 0; ; {
		regions := run.seen()
		if len(regions) == 0 {
			run.say("waiting for a span that regions selects")
			if !run.pause(ctx, tick) {
				return
			}
			continue
		}
		for _, a := range schedule(len(regions), speedups, run.plan.Grid.ZeroWeight, rng) {
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

// prepare waits for the plan's time, warms up, and learns what is normal.
func (run *run) prepare(ctx context.Context) bool {
	if wait := time.Until(run.plan.NotBefore); wait > 0 {
		run.say("waiting for not_before")
		if !run.pause(ctx, wait) {
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
	d := &dilation{factor: a.factor(), spared: a.spared}
	run.say(run.describe(a))
	run.dilation.Store(d)
	if ctx.Err() != nil { // it ended just before the store
		run.dilation.Store(nil)
		return false
	}
	if !run.pause(ctx, time.Duration(run.plan.Timing.Cooloff)) {
		return false
	}
	before, withheld, began := run.visits(), run.guard.distorted(), time.Now()
	wait := time.Duration(run.plan.Timing.Experiment)
	for {
		if !run.pause(ctx, wait) {
			return false
		}
		visits, took := run.visits(), time.Since(began)
		least := slices.Min(minus(visits, before))
		if least < uint64(run.plan.Timing.MinProgress) && took < time.Duration(run.plan.Timing.MaxExperiment) {
			wait = min(tick, time.Duration(run.plan.Timing.MaxExperiment)-took)
			continue
		}
		bad := float64(run.guard.distorted() - withheld)
		run.add(experiment{arm: a, iteration: iteration, duration: took, visits: minus(visits, before)},
			bad > maxWithheld*(bad+float64(d.inserted.Load())))
		return true
	}
}

// maxWithheld is the share of delays that may be withheld before an experiment is thrown away.
const maxWithheld = 0.01

func (run *run) add(e experiment, reject bool) {
	run.mu.Lock()
	defer run.mu.Unlock()
	if reject {
		run.rejected++
		return
	}
	run.experiments = append(run.experiments, e)
}

// tick is how often a run looks at the clock and the breaker.
const tick = 100 * time.Millisecond

// pause waits for d and reports whether the run goes on. Meanwhile it watches over the rules
// that end a plan.
func (run *run) pause(ctx context.Context, d time.Duration) bool {
	until := time.Now().Add(d)
	for {
		now := time.Now()
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

func (run *run) visits() []uint64 {
	v := make([]uint64, len(run.progress))
	for i := range v {
		v[i] = run.progress[i].Load()
	}
	return v
}

func minus(a, b []uint64) []uint64 {
	d := make([]uint64, len(a))
	for i := range d {
		d[i] = a[i] - b[i]
	}
	return d
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
	case a.spared == sparesNone:
		return fmt.Sprintf("all regions %.0f%% longer", 100*a.factor())
	}
	return fmt.Sprintf("all regions %.0f%% longer but %q, which stands for making it %.0f%% faster", 100*a.factor(), run.seen()[a.spared].Span, 100*a.speedup)
}

// outcome tells the state that a cause leaves a controller in, and the reason.
func outcome(cause error) (State, string) {
	var (
		byRule    ruleError
		byBreaker openedError
	)
	switch {
	case errors.As(cause, &byBreaker):
		return StateAborted, byBreaker.Error()
	case errors.As(cause, &byRule) && rule(byRule) == ruleTotal:
		return StateSpent, "limits.total is used up"
	case errors.As(cause, &byRule) && rule(byRule) == ruleLease:
		return StateStopped, "the plan's source has not answered three times in a row"
	case errors.As(cause, &byRule):
		return StateExpired, "expires_at is over"
	}
	return StateStopped, cause.Error()
}
