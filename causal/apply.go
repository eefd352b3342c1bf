package causal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/goroutine"
	"github.com/otelprof/otelprof/internal/naming"
)

// Apply puts a plan in force in place of the one before, which ends at once, also if the new
// one is refused. Applying the plan that is in force again changes nothing, from whatever source.
// The error wraps [ErrDisabled], [plan.ErrInvalid], [ErrGeneration] or [ErrEnded].
func (c *Controller) Apply(p *plan.Plan) error { return c.apply(Source{Name: "api"}, p, c.refuses) }

// ApplyFrom is Apply for a source of plans outside of the program. A document whose plan has ended
// is refused until it expires, [ErrEnded]: the sender of a repeated document need not be its author
// (a replay attack). So is a plan of a signed source without an audience, [ErrAudience], and one
// that the source had before this process began, [ErrRestart], unless it asks for restart.
func (c *Controller) ApplyFrom(a Source, p *plan.Plan) error {
	return c.apply(a, p, func(p *plan.Plan, now time.Time) error { return c.refusesFrom(a, p, now) })
}

func (c *Controller) apply(a Source, p *plan.Plan, refuses func(*plan.Plan, time.Time) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.run.Load(); r != nil && r.Plan.Hash() != "" && r.Plan.Hash() == p.Hash() {
		if c.source != a.Name {
			c.audit.add(about(p, a.Name, AuditReceived, ""))
			c.audit.add(about(p, a.Name, AuditIgnored, "it is in force, from "+c.source))
			c.hears(a)
		}
		return nil
	}
	c.audit.add(about(p, a.Name, AuditReceived, ""))
	now := time.Now()
	if why := c.foreign(p); why != "" && c.source != a.Name && c.run.Load() != nil {
		c.audit.add(about(p, a.Name, AuditIgnored, why)) // another source's plan is in force, of which this says nothing
		c.hears(a)
		return nil
	}
	err := refuses(p, now)
	if errors.Is(err, ErrRestart) {
		c.before.add(p)
	}
	if err != nil {
		c.hears(a)
		c.reject(p, err, a.Name)
		return err
	}
	c.stop(errReplaced)
	if err := c.aborted(p); err != nil { // its breaker has opened since the look above
		c.enter(StateStopped, errReplaced.Error())
		c.reject(p, err, a.Name)
		return err
	}
	total := c.allows(c.Caps.Tighten(p.Limits).Total, a, p, now)
	c.hears(a)
	c.plan, c.source, c.file, c.lastError = p, a.Name, a.File, ""
	if c.foreign(p) == "" {
		c.generation = max(c.generation, p.Generation)
	}
	if why := c.misses(p); why != "" {
		c.audit.add(about(p, a.Name, AuditIgnored, why))
		c.enter(StateIdle, why)
		return nil
	}
	r, err := engine.NewRun(p, c.Settings, now)
	if err != nil {
		c.reject(p, err, a.Name)
		return err
	}
	r.Guard.Limits.Total, r.Turn, r.CountsOnly = total, c.turn, c.countsOnly(p)
	if a.Lease > 0 {
		r.Guard.Renew(now, a.Lease)
	}
	c.start(r)
	return nil
}

var errReplaced = errors.New("replaced by another plan")

// Check returns why [Controller.Apply] would not start a plan here now, nil if it would: the error
// of Apply, or, wrapping [plan.ErrInvalid], that the plan is for other processes. It changes
// nothing.
func (c *Controller) Check(p *plan.Plan) error { return c.check(p, c.refuses) }

// CheckFrom is Check for [Controller.ApplyFrom].
func (c *Controller) CheckFrom(a Source, p *plan.Plan) error {
	return c.check(p, func(p *plan.Plan, now time.Time) error { return c.refusesFrom(a, p, now) })
}

func (c *Controller) check(p *plan.Plan, refuses func(*plan.Plan, time.Time) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := refuses(p, time.Now()); err != nil {
		return err
	}
	if why := c.misses(p); why != "" {
		return fmt.Errorf("%w: target: %s", plan.ErrInvalid, why)
	}
	return nil
}

// refuses returns why a plan may not be put in force.
func (c *Controller) refuses(p *plan.Plan, now time.Time) error {
	if c.closed {
		return fmt.Errorf("%w: the program ends", ErrDisabled)
	}
	if !c.enabled {
		return fmt.Errorf("%w: the program must opt in, by %s=on (otelprof.Setup, Wrap) or WithExperiments; off forbids it", ErrDisabled, naming.EnvExperiments)
	}
	if err := p.Validate(now); err != nil {
		return err
	}
	if why := c.Allowed.Refuses(p); why != "" {
		return fmt.Errorf("%w: %s", ErrDisabled, why)
	}
	if p.Mode == profile.ModeOverlap && !goroutine.Known() && !engine.Scheduling() {
		return fmt.Errorf("%w: mode %s: goroutines cannot be told apart in this build; mode %s can be used", ErrDisabled, profile.ModeOverlap, profile.ModeDilation)
	}
	if p.Generation != 0 && p.Generation <= c.generation && c.foreign(p) == "" {
		return fmt.Errorf("%w: generation %d: must be above %d, the last one seen", ErrGeneration, p.Generation, c.generation)
	}
	if err := c.aborted(p); err != nil {
		return err
	}
	if s := c.outlays[p.ID].spent; s >= time.Duration(c.Caps.Tighten(p.Limits).Total) {
		return fmt.Errorf("%w: id %q: it has spent %v, all of limits.total, another try needs another id", ErrEnded, p.ID, s)
	}
	return nil
}

