// Package rest has what computes for long leave the processor to the application now and then. Go's
// scheduler takes it away after 10 ms only, and where it has two, a request that finds the other
// one taken waits for as long.
package rest

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// stretch is for how long work goes on before it rests.
	stretch = 500 * time.Microsecond
	// longest bounds a rest: work that took longer waited, for a processor or an answer.
	longest = 2 * time.Millisecond
	// poll is how often a worker looks whether another one works.
	poll = 100 * time.Microsecond
)

// works is the Worker whose turn it is. Collections of metrics begin together where several readers
// have the same interval, and without turns they would have two processors at once. It is a
// courtesy: who has waited for longest takes the turn of a worker that has ended, or is held up.
var works atomic.Pointer[Worker]

// A Worker is work that rests for as long as it has gone on, each time that has been half a
// millisecond, and then until no other one works. One goroutine uses it.
type Worker struct {
	ctx   context.Context
	since time.Time

	// Rested is for how long it has rested.
	Rested time.Duration
}

// NewWorker returns a worker that has begun now, and rests until ctx ends: what is left is to be
// done soon then.
func NewWorker(ctx context.Context) *Worker { return &Worker{ctx: ctx, since: time.Now()} }

// Due rests if it is time for that; it takes about 50 ns if not. It is called after each 50 µs of
// work or so.
func (w *Worker) Due() {
	took := time.Since(w.since)
	if took < stretch {
		return
	}
	works.CompareAndSwap(w, nil)
	w.Rested += For(w.ctx, took)
	w.take()
	w.since = time.Now()
}

// DueOrOver is Due for work that nothing wants once ctx has ended: it returns the cause of that
// then, and the work is given up.
func (w *Worker) DueOrOver() error {
	w.Due()
	return context.Cause(w.ctx)
}

// take waits for the worker's turn, no longer than longest for any other one.
func (w *Worker) take() {
	other := works.Load()
	for waited := time.Duration(0); w.ctx.Err() == nil && !works.CompareAndSwap(nil, w); waited += poll {
		if waited >= longest && works.CompareAndSwap(other, w) {
			return
		}
		if now := works.Load(); now != other {
			other, waited = now, 0
		}
		w.Rested += For(w.ctx, poll)
	}
}

// For rests for as long as work took, for 2 ms at most, or until ctx ends. It returns how long that
// was, which is longer on a busy machine.
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
