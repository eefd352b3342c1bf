package causal

import (
	"math"
	"sync/atomic"
	"time"
)

// A guard answers, before each single delay, whether it may be inserted. It belongs to one
// plan and is never used again when that plan has ended. All methods may be called by
// any goroutine; none allocates, and none waits but for the short lock of traces.
type guard struct {
	limits Limits
	// The plan's window is that of both: the wall clock may be set, the monotonic one may stop
	// while the machine sleeps.
	opensWall, opensMono     time.Time
	expiresWall, expiresMono time.Time
	wall                     func(time.Time) time.Time // what the wall clock shows

	lease atomic.Int64 // ns after began, 0 for none
	began time.Time

	spent    atomic.Int64 // ns
	rate     *bucket
	traces   traces
	withheld [numRules]atomic.Uint64
}

// rule is why a delay is not inserted.
type rule int

const (
	ruleNone rule = iota
	ruleEarly
	ruleExpired
	ruleLease
	ruleTotal
	rulePerSpan
	rulePerTrace
	ruleDuty
	ruleDeadline
	ruleHealth
	numRules
)

var ruleNames = [numRules]string{"", "not_before", "expired", "lease", "limits.total", "limits.per_span", "limits.per_trace", "limits.duty", "deadline", "health_check"}

// fatal reports whether the rule ends the plan.
func (r rule) fatal() bool { return r == ruleExpired || r == ruleLease || r == ruleTotal }

// distorts reports whether the rule makes what is being measured wrong.
func (r rule) distorts() bool { return r != ruleNone && r != ruleHealth }

func newGuard(p *Plan, limits Limits, processors int, now time.Time) *guard {
	return &guard{
		limits:      limits,
		opensWall:   p.NotBefore.Round(0),
		opensMono:   now.Add(p.NotBefore.Sub(now)),
		expiresWall: p.ExpiresAt.Round(0),
		expiresMono: now.Add(p.ExpiresAt.Sub(now)),
		wall:        wallClock,
		began:       now,
		rate:        newBucket(float64(limits.Duty)*float64(processors), now),
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
		return ruleExpired
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
func (g *guard) share(processors int) { g.rate.refill(float64(g.limits.Duty) * float64(processors)) }

// reserve takes d off the budgets, or names the rule that forbids it. Settle follows when
// the delay is over.
func (g *guard) reserve(now time.Time, d time.Duration) rule {
	if r := g.expired(now); r != ruleNone {
		return r
	}
	if g.early(now) {
		return ruleEarly
	}
	// Add first, then look: two goroutines can not both take the last of the budget.
	if g.spent.Add(int64(d)) > int64(g.limits.Total) {
		g.spent.Add(-int64(d))
		return ruleTotal
	}
	if !g.rate.take(now, d) {
		g.spent.Add(-int64(d))
		return ruleDuty
	}
	return ruleNone
}

// settle books the delay that was really inserted in place of the one reserved.
func (g *guard) settle(reserved, inserted time.Duration) {
	g.spent.Add(int64(inserted - reserved))
}

func (g *guard) withhold(r rule) { g.withheld[r].Add(1) }

// counts are the numbers of delays withheld so far.
func (g *guard) counts() (c withheld) {
	for r := range numRules {
		c[r] = g.withheld[r].Load()
	}
	return c
}

// bucket is a token bucket of one second's worth. Its level is kept as the time at which
// it would be empty, so that one compare-and-swap takes from it.
type bucket struct {
	began time.Time
	cost  atomic.Uint64 // ns of refilling for each ns taken, as the bits of a float64
	empty atomic.Int64
}

const bucketDepth = int64(time.Second)

// newBucket returns a full bucket that refills at rate, in ns per ns.
func newBucket(rate float64, now time.Time) *bucket {
	b := &bucket{began: now.Add(-time.Duration(bucketDepth))}
	b.refill(rate)
	return b
}

// refill changes the rate. A full bucket is full at any: it holds one second's worth.
func (b *bucket) refill(rate float64) { b.cost.Store(math.Float64bits(1 / rate)) }

func (b *bucket) take(now time.Time, d time.Duration) bool {
	at := int64(now.Sub(b.began))
	ns := float64(d) * math.Float64frombits(b.cost.Load())
	if !(ns <= float64(bucketDepth)) { // at a tiny rate it may not even be an int64
		return false
	}
	price := int64(ns)
	for {
		empty := b.empty.Load()
		next := max(empty, at-bucketDepth) + price
		if next > at {
			return false
		}
		if b.empty.CompareAndSwap(empty, next) {
			return true
		}
	}
}
