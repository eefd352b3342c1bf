package breaker

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/otelhdr"
)

// A Breaker is a circuit breaker for plans: it watches the local roots, which is what callers of
// this process see, and opens when they become slower or fail more often than they do without
// delays. That is a sequential test, [alarm], which may be looked at all the time; and what it
// finds must also be large enough to matter, by the plan's rules.
type Breaker struct {
	Rules plan.Abort

	durations *otelhdr.Concurrent // ns, of all roots
	failed    atomic.Uint64
	// Roots that took longer than the base's 99th percentile, and than Rules.P99.
	limit      atomic.Int64
	slow, over atomic.Uint64

	seen atomic.Pointer[Status]

	// Of the goroutine that runs the experiments.
	forgot reading // observations from before the base, which excludes them
	base   base
	phase  Phase
	still  reading // at the beginning of Still
	last   tally
	began  time.Time // the second that goes on
	so     tally     // what that has without delay
	alarms struct{ slow, over, failed alarm }
	window []windowed // at most windowParts and one
}

// A Phase is what the program is going through.
type Phase int

// The phases.
const (
	Between Phase = iota // what was delayed may still come to an end
	Delayed
	Still // nothing is delayed, and what was is over
)

// reading is a state of the counters, or the difference of two.
type reading struct {
	durations *otelhdr.Snapshot
	failed    uint64
}

// A tally is a state of the counters that cost nothing to read, or the difference of two.
type tally struct{ roots, slow, over, failed uint64 }

type windowed struct {
	at   time.Time
	read reading
}

const (
	// breakerError is the relative error of the breaker's percentiles.
	breakerError = 0.01
	// windowParts is how many readings the window has.
	windowParts = 20
	// leastPart is how far apart the readings of a window are at least.
	leastPart = 100 * time.Millisecond
	// slowShare is the share of roots above the 99th percentile.
	slowShare = 0.01
)

// New returns a breaker that has seen nothing.
func New(rules plan.Abort) (*Breaker, error) {
	h, err := otelhdr.NewConcurrent(otelhdr.WithRelativeError(breakerError))
	if err != nil {
		return nil, err
	}
	b := &Breaker{Rules: rules, durations: h}
	b.limit.Store(math.MaxInt64)
	return b, nil
}

// Observe counts a local root.
func (b *Breaker) Observe(d time.Duration, failed bool) {
	b.durations.Record(uint64(max(0, d)))
	if failed {
		b.failed.Add(1)
	}
	if int64(d) > b.limit.Load() {
		b.slow.Add(1)
	}
	if limit := time.Duration(b.Rules.P99); limit > 0 && d > limit {
		b.over.Add(1)
	}
}

func (b *Breaker) read() reading {
	return reading{durations: b.durations.Snapshot(nil), failed: b.failed.Load()}
}

func (r reading) since(prev reading) reading {
	return reading{durations: r.durations.Since(prev.durations, nil), failed: r.failed - prev.failed}
}

func (r reading) failedShare() float64 {
	return float64(r.failed) / float64(max(1, r.durations.Count()))
}

func (b *Breaker) tally() tally {
	return tally{b.durations.Count(), b.slow.Load(), b.over.Load(), b.failed.Load()}
}

func (t tally) since(prev tally) tally {
	return tally{t.roots - prev.roots, t.slow - prev.slow, t.over - prev.over, t.failed - prev.failed}
}

func (t tally) and(u tally) tally {
	return tally{t.roots + u.roots, t.slow + u.slow, t.over + u.over, t.failed + u.failed}
}

// Forget takes what has been seen so far off the base that is to come.
func (b *Breaker) Forget() { b.forgot = b.read() }

// Baseline takes what has been seen so far as the state without delays.
func (b *Breaker) Baseline(now time.Time) (enough bool) {
	all := b.read()
	read := all
	if b.forgot.durations != nil {
		read = all.since(b.forgot)
	}
	b.tell(Status{BaseRoots: read.durations.Count()})
	if read.durations.Count() < uint64(b.Rules.MinSamples) {
		return false
	}
	b.learn(now, read)
	b.began, b.window = now, []windowed{{now, all}}
	b.tell(b.known())
	return true
}

// Learned reports whether it is known what is normal.
func (b *Breaker) Learned() bool { return b.base.all.durations != nil }

// Normal is the 99th percentile and the mean of local roots without delays, 0 before they are
// known.
func (b *Breaker) Normal() (p99, mean time.Duration) {
	if !b.Learned() {
		return 0, 0
	}
	return b.base.p99(), time.Duration(b.base.all.durations.Mean())
}

func (b *Breaker) learn(now time.Time, r reading) {
	b.base.learn(now, r)
	// A bucket's values are alike.
	b.limit.Store(int64(float64(b.base.p99()) * (1 + breakerError)))
	b.last = b.tally()
}

