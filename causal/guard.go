package causal

import (
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/causal/plan"
)

// A guard answers, before each single delay, whether it may be inserted. It belongs to one
// plan and is never used again when that plan has ended. All methods may be called by
// any goroutine; none allocates, and none waits but for the short lock of traces.
type guard struct {
	limits plan.Limits
	// The plan's window holds by both clocks: the wall clock may be set, the monotonic one may stop
	// while the machine sleeps.
	opensWall, opensMono     time.Time
	expiresWall, expiresMono time.Time
	ends                     rule                      // by which one that ends the plan
	wall                     func(time.Time) time.Time // what the wall clock shows

	lease atomic.Int64 // ns after began, 0 for none
	began time.Time

	spent    atomic.Int64 // ns
	late     atomic.Int64 // ns of these by which delays were longer than reserved
	duty     *duty
	traces   traces
	withheld [numRules]atomic.Uint64
}

func newGuard(p *plan.Plan, expires time.Time, limits plan.Limits, processors int, now time.Time) *guard {
	ends := ruleExpired
	if expires.Before(p.ExpiresAt) {
		ends = ruleLife
	}
	return &guard{
		ends:        ends,
		limits:      limits,
		opensWall:   p.NotBefore.Round(0),
		opensMono:   now.Add(p.NotBefore.Sub(now)),
		expiresWall: expires.Round(0),
		expiresMono: now.Add(expires.Sub(now)),
		wall:        wallClock,
		began:       now,
		duty:        newDuty(dutyRate(limits.Duty, processors), time.Duration(limits.PerSpan), now),
	}
}

// wallClock strips the monotonic reading, so that comparisons are by the wall clock.
func wallClock(t time.Time) time.Time { return t.Round(0) }

// early reports whether the plan's window has not begun.
func (g *guard) early(now time.Time) bool {
	return g.wall(now).Before(g.opensWall) || now.Before(g.opensMono)
}

// expired reports whether the plan's window or its lease is over.
func (g *guard) expired(now time.Time) rule {
	if !g.wall(now).Before(g.expiresWall) || !now.Before(g.expiresMono) {
		return g.ends
	}
	if lease := g.lease.Load(); lease != 0 && int64(now.Sub(g.began)) > lease {
		return ruleLease
	}
	return ruleNone
}

// renew lets the plan run until d from now.
func (g *guard) renew(now time.Time, d time.Duration) { g.lease.Store(int64(now.Sub(g.began) + d)) }

// leaseEnds is when the plan ends if it is not renewed, zero for never.
func (g *guard) leaseEnds() time.Time {
	if lease := g.lease.Load(); lease != 0 {
		return g.began.Add(time.Duration(lease))
	}
	return time.Time{}
}

// share adapts what limits.duty means to a number of processors, which may change.
func (g *guard) share(processors int) { g.duty.refill(dutyRate(g.limits.Duty, processors)) }

// reserve takes d off the budgets, or names the rule that forbids it. Settle follows when
// the delay is over.
func (g *guard) reserve(now time.Time, d time.Duration) rule {
	if r := g.expired(now); r != ruleNone {
		return r
	}
	if g.early(now) {
		return ruleEarly
	}
	if !g.duty.take(later(now, time.Now()), d) {
		return ruleDuty
	}
	// Add first, then look: two goroutines cannot both take the last of the budget. It comes last, so that what is refused is not seen as spent.
	if g.spent.Add(int64(d)) > int64(g.limits.Total) {
		g.spent.Add(-int64(d))
		return ruleTotal
	}
	return ruleNone
}

// later is the later of two times. A goroutine that is preempted behind a look at the clock must not book its delay as an older one: that would be
// forgotten too soon.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// settle books the delay that was really inserted, until now, in place of the one reserved.
func (g *guard) settle(now time.Time, reserved, inserted time.Duration) {
	defer g.spent.Add(int64(inserted - reserved)) // last, so that it is known what of it is late
	if inserted > reserved {
		g.late.Add(int64(inserted - reserved))
		g.duty.add(now, inserted-reserved)
	}
}

func (g *guard) withhold(r rule) { g.withheld[r].Add(1) }

// counts are the numbers of delays withheld so far.
func (g *guard) counts() (c withheld) {
	for r := range numRules {
		c[r] = g.withheld[r].Load()
	}
	return c
}
