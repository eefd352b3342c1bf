package causal

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/clock/ending"
	"github.com/otelprof/otelprof/spans"
)

// A Controller carries out one plan at a time in this process. It inserts a delay only if
// all of these hold: the program opted in, the plan is valid and for this process, its time has
// come and is not over by the wall clock and the monotonic one, its source still answers,
// no limit is used up and the breaker is closed. They are checked before each delay.
//
// All methods may be called by any goroutine.
type Controller struct {
	config
	run atomic.Pointer[engine.Run] // what the hook reads

	mu         sync.Mutex
	state      State
	reason     string
	since      time.Time
	last       *engine.Run // the one running, or the one that ended last
	plan       *plan.Plan
	source     string
	file       string // that it was read from, "" if from elsewhere
	lastError  string
	generation uint64
	latched    ended // the plans that were aborted, by ID
	ended      ended
	before     ended           // documents from before this process, that were refused
	heard      map[string]bool // sources from which anything has been received
	outlays    outlays
	closed     bool
	wait       sync.WaitGroup

	study      study
	recorder   *record.Recorder
	turn       engine.Turn
	background sync.WaitGroup
	latest     latest
	ending     context.Context // until Shutdown
	close      context.CancelFunc
}

// NewController returns a controller without a plan. Give its Hook to spans.WithHook, and shut it
// down in the end. An option out of its range is an error that wraps [ErrConfig].
func NewController(opts ...Option) (*Controller, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	controller := &Controller{
		config: c, state: StateIdle, since: time.Now(), ending: ctx, close: cancel,
		latched: ended{}, ended: ended{}, before: ended{}, heard: map[string]bool{}, outlays: outlays{},
	}
	controller.study, controller.turn = c.newStudy(controller.slows), engine.NewTurn()
	var keepAway func() string
	if c.replay {
		keepAway = controller.keepAway
	}
	controller.recorder = record.NewRecorder(controller.study.add, controller.turn.Wait, keepAway, controller.study.enough)
	if c.replay {
		controller.background.Go(func() { controller.recorder.Run(ctx) })
	}
	return controller, nil
}

// Hook returns the hook that counts progress and inserts delays.
func (c *Controller) Hook() spans.Hook { return hook{c} }

// A Source is where plans come from.
type Source struct {
	// Name is for the audit: a file name, a URL, "api".
	Name string
	// File is the path of the file that the source reads, "" for other sources.
	File string
	// Lease ends a plan when [Controller.Renew] is not called for that long; zero never. A source
	// with a lease is asked again and again, so that what it says first may be older than this
	// process.
	Lease time.Duration
	// Signed is true if the source has checked a signature. Then a plan must name its audience, and
	// must not be an old one: target.service, target.env where this process has an environment, and
	// generation.
	Signed bool
}

// programEnds is why Shutdown stops.
const programEnds = "the program ends"

// toldWithin is how long Shutdown waits for audit listeners.
const toldWithin = time.Second

// Shutdown stops and waits until nothing of the controller runs any more, and a second at most for
// the listeners of [WithAudit] and [WithLogger]. If a part of it hangs, Shutdown returns soon after
// ctx has ended. Later plans are refused.
func (c *Controller) Shutdown(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.stopFor(programEnds)
	c.mu.Unlock()
	c.close()
	if err := ending.Within(ctx, c.waitForAll); err != nil {
		return fmt.Errorf("causal: shutdown: %w", err)
	}
	return nil
}

func (c *Controller) waitForAll() error {
	c.wait.Wait()
	c.background.Wait()
	c.latest.end(c)
	c.audit.wait(toldWithin)
	return nil
}

func (c *Controller) enter(s State, reason string) {
	c.state, c.reason, c.since = s, reason, time.Now()
}

// slows is which regions the plan in force, or the last one, has slowed down.
func (c *Controller) slows() (levels []float64, regions []profile.Region) {
	c.mu.Lock()
	r := c.last
	c.mu.Unlock()
	if r == nil || r.Plan.Mode != profile.ModeSlowdown {
		return nil, nil
	}
	return r.Levels(), r.Seen()
}
