package causal

import (
	"time"

	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/sched"
	"github.com/otelprof/otelprof/spans"
)

// A scheduledSpan is what is known of a span while the scheduler carries out an experiment.
type scheduledSpan struct {
	in     *scheduled
	owner  uint64
	inside bool // it is of the region, or below
	visit  sched.Visit
	exempt func() // nil if it pays
	spent  time.Duration
	credit time.Duration
	start  int64
}

// scheduledSpans are theirs. There are few places that cost nothing, so none is taken in vain.
var scheduledSpans spans.Slot[scheduledSpan]

func init() {
	if sched.Present {
		scheduledSpans = spans.NewSlot[scheduledSpan]()
	}
}

// startSpan tells the scheduler of the start of a span.
func (s *scheduled) startSpan(r *spans.Region) {
	defer s.run.contain()
	above := scheduledSpans.Get(r.Parent())
	e := &scheduledSpan{in: s, owner: owner(), start: clock.Now()}
	e.credit, e.spent = sched.Books()
	e.inside = classOf(r).id == s.region.id || above != nil && above.in == s && above.inside
	if e.inside {
		e.visit = sched.Enter()
	} else if rule := s.spares(r); rule != ruleNone {
		s.run.guard.withhold(rule)
		e.exempt = sched.Exempt()
	}
	scheduledSpans.Set(r, e)
}

// spares returns the rule that forbids delays in a span and what its goroutine does meanwhile,
// ruleNone if there is none. The scheduler knows of goroutines only, so it is asked at starts.
func (s *scheduled) spares(r *spans.Region) rule {
	limits := &s.run.guard.limits
	if s.run.verdict(r).exempt {
		return ruleHealth
	}
	if delayed(r) >= time.Duration(limits.PerTrace) {
		return rulePerTrace
	}
	if deadline, ok := r.Deadline(); ok && time.Until(deadline) < 2*longestPayment {
		return ruleDeadline
	}
	return ruleNone
}

// beforeEndSpan books the delays in a span while it still takes attributes.
func beforeEndSpan(r *spans.Region) {
	e := scheduledSpans.Get(r)
	if e == nil || e.in != inForce.Load() || e.owner != owner() {
		return
	}
	_, spent := sched.Books()
	r.AddDelay(spent - e.spent - r.Delay()) // those below have booked theirs
}

// endScheduled tells the scheduler of the end of a span. What is in force may have changed since the
// start.
func endScheduled(r *spans.Region) {
	e := scheduledSpans.Get(r)
	if e == nil {
		return
	}
	defer e.in.run.contain()
	if e.inside {
		e.visit.Leave()
	}
	if e.exempt != nil && e.owner == owner() {
		e.exempt()
	}
	if e.in != inForce.Load() {
		return
	}
	if point, ok := e.in.latency.point(classOf(r).id); ok {
		credit, _ := sched.Books()
		e.in.latency.setting.Record(point, clock.Now()-e.start, int64(credit-e.credit))
	}
}
