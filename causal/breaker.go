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
	if read.durations.Count() < uint64(b.rules.MinSamples) {
		return false
	}
	b.undelayed = read
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
	if seen.durations.Count() < uint64(b.rules.MinSamples) {
		return ""
	}
	p99 := time.Duration(seen.durations.Percentile(99))
	if limit := time.Duration(b.rules.P99); limit > 0 && p99 > limit {
		return fmt.Sprintf("the 99th percentile of root spans is %v: must be at most abort.p99 %v", p99, limit)
	}
	base := time.Duration(b.undelayed.durations.Percentile(99))
	if ratio := float64(p99) / float64(max(1, base)); ratio > b.rules.P99Ratio {
		return fmt.Sprintf("the 99th percentile of root spans is %v, %.1f times the %v without delays: must be at most abort.p99_ratio %g times", p99, ratio, base, b.rules.P99Ratio)
	}
	if delta := seen.failedShare() - b.undelayed.failedShare(); delta > float64(b.rules.ErrDelta) {
		return fmt.Sprintf("%.2f%% of root spans fail, %.2f points more than without delays: must be at most abort.err_delta %s", 100*seen.failedShare(), 100*delta, b.rules.ErrDelta)
	}
	return ""
}
