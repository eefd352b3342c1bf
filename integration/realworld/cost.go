package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/stats"
)

// Targets of what a plan may cost with the limits that it has by default: the throughput of before
// it at least, and the p99 of requests.
const (
	leastThrough = 0.97
	mostLonger   = 1.10
	// looks is in how many windows what a plan costs is looked at, half as many before and after
	// it.
	looks = 12
)

// A load is how clients were served.
type load struct {
	periods []float64 // time between answers in windows, s
	p99     float64   // of requests, ms
}

// load watches the clients in n windows.
func (s *process) load(ctx context.Context, o settings, n int) (load, error) {
	var seen load
	if _, err := s.crowd.ask(forget); err != nil {
		return seen, err
	}
	for range n {
		period, err := s.period(ctx, o)
		if err != nil {
			return seen, err
		}
		seen.periods = append(seen.periods, period)
	}
	all, err := s.crowd.answered()
	seen.p99 = all.P99.Seconds() * 1e3
	return seen, err
}

// A cost is what a plan took from a program: its throughput as a part of that before and after,
// with a standard error from how windows vary, and its p99 likewise.
type cost struct {
	before, during, after load
}

func (c cost) through() (ratio, stdErr float64) {
	still, held := stats.Summarize(slices.Concat(c.before.periods, c.after.periods)), stats.Summarize(c.during.periods)
	ratio = still.Mean / held.Mean
	return ratio, ratio * math.Hypot(still.StdErr/still.Mean, held.StdErr/held.Mean)
}

// rate is how many answers came in a second.
func (l load) rate() float64 { return 1 / stats.Summarize(l.periods).Mean }

func (c cost) longer() float64 { return 2 * c.during.p99 / (c.before.p99 + c.after.p99) }

func (c cost) print(out io.Writer, what string) {
	ratio, stdErr := c.through()
	fmt.Fprintf(out, "cost %s throughput_before=%.1f during=%.1f after=%.1f ratio=%.3f std_err=%.3f p99_ms_before=%.1f during=%.1f after=%.1f ratio=%.3f\n", what,
		c.before.rate(), c.during.rate(), c.after.rate(), ratio, stdErr, c.before.p99, c.during.p99, c.after.p99, c.longer())
}

// missed returns which target is missed by more than two standard errors of the throughput, or how
// far before and after the plan lie apart.
func (c cost) missed() error {
	var errs []error
	if ratio, stdErr := c.through(); ratio+2*stdErr < leastThrough {
		errs = append(errs, fmt.Errorf("%w: throughput is %.3f of that before, must be %.2f", errClaim, ratio, leastThrough))
	}
	if c.during.p99 > mostLonger*max(c.before.p99, c.after.p99) {
		errs = append(errs, fmt.Errorf("%w: p99 is %.2f of that before, must be %.2f at most", errClaim, c.longer(), mostLonger))
	}
	return errors.Join(errs...)
}
