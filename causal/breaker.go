package causal

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/otelhdr"
)

// A breaker watches the local roots, which is what callers of this process see, and opens
// when they become slower or fail more often than they did without delays.
type breaker struct {
	rules Abort

	durations *otelhdr.Concurrent // ns, of all roots
	failed    atomic.Uint64

	seen atomic.Pointer[BreakerStatus]

	// Of the goroutine that runs the experiments.
	undelayed reading // what was added up while nothing was inserted
	window    []windowed
}

// reading is a state of the counters, or the difference of two.
type reading struct {
	durations *otelhdr.Snapshot
	failed    uint64
}

type windowed struct {
	at   time.Time
	read reading
}

// breakerError is the relative error of the breaker's percentiles.
const breakerError = 0.01

func newBreaker(rules Abort) (*breaker, error) {
	h, err := otelhdr.NewConcurrent(otelhdr.WithRelativeError(breakerError))
	if err != nil {
		return nil, err
	}
	return &breaker{rules: rules, durations: h}, nil
}

func (b *breaker) observe(d time.Duration, failed bool) {
	b.durations.Record(uint64(max(0, d)))
	if failed {
		b.failed.Add(1)
	}
}

func (b *breaker) read() reading {
	return reading{durations: b.durations.Snapshot(nil), failed: b.failed.Load()}
}

func (r reading) since(prev reading) reading {
	return reading{durations: r.durations.Since(prev.durations, nil), failed: r.failed - prev.failed}
}

func (r reading) failedShare() float64 {
	return float64(r.failed) / float64(max(1, r.durations.Count()))
}

// baseline takes what has been seen so far as the state without delays.
func (b *breaker) baseline() (enough bool) {
	read := b.read()
	b.tell(BreakerStatus{BaseRoots: read.durations.Count()})
	if read.durations.Count() < uint64(b.rules.MinSamples) {
		return false
	}
	b.undelayed = read
	b.tell(b.known())
	return true
}

// check returns why the breaker opens, "" if it stays closed. It is called every 100 ms, or
// more often, once there is a baseline.
func (b *breaker) check(now time.Time) string {
	current := b.read()
	// Checks come as often as an experiment is short, readings no more than they must.
	if n := len(b.window); n == 0 || now.Sub(b.window[n-1].at) >= tick {
		b.window = append(b.window, windowed{now, current})
	}
	first := 0
	for first < len(b.window)-1 && now.Sub(b.window[first+1].at) >= time.Duration(b.rules.Window) {
		first++
	}
	b.window = append(b.window[:0], b.window[first:]...)
	seen := current.since(b.window[0].read)
	p99 := time.Duration(seen.durations.Percentile(99))
	s := b.known()
	s.Roots, s.P99, s.Failed = seen.durations.Count(), p99, seen.failedShare()
	b.tell(s)
	if s.Roots < uint64(b.rules.MinSamples) {
		return ""
	}
	if limit := time.Duration(b.rules.P99); limit > 0 && p99 > limit {
		return fmt.Sprintf("the 99th percentile of root spans is %v: must be at most abort.p99 %v", p99, limit)
	}
	base := s.BaseP99
	if ratio := float64(p99) / float64(max(1, base)); ratio > b.rules.P99Ratio {
		return fmt.Sprintf("the 99th percentile of root spans is %v, %.1f times the %v without delays: must be at most abort.p99_ratio %g times", p99, ratio, base, b.rules.P99Ratio)
	}
	if delta := seen.failedShare() - b.undelayed.failedShare(); delta > float64(b.rules.ErrDelta) {
		return fmt.Sprintf("%.2f%% of root spans fail, %.2f points more than without delays: must be at most abort.err_delta %s", 100*seen.failedShare(), 100*delta, b.rules.ErrDelta)
	}
	return ""
}

// A BreakerStatus is what the breaker sees of the local roots, and what opens it. The percentiles are
// exact to 1 %.
type BreakerStatus struct {
	// BaseRoots is how many roots ended before anything was delayed, BaseP99 and BaseFailed what is
	// normal since; zero until there are MinRoots of them, and until then nothing is delayed.
	BaseRoots  uint64        `json:"base_roots"`
	BaseP99    time.Duration `json:"base_p99_ns"`
	BaseFailed float64       `json:"base_failed"`
	// Roots is how many ended within Window, P99 and Failed what they look like. With less than MinRoots
	// there is no verdict.
	Roots  uint64        `json:"roots"`
	P99    time.Duration `json:"p99_ns"`
	Failed float64       `json:"failed"`
	// MinRoots and Window are the plan's.
	MinRoots uint64   `json:"min_roots"`
	Window   Duration `json:"window"`
	// MostP99 and MostFailed are what opens the breaker when it is exceeded; zero as long as it is not
	// known.
	MostP99    time.Duration `json:"most_p99_ns"`
	MostFailed float64       `json:"most_failed"`
}

// known is the part of the status that stays, once there is a baseline.
func (b *breaker) known() BreakerStatus {
	s := BreakerStatus{
		BaseRoots: b.undelayed.durations.Count(), BaseP99: time.Duration(b.undelayed.durations.Percentile(99)),
		BaseFailed: b.undelayed.failedShare(),
	}
	s.MostP99 = time.Duration(b.rules.P99Ratio * float64(s.BaseP99))
	if limit := time.Duration(b.rules.P99); limit > 0 {
		s.MostP99 = min(s.MostP99, limit)
	}
	s.MostFailed = min(1, s.BaseFailed+float64(b.rules.ErrDelta))
	return s
}

// tell lets [Controller.Status] have it.
func (b *breaker) tell(s BreakerStatus) {
	s.MinRoots, s.Window = uint64(b.rules.MinSamples), b.rules.Window
	b.seen.Store(&s)
}
