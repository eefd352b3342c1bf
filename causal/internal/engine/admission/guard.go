package admission

import (
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
)

// A Guard answers, before each single delay, whether it may be inserted. It belongs to one
// plan and is never used again when that plan has ended. All methods may be called by
// any goroutine; none allocates, and none waits but for the short lock of its duty.
type Guard struct {
	Limits plan.Limits
	// The plan's window holds by both clocks: the wall clock may be set, the monotonic one may stop
	// while the machine sleeps.
	opensWall, opensMono     time.Time
	expiresWall, expiresMono time.Time
	ends                     Rule                      // by which one that ends the plan
	Wall                     func(time.Time) time.Time // what the wall clock shows

	lease atomic.Int64 // ns after began, 0 for none
	began time.Time

	Spent    atomic.Int64 // ns
	Late     atomic.Int64 // ns of these by which delays were longer than reserved
	Duty     *Duty
	Traces   traces
	Withheld [numRules]atomic.Uint64
}

// NewGuard returns the guard of a plan that ends so, under these limits.
func NewGuard(p *plan.Plan, expires time.Time, limits plan.Limits, processors int, now time.Time) *Guard {
	ends := ruleExpired
	if expires.Before(p.ExpiresAt) {
		ends = RuleLife
	}
	return &Guard{
		ends:        ends,
		Limits:      limits,
		opensWall:   p.NotBefore.Round(0),
		opensMono:   now.Add(p.NotBefore.Sub(now)),
		expiresWall: expires.Round(0),
		expiresMono: now.Add(expires.Sub(now)),
		Wall:        func(t time.Time) time.Time { return t.Round(0) },
		began:       now,
		Duty:        NewDuty(DutyRate(limits.Duty, processors), time.Duration(limits.PerSpan), now),
	}
}

// Early reports whether the plan's window has not begun.
func (g *Guard) Early(now time.Time) bool {
	return g.Wall(now).Before(g.opensWall) || now.Before(g.opensMono)
}

// Expired reports whether the plan's window or its lease is over.
func (g *Guard) Expired(now time.Time) Rule {
	if !g.Wall(now).Before(g.expiresWall) || !now.Before(g.expiresMono) {
		return g.ends
	}
	if lease := g.lease.Load(); lease != 0 && int64(now.Sub(g.began)) > lease {
		return RuleLease
	}
	return RuleNone
}

// Renew lets the plan run until d from now.
func (g *Guard) Renew(now time.Time, d time.Duration) { g.lease.Store(int64(now.Sub(g.began) + d)) }

// LeaseEnds is when the plan ends if it is not renewed, zero for never.
func (g *Guard) LeaseEnds() time.Time {
	if lease := g.lease.Load(); lease != 0 {
		return g.began.Add(time.Duration(lease))
	}
	return time.Time{}
}

// Share adapts what limits.duty means to a number of processors, which may change.
func (g *Guard) Share(processors int) { g.Duty.refill(DutyRate(g.Limits.Duty, processors)) }

// Scheduled are the limits as the scheduler knows them, with payments that take longest at most.
func (g *Guard) Scheduled(processors int, longest time.Duration) sched.Limits {
	return sched.Limits{
		Longest:  longest,
		PerSpan:  time.Duration(g.Limits.PerSpan),
		PerTrace: time.Duration(g.Limits.PerTrace),
		Duty:     PerWindow(DutyRate(g.Limits.Duty, processors)),
		Total:    time.Duration(g.Limits.Total) - time.Duration(g.Spent.Load()),
	}
}

// Reserve takes d off the budgets, or names the rule that forbids it. Settle follows when
// the delay is over.
func (g *Guard) Reserve(now time.Time, d time.Duration) Rule {
	if r := g.Expired(now); r != RuleNone {
		return r
	}
	if g.Early(now) {
		return ruleEarly
	}
	if !g.Duty.take(later(now, time.Now()), d) {
		return RuleDuty
	}
	// Add first, then look: two goroutines cannot both take the last of the budget. It comes last,
	// so that what is refused is not seen as spent.
	if g.Spent.Add(int64(d)) > int64(g.Limits.Total) {
		g.Spent.Add(-int64(d))
		return RuleTotal
	}
	return RuleNone
}

// later is the later of two times. A goroutine that is preempted behind a look at the clock must
// not book its delay as an older one: that would be forgotten too soon.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Settle books the delay that was really inserted, until now, in place of the one reserved.
func (g *Guard) Settle(now time.Time, reserved, inserted time.Duration) {
	defer g.Spent.Add(int64(inserted - reserved)) // last, so that it is known what of it is late
	if inserted > reserved {
		g.Late.Add(int64(inserted - reserved))
		g.Duty.add(now, inserted-reserved)
	}
}

// Withhold counts a delay that a rule forbade.
func (g *Guard) Withhold(r Rule) { g.Withheld[r].Add(1) }

// Counts are the numbers of delays withheld so far.
func (g *Guard) Counts() (c Withheld) {
	for r := range numRules {
		c[r] = g.Withheld[r].Load()
	}
	return c
}