// Enter sets the phase that the program is in from now on.
func (b *Breaker) Enter(now time.Time, p Phase) {
	if !b.Learned() {
		return
	}
	b.look(now)
	if b.phase == Still && p != Still {
		b.learn(now, b.read().since(b.still))
	}
	if p == Still && b.phase != Still {
		b.still = b.read()
	}
	b.phase = p
}

// look books what was seen since the last look.
func (b *Breaker) look(now time.Time) {
	current := b.tally()
	d := current.since(b.last)
	b.last = current
	clumping := b.base.clumping()
	switch b.phase {
	case Delayed:
		of := float64(d.roots) / clumping
		b.alarms.slow.add(float64(d.slow)/clumping, of)
		b.alarms.over.add(float64(d.over)/clumping, of)
		b.alarms.failed.add(float64(d.failed)/clumping, of)
	case Still:
		b.so = b.so.and(d)
	}
	if now.Sub(b.began) < time.Second {
		return
	}
	b.began = now
	b.base.saw(float64(b.so.slow), float64(b.so.roots))
	b.so = tally{}
	slow, failed := b.shares()
	b.alarms.slow.second(slow)
	b.alarms.over.second(slowShare)
	b.alarms.failed.second(failed)
}

// shares are those of roots that are slow, and that fail, that the base leaves room for.
func (b *Breaker) shares() (slow, failed float64) {
	all := b.base.all
	roots := float64(all.durations.Count()) / b.base.clumping()
	return atMost(slowShare*roots, roots), atMost(b.base.failedShare()*roots, roots)
}

// Check returns why the breaker opens, "" if it stays closed. It is called every 100 ms, or
// more often, once there is a baseline.
func (b *Breaker) Check(now time.Time) string {
	b.look(now)
	slow, failed := b.shares()
	raised := b.alarms.slow.raised(slow) || b.alarms.over.raised(slowShare) || b.alarms.failed.raised(failed)
	part := time.Duration(b.Rules.Window) / windowParts
	if n := len(b.window); raised || n == 0 || now.Sub(b.window[n-1].at) >= max(leastPart, part) {
		return b.judge(now, slow, failed)
	}
	return ""
}

// judge looks at the durations.
func (b *Breaker) judge(now time.Time, slow, failed float64) string {
	current := b.read()
	part := time.Duration(b.Rules.Window) / windowParts
	if n := len(b.window); n == 0 || now.Sub(b.window[n-1].at) >= max(leastPart, part) {
		b.window = append(b.window, windowed{now, current})
	}
	first := 0
	for first < len(b.window)-1 && now.Sub(b.window[first+1].at) >= time.Duration(b.Rules.Window) {
		first++
	}
	b.window = slices.Delete(b.window, 0, first)
	seen := current.since(b.window[0].read)
	s := b.known()
	s.Roots, s.P99, s.Failed = seen.durations.Count(), time.Duration(seen.durations.Percentile(99)), seen.failedShare()
	b.tell(s)
	if s.Roots < uint64(b.Rules.MinSamples) {
		return ""
	}
	latest := b.latest(current)
	p99 := time.Duration(latest.durations.Percentile(99))
	ratio := float64(p99) / float64(max(1, s.BaseP99))
	delta := latest.failedShare() - s.BaseFailed
	switch limit := time.Duration(b.Rules.P99); {
	case limit > 0 && p99 > limit && b.alarms.over.raised(slowShare):
		return fmt.Sprintf("the 99th percentile of root spans is %v: must be at most abort.p99 %v", p99, limit)
	case ratio > b.Rules.P99Ratio && b.alarms.slow.raised(slow):
		return fmt.Sprintf("the 99th percentile of root spans is %v, %.1f times the %v without delays: must be at most abort.p99_ratio %g times", p99, ratio, s.BaseP99, b.Rules.P99Ratio)
	case delta > float64(b.Rules.ErrDelta) && b.alarms.failed.raised(failed):
		return fmt.Sprintf("%.2f%% of root spans fail, %.2f points more than without delays: must be at most abort.err_delta %s", 100*latest.failedShare(), 100*delta, b.Rules.ErrDelta)
	}
	return ""
}

// enoughRoots is how many times Rules.MinSamples are enough to say how large a change is.
const enoughRoots = 5

// latest is what was seen in the shortest time up to now that has enough roots, or in the window.
func (b *Breaker) latest(current reading) reading {
	for i := len(b.window) - 1; i > 0; i-- {
		if current.durations.Count()-b.window[i].read.durations.Count() >= uint64(enoughRoots*b.Rules.MinSamples) {
			return current.since(b.window[i].read)
		}
	}
	return current.since(b.window[0].read)
}