// aborted returns why the ID of a plan may not be used again, nil if it may.
func (c *Controller) aborted(p *plan.Plan) error {
	if _, is := c.latched[p.ID]; !is {
		return nil
	}
	return fmt.Errorf("%w: id %q: it was aborted, another try needs another id", ErrEnded, p.ID)
}

// refusesFrom is refuses for a plan from outside of the program.
func (c *Controller) refusesFrom(a Source, p *plan.Plan, now time.Time) error {
	if a.Signed {
		if err := c.audience(p); err != nil {
			return err
		}
	}
	if err := c.refuses(p, now); err != nil {
		return err
	}
	if c.ended.has(p) {
		return fmt.Errorf("%w: id %q: this document has been in force and has ended, another try needs a change of it", ErrEnded, p.ID)
	}
	return c.refusesOlder(a, p)
}

func (c *Controller) start(r *engine.Run) {
	ctx, cancel := context.WithCancelCause(context.Background())
	r.Cancel = cancel
	c.last = r
	c.run.Store(r)
	engine.AddRunning(r)
	state := StateRunning
	if r.Plan.NotBefore.After(r.Started) {
		state = StateWaiting
	}
	c.enter(state, "")
	c.audit.add(about(r.Plan, c.source, AuditStarted, ""))
	if r.Plan.Mode == profile.ModeOverlap {
		c.wait.Go(func() {
			defer r.Contain()
			c.watch(ctx, r.Load)
		})
		if engine.Scheduling() {
			c.wait.Go(func() {
				defer r.Contain()
				r.Supervise(ctx)
			})
		}
	}
	source := c.source
	c.wait.Go(func() {
		func() {
			defer r.Contain()
			r.Loop(ctx)
		}()
		cancel(nil)
		c.finished(r, source, context.Cause(ctx))
	})
}

// finished follows the end of a run's goroutine.
func (c *Controller) finished(r *engine.Run, source string, cause error) {
	engine.RemoveRunning(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	state, reason := outcome(cause)
	c.ended.add(r.Plan)
	c.outlays.book(r)
	if state == StateAborted {
		c.latched.remember(r.Plan.ID, r.Plan.ExpiresAt)
	}
	e := about(r.Plan, source, AuditKind(state), reason)
	e.Spent = time.Duration(r.Guard.Spent.Load())
	c.audit.add(e)
	if c.run.CompareAndSwap(r, nil) && c.last == r {
		c.enter(state, reason)
	}
}

// stop ends the run in force at once.
func (c *Controller) stop(cause error) {
	if r := c.run.Swap(nil); r != nil {
		r.EndFor(cause)
		c.ended.add(r.Plan) // before its goroutine records it: the same document may come first
		c.outlays.book(r)
		if r.Opened.Load() { // before: its goroutine will say so, but the next plan may come first
			c.latched.remember(r.Plan.ID, r.Plan.ExpiresAt)
		}
	}
}

// StopPlan ends the plan in force. When it returns, no delay begins any more. Those in flight end
// within microseconds where they compute, and within 5 ms where they sleep.
func (c *Controller) StopPlan(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopFor(reason)
}

func (c *Controller) stopFor(reason string) {
	if c.run.Load() != nil {
		c.stop(errors.New(reason))
		c.enter(StateStopped, reason)
	}
}

// Reject is for sources: what came was not a plan. The plan in force ends.
func (c *Controller) Reject(a Source, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hears(a)
	c.reject(nil, err, a.Name)
}

func (c *Controller) reject(p *plan.Plan, err error, source string) {
	c.audit.add(about(p, source, AuditRejected, err.Error()))
	c.lastError = err.Error()
	if c.run.Load() != nil {
		c.stop(fmt.Errorf("the next plan was rejected: %w", err))
		c.enter(StateStopped, "the next plan was rejected")
	}
}

// Renew notes that a source still answers. If the plan in force is from there, its lease
// begins anew.
func (c *Controller) Renew(a Source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.run.Load(); r != nil && c.source == a.Name && a.Lease > 0 {
		r.Guard.Renew(time.Now(), a.Lease)
	}
}

// StopPlanFrom is StopPlan for a source that has no plan any more. It ends only a plan from there.
func (c *Controller) StopPlanFrom(a Source, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hears(a)
	if c.source == a.Name {
		c.stopFor(reason)
	}
}
