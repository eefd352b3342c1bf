// Package rest has what computes for long leave the processor to the application now and then. Go's scheduler takes it away after
// 10 ms only, and where it has two, a request that finds the other one taken waits for as long.
package rest

import (
	"context"
	"time"
)

const (
	// stretch is for how long work goes on before it rests.
	stretch = 500 * time.Microsecond
	// longest bounds a rest: work that took longer waited, for a processor or an answer.
	longest = 2 * time.Millisecond
)

// A Worker is work that rests for as long as it has gone on, each time that has been half a millisecond. One goroutine uses it.
type Worker struct {
	ctx   context.Context
	since time.Time

	// Rested is for how long it has rested.
	Rested time.Duration
}

// NewWorker returns a worker that has begun now, and rests until ctx ends: what is left is to be done soon then.
func NewWorker(ctx context.Context) *Worker { return &Worker{ctx: ctx, since: time.Now()} }

// Due rests if it is time for that; it takes about 50 ns if not. It is called after each 50 µs of work or so.
func (w *Worker) Due() {
	took := time.Since(w.since)
	if took < stretch {
		return
	}
	w.Rested += For(w.ctx, took)
	w.since = time.Now()
}

// For rests for as long as work took, for 2 ms at most, or until ctx ends. It returns how long that was, which is longer on a busy machine.
func For(ctx context.Context, took time.Duration) time.Duration {
	if ctx.Err() != nil {
		return 0
	}
	begun := time.Now()
	timer := time.NewTimer(min(took, longest))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return time.Since(begun)
}
