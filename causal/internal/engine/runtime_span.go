package engine

import (
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/admission"
	"github.com/otelprof/otelprof/causal/internal/engine/classes"
	"github.com/otelprof/otelprof/causal/internal/engine/requests"
	"github.com/otelprof/otelprof/causal/internal/engine/virtualtime"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/spans"
)

// A scheduledSpan is what is known of a span while the scheduler carries out an experiment, see
// [Scheduled].
type scheduledSpan struct {
	in     *Scheduled
	owner  uint64
	here   sched.Goroutine
	Inside bool // it is of the region, or below
	visit  sched.Visit
	exempt func() // nil if it pays
	spent  time.Duration
	credit time.Duration
	start  int64
}

// StartScheduled notes the start of a span in the scheduler, if it carries out an experiment.
func StartScheduled(r *spans.Span) {
	if s := Live.Scheduled.Load(); s != nil {
		s.startSpan(r)
	}
}

func (s *Scheduled) startSpan(r *spans.Span) {
	defer s.run.Contain()
	above, caller := Live.ScheduledSpan.Get(r.Parent()), Live.ScheduledSpan.Get(requests.CallerOf(r))
	if caller != nil {
		caller.here.Served(true)
		above = caller
	}
	e := &scheduledSpan{in: s, owner: virtualtime.Owner(), here: sched.Here(), start: clock.Now()}
	rule := s.spares(r)
	if requests.Client(r) {
		e.here.Served(false) // until a span of this process answers
	}
	e.credit, e.spent = sched.Books()
	e.Inside = s.region.Begins(classes.Of(r)) || above != nil && above.in == s && above.Inside
	// What the request has waited for is paid before anything is done for it, and is no part of its
	// latency.
	if rule == admission.RuleNone && sched.Arrive() {
		e.credit, _ = sched.Books()
		e.start = clock.Now()
	}
	if e.Inside {
		e.visit = sched.Enter()
	} else if rule != admission.RuleNone {
		s.run.Guard.Withhold(rule)
		e.exempt = sched.Exempt()
	}
	Live.ScheduledSpan.Set(r, e)
}

// spares returns the rule that forbids delays in a span and what its goroutine does meanwhile,
// RuleNone if there is none. The scheduler knows of goroutines only, so it is asked at starts.
func (s *Scheduled) spares(r *spans.Span) admission.Rule {
	if s.run.exempts(r) {
		return admission.RuleHealth
	}
	if deadline, ok := r.Deadline(); ok && time.Until(deadline) < 2*LongestPayment {
		return admission.RuleDeadline
	}
	return admission.RuleNone
}

// BeforeEndSpan books the delays in a span while it still takes attributes.
func BeforeEndSpan(r *spans.Span) {
	e := Live.ScheduledSpan.Get(r)
	if e == nil || e.in != Live.Scheduled.Load() || e.owner != virtualtime.Owner() {
		return
	}
	_, spent := sched.Books()
	r.AddDelay(spent - e.spent - r.Delay()) // those below have booked theirs
}

// payAgain ends that a goroutine pays nothing. Where a span ends on another goroutine, that holds
// from the next experiment on, which spoils the one in force.
func (e *scheduledSpan) payAgain() {
	if e.exempt == nil {
		return
	}
	e.exempt()
	if s := Live.Scheduled.Load(); s != nil && e.owner != virtualtime.Owner() {
		s.spared.Add(1)
	}
}

// EndScheduled notes the end of a span in the scheduler. What is in force may have changed since
// the start.
func EndScheduled(r *spans.Span) {
	e := Live.ScheduledSpan.Get(r)
	if e == nil {
		return
	}
	Live.ScheduledSpan.Set(r, nil) // a session keeps its spans while it is open, and they would keep all runs
	defer e.in.run.Contain()
	if e.Inside {
		e.visit.Leave()
	}
	e.payAgain()
	if requests.Client(r) {
		e.here.Served(false)
	}
	if e.in != Live.Scheduled.Load() {
		return
	}
	c := classes.Of(r)
	if point, ok := e.in.latency.PointOfSpan(c, c.LastOf(r)); ok {
		credit, _ := sched.Books()
		e.in.latency.Setting.Record(point, clock.Now()-e.start, int64(credit-e.credit))
	}
}
