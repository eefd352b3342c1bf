package causal

import (
	"fmt"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/plan"
)

// started is when this process began. It has a monotonic reading: the time since does not depend on
// whether the clock was set.
var started = time.Now()

// began is when this process did, by a clock that shows now, in whole seconds, as documents have
// it.
func began(now time.Time) time.Time { return now.Add(-now.Sub(started)).Truncate(time.Second) }

// older reports whether a plan from outside was written before this process began. Where the plan
// does not say when it was written, it is taken for older if it is the first from its source. A
// source without a lease pushes its plan once, so that is never older.
func (c *Controller) older(a Source, p *plan.Plan) bool {
	switch {
	case a.Lease == 0:
		return false
	case dated(p):
		return p.IssuedAt.Before(began(time.Now()))
	}
	return !c.heard[a.Name] || c.before.has(p)
}

// dated reports whether it is known when a plan was written. What is still to come by this clock is
// the time of another one.
func dated(p *plan.Plan) bool { return !p.IssuedAt.IsZero() && !p.IssuedAt.After(time.Now()) }

// refusesOlder refuses a plan from before this process: what ended the process before may have been
// its delays. It is refused until it expires, also if the source begins anew.
func (c *Controller) refusesOlder(a Source, p *plan.Plan) error {
	if p.Restart || !c.older(a, p) {
		return nil
	}
	return fmt.Errorf("%w: id %q: it was there when the process began, and its delays may be what ended the process before: say restart: true to begin it again", ErrRestart, p.ID)
}

// hears notes that a source has sent something.
func (c *Controller) hears(a Source) { c.heard[a.Name] = true }

// An outlay is what was spent under the plans of one ID.
type outlay struct {
	spent time.Duration
	until time.Time // the last of the plans expires
}

// outlays has an entry for each ID that was in force: what was spent stays spent.
type outlays map[string]outlay

// book remembers what a run has spent. The ID whose plans expire first makes room.
func (s outlays) book(r *engine.Run) {
	e, known := s[r.Plan.ID]
	if !known {
		makeRoom(s, func(e outlay) time.Time { return e.until })
	}
	spent := time.Duration(r.Guard.Spent.Load())
	e.spent += spent - r.Booked
	r.Booked = spent
	if r.Plan.ExpiresAt.After(e.until) {
		e.until = r.Plan.ExpiresAt
	}
	s[r.Plan.ID] = e
}

// allows returns what of a total is left to a plan: less what was spent under its ID in this
// process and, where it is from before the process, no more than the part of its life that is left.
func (c *Controller) allows(total plan.Duration, a Source, p *plan.Plan, now time.Time) plan.Duration {
	if p.Restart && c.older(a, p) {
		life := plan.MaxLife
		if dated(p) {
			life = p.ExpiresAt.Sub(p.IssuedAt)
		}
		total = plan.Duration(float64(total) * min(1, float64(p.ExpiresAt.Sub(now))/float64(life)))
	}
	return max(0, total-plan.Duration(c.outlays[p.ID].spent))
}
