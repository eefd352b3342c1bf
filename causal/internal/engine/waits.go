package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/clock/rest"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// In the warm-up of an overlap without the scheduler of "otelprof build", the program is recorded
// for a short time: that shows waits that none of this package's types has reported.

const (
	// LeastRecorded and mostRecorded bound how long; it is half of the warm-up.
	LeastRecorded = 100 * time.Millisecond
	mostRecorded  = time.Second
)

// RecordWaits records for so long, and returns the waits.
func RecordWaits(ctx context.Context, d time.Duration) (trace.Waits, error) {
	w, err := record.TakeOwn(ctx, d)
	if err != nil {
		return trace.Waits{}, err
	}
	rec, err := trace.ReadResting(w.Reader(), rest.NewWorker(ctx).DueOrOver)
	if err != nil {
		return trace.Waits{}, err
	}
	var waits trace.Waits
	err = trace.Contain(func() { waits = rec.Waits() })
	return waits, err
}

// A warmUp is what a recording of the warm-up has found.
type warmUp struct {
	waits trace.Waits // of a plan of overlap
	work  Workload    // of one of slow-downs
	err   error       // why there was none, nil too if none is needed
}

// warmUp waits until the plan's warm-up is over, and records the program meanwhile if that is
// needed.
func (run *Run) warmUp(ctx context.Context) bool {
	warmup := time.Duration(run.Plan.Timing.Warmup)
	if !run.recordsWarmUp() {
		return run.pause(ctx, warmup)
	}
	length := min(max(warmup/2, LeastRecorded), mostRecorded)
	if !run.pause(ctx, warmup-length) {
		return false
	}
	var found warmUp
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer run.Contain()
		if run.Plan.Mode == profile.ModeSlowdown {
			found.work, found.err = run.work(ctx, length)
		} else {
			found.waits, found.err = run.waits(ctx, length)
		}
	}()
	for waiting := true; waiting; {
		if !run.pause(ctx, Tick) { // and watch over the limits
			<-done
			return false
		}
		select {
		case <-done:
			waiting = false
		default:
		}
	}
	run.Breaker.Forget() // those that were recorded were slower
	run.mu.Lock()
	defer run.mu.Unlock()
	run.warmed = found
	return true
}

// recordsWarmUp reports whether experiments of the plan's mode need to know what a recording shows.
func (run *Run) recordsWarmUp() bool {
	switch run.Plan.Mode {
	case profile.ModeSlowdown:
		return run.work != nil
	case profile.ModeOverlap:
		return run.waits != nil && !Scheduling()
	}
	return false
}

// note returns what there was instead of a recording, "" if there was one or none is needed.
func (w warmUp) note(mode profile.Mode) string {
	switch {
	case w.err == nil:
		return ""
	case mode == profile.ModeSlowdown:
		return fmt.Sprintf("the warm-up could not be recorded, so delays are slept, and regions that compute may seem to matter less than they do: %v", w.err)
	}
	return fmt.Sprintf("the warm-up could not be recorded, so waits that none of causal's types tells of are seen only where they are for locks: %v", w.err)
}
