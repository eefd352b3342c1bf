package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/admission"
	"github.com/otelprof/otelprof/causal/internal/engine/breaker"
	"github.com/otelprof/otelprof/causal/internal/engine/classes"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/internal/engine/requests"
	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/replay/trace"
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

	CountsOnly bool // other processes delay, in a plan by the clock; set before the run begins

	// Of the run's goroutine.
	processors int
	swept      int64
	idle       bool   // nothing is delayed in this epoch
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

// NewRun returns a run of a plan that begins now.
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
	if p.ByClock() {
		r.enrollAll()
	}
	return r, nil
}

// End stops what is inserted, at once, and lets the run's goroutine go. The first cause counts.
func (run *Run) End(r admission.Rule) { run.EndFor(RuleError(r)) }

// EndFor is End for another cause. The order matters: measure puts an arm in force and then looks
// whether the context has ended, so either it sees that, or what it stored is before the store
// here.
func (run *Run) EndFor(cause error) {
	if _, ok := errors.AsType[OpenedError](cause); ok {
		run.Opened.Store(true)
	}
	run.Cancel(cause)
	run.Rest()
}
