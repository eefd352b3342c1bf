// Package hdrtest asks in a Go test whether one function is faster than another, with a statistical
// test instead of a limit in nanoseconds, which would differ from machine to machine.
//
//	func TestParseIsFaster(t *testing.T) {
//		hdrtest.Comparison{Judge: otelhdr.Judge{Margin: 0.05}}.Faster(t, parseOld, parseNew)
//	}
//
// Both functions run in turn, in random order, so that what disturbs the machine for longer than a
// few milliseconds disturbs both. Each turn gives one ratio, and the interval of the median ratio
// is that of [otelhdr.Judge.Pairs]. A test that holds is wrong at most once in a hundred times by
// default; one that fails may have had too few turns, and reports that.
package hdrtest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/otelprof/otelprof/otelhdr"
)

// A Comparison says how two functions are compared. The zero value takes 100 turns of 2 ms for each
// of both, 0.4 s altogether and a little more to find out how often to call them.
type Comparison struct {
	// Judge has the confidence and the margin. Its Percent is not used.
	Judge otelhdr.Judge
	// Turns is how many pairs there are, in [8, 100,000]; 0 means 100.
	Turns int
	// Turn is how long the calls of before take in each turn, at least; 0 means 2 ms. A function
	// that takes longer is called once.
	Turn time.Duration

	now func() time.Duration // of a clock; nil for the system's
}

// Faster fails the test unless after is shown to be faster than before, by more than the margin.
func (c Comparison) Faster(t testing.TB, before, after func()) {
	t.Helper()
	c.want(t, "faster", func(j otelhdr.Judgement) bool { return j.Verdict == otelhdr.Faster }, before, after)
}

// NotSlower fails the test unless after is shown to be slower than before by no more than the
// margin, or faster. Without a margin this can hardly be shown of two functions that are alike.
func (c Comparison) NotSlower(t testing.TB, before, after func()) {
	t.Helper()
	c.want(t, "not slower", otelhdr.Judgement.NotSlower, before, after)
}

func (c Comparison) want(t testing.TB, what string, holds func(otelhdr.Judgement) bool, before, after func()) {
	t.Helper()
	j, err := c.Run(before, after)
	switch {
	case err != nil:
		t.Fatal(err)
	case !holds(j):
		t.Errorf("must be %s: %v", what, j)
	default:
		t.Log(j)
	}
}

// Run compares the functions, on this goroutine. The error wraps [otelhdr.ErrConfig].
func (c Comparison) Run(before, after func()) (otelhdr.Judgement, error) {
	if c.Turns == 0 {
		c.Turns = 100
	}
	if c.Turn == 0 {
		c.Turn = 2 * time.Millisecond
	}
	if c.now == nil {
		start := time.Now()
		c.now = func() time.Duration { return time.Since(start) }
	}
	if c.Turns < 8 || c.Turns > 100_000 {
		return otelhdr.Judgement{}, fmt.Errorf("%w: %d turns: must be in [8, 100000]", otelhdr.ErrConfig, c.Turns)
	}
	if c.Turn < 0 || c.Turn > time.Minute {
		return otelhdr.Judgement{}, fmt.Errorf("%w: turns of %v: must be in [0, 1m]", otelhdr.ErrConfig, c.Turn)
	}
	// A wrong Judge is an error before anything runs.
	if _, err := c.Judge.Pairs(nil, nil); err != nil {
		return otelhdr.Judgement{}, err
	}
	calls := c.calls(before)
	c.turn(after, calls) // warms up
	var times [2][]uint64
	for range c.Turns {
		first := rand.IntN(2)
		for i := range 2 {
			which := first ^ i
			times[which] = append(times[which], c.turn([]func(){before, after}[which], calls))
		}
	}
	return c.Judge.Pairs(times[0], times[1])
}

// calls finds out how often f is called in a turn. The first call, and one that was disturbed, may
// be slow: with few calls in a turn the clock would be compared.
func (c Comparison) calls(f func()) int {
	const most = 1 << 30
	c.turn(f, 1) // warms up
	long := func(n int) bool { return c.turn(f, n) >= uint64(c.Turn) }
	n := 1
	for n < most {
		if first, second := long(n), long(n); first && second {
			break
		}
		n *= 2
	}
	return n
}

// turn returns how long n calls take, in ns.
func (c Comparison) turn(f func(), n int) uint64 {
	start := c.now()
	for range n {
		f()
	}
	return uint64(c.now() - start)
}
