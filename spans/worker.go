package spans

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
)

// worker is the one goroutine that makes records of ended sessions and stores them. Whoever
// offers a session never waits: the queue is a list pushed by compare-and-swap, bounded by
// a counter, and the worker is woken once for a batch, not for each session.
type worker struct {
	store   Store
	chooser Chooser // nil if the store takes all
	drops   *drops
	limit   int64

	head   atomic.Pointer[Session]
	length atomic.Int64
	wake   chan struct{} // holds one token if there may be something to do

	flushes chan chan struct{} // requests to close the channel when the queue has been emptied
	closed  atomic.Bool
	stop    chan struct{}
	stopped chan struct{}
	refused sync.Once
}

// batchDelay is how long the worker lets sessions gather.
const batchDelay = 5 * time.Millisecond

func newWorker(store Store, limit int, d *drops) *worker {
	w := &worker{
		store:   store,
		drops:   d,
		limit:   int64(limit),
		wake:    make(chan struct{}, 1),
		flushes: make(chan chan struct{}),
		stop:    make(chan struct{}),
		stopped: make(chan struct{}),
	}
	w.chooser, _ = store.(Chooser)
	go w.run()
	return w
}

// offer queues a session and reports whether there was room.
func (w *worker) offer(s *Session) bool {
	if w.closed.Load() {
		return false
	}
	n := w.length.Add(1)
	if n > w.limit {
		w.length.Add(-1)
		return false
	}
	for {
		head := w.head.Load()
		s.next = head
		if w.head.CompareAndSwap(head, s) {
			break
		}
	}
	// The first one wakes the worker to wait for more, the one that half fills the queue
	// wakes it to begin.
	if n == 1 || n == w.limit/2 {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
	return true
}

func (w *worker) queued() int { return int(w.length.Load()) }

func (w *worker) run() {
	defer close(w.stopped)
	timer := time.NewTimer(0)
	<-timer.C
	for {
		select {
		case <-w.wake:
			timer.Reset(batchDelay)
			select {
			case <-timer.C:
			case <-w.wake:
			case <-w.stop:
			}
			w.drain()
			w.wakeIfQueued()
		case done := <-w.flushes:
			w.drain()
			w.wakeIfQueued()
			close(done)
		case <-w.stop:
			w.drain()
			return
		}
	}
}

// wakeIfQueued wakes the worker again for a session that was counted during drain and
// pushed after it. It was not the first in the queue, so whoever offered it did not.
func (w *worker) wakeIfQueued() {
	if w.length.Load() > 0 {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// drain empties the queue, oldest session first.
func (w *worker) drain() {
	for {
		var oldest *Session
		for s := w.head.Swap(nil); s != nil; {
			s.next, oldest, s = oldest, s, s.next
		}
		if oldest == nil {
			return
		}
		for s := oldest; s != nil; {
			next := s.next
			s.next = nil
			w.length.Add(-1)
			w.finish(s)
			s = next
		}
	}
}

func (w *worker) finish(s *Session) {
	// First open the queue to the session again, then take what has ended: a span that
	// ends in between is taken now and finds nothing to do the second time.
	s.settled.Store(true)
	s.queued.Store(false)
	first := s.revision == 0
	ended := s.finished.Swap(nil)
	switch {
	case s.unwanted || !first && ended == nil:
		return
	case s.discarded.Load():
		if first {
			w.drops.discarded.Add(1)
		} else {
			w.drops.revisions.Add(1)
		}
		s.forget()
		return
	case first && w.chooser != nil && !w.chooser.Wants(s.rootName(), time.Duration(s.end.Load()-s.start), int(s.errors.Load())):
		s.forget()
		w.drops.unwanted.Add(1)
		return
	}
	for r := ended; r != nil; r = r.next {
		s.taken = append(s.taken, r)
	}
	if err := w.store.Append(s.record()); err != nil {
		if first {
			s.forget()
			w.drops.storeError.Add(1)
		} else {
			w.drops.revisions.Add(1)
		}
		w.refused.Do(func() { otel.Handle(err) })
	}
}

func (w *worker) flush(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case w.flushes <- done:
	case <-w.stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
		return nil
	case <-w.stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *worker) shutdown(ctx context.Context) error {
	if w.closed.CompareAndSwap(false, true) {
		close(w.stop)
	}
	select {
	case <-w.stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err() // it goes on by itself; Queued tells what is left
	}
}
