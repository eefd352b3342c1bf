package spans

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"go.opentelemetry.io/otel"

	"github.com/otelprof/otelprof/internal/clock/ending"
)

// worker is the one goroutine that makes records of ended sessions and stores them. The
// goroutine that offers a session never waits (there is no backpressure): the queue is a list
// pushed by compare-and-swap, bounded by a counter, and the worker is woken once for a batch,
// not for each session.
type worker struct {
	store   Store
	chooser Chooser // nil if the store takes all
	ring    *Ring   // the store, if it is one and not something around one
	drops   *drops
	limit   int64

	head   atomic.Pointer[Session]
	length atomic.Int64
	spans  atomic.Int64  // of all sessions that were ever queued
	wake   chan struct{} // holds one token if there may be something to do
	later  []*Session    // of the worker only: sessions of which a record was made just now

	places    []place     // of the worker only, for arrange
	completed []completed // of the worker only, oldest first
	fading    *time.Timer // the first one's turn

	flushes chan chan struct{} // requests to close the channel when the queue has been emptied
	closed  atomic.Bool
	stop    chan struct{}
	stopped chan struct{}
	refused sync.Once
}

const (
	// batchDelay is how long the worker lets sessions gather.
	batchDelay = 5 * time.Millisecond
	// batchSpans is how many spans of them end that: some 160 KB with the SDK's, which are still in
	// a cache of the processor then.
	batchSpans = 128
	// Each record of a session has all of its spans. Where spans end late, one after the other,
	// mostAtOnce come at once, then one in each lateEvery.
	mostAtOnce = 8
	lateEvery  = time.Second
)

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
	w.ring, _ = store.(*Ring)
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
	// The first one wakes the worker to wait for more, the one that half fills the queue, or brings
	// enough spans, wakes it to begin.
	more := s.begun(s.started.Load())
	spans := w.spans.Add(more)
	if n == 1 || n == w.limit/2 || spans/batchSpans != (spans-more)/batchSpans {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
	return true
}

// declines reports whether a session whose root has just ended need not be queued, since the store
// certainly does not want it. It is asked by the goroutine that ended the root; at is the time, if
// it is known.
func (w *worker) declines(s *Session, at int64) bool {
	// While spans below the root are open there may be an error to come that the store wants. Spans
	// that are sampled go from the worker to the readers of exemplars.
	return w.ring != nil && !s.root.cover.open() && !w.closed.Load() &&
		(s.root.unsampled || s.of().exemplars.all.Load() == nil) &&
		w.ring.gate.closed(w.ring.gate.slowOf(s.root), s.draw(), time.Duration(s.root.end.Load()-s.start()), int(s.errors.Load()), at)
}

func (w *worker) queued() int { return int(w.length.Load()) }

// Spans of a complete session, one whose spans had all ended when its record was made, are kept for
// the records of children that begin late, as those of a goroutine that goes on with
// context.WithoutCancel do. Such a goroutine may never end. After completeFor the spans are let go,
// and a child that begins later is counted in [Dropped.Revisions].
const (
	completeFor  = time.Minute
	mostComplete = 1 << 14 // sessions at a time; any other keeps its spans as long as something refers to it
)

// completed is a session in the worker's queue of complete ones, which does not keep it alive, as
// it was when it came in, and when its turn is.
type completed struct {
	session  weak.Pointer[Session]
	revision int
	turn     int64
}

// complete notes that all spans of s have ended.
func (w *worker) complete(s *Session) {
	if s.kept.watched || len(w.completed) >= mostComplete {
		return
	}
	s.kept.watched = true
	if len(w.completed) == 0 {
		w.fading.Reset(completeFor)
	}
	w.watch(s)
}

func (w *worker) watch(s *Session) {
	w.completed = append(w.completed, completed{weak.Make(s), s.kept.revision, now() + int64(completeFor)})
}

// letGo forgets the sessions whose turn it is, and gives those another one that have got a record
// or an open span since, unless no further record is made of them.
func (w *worker) letGo() {
	for len(w.completed) > 0 {
		c := w.completed[0]
		if left := c.turn - now(); left > 0 {
			w.fading.Reset(time.Duration(left))
			return
		}
		w.completed = w.completed[1:]
		s := c.session.Value()
		switch {
		case s == nil || s.unwanted:
		case s.lost.Load():
			s.forget()
		case s.kept.revision != c.revision || s.queued.Load() || s.open() > 0:
			w.watch(s)
		default:
			s.faded.Store(true)
			s.forget()
		}
	}
}

// run waits for all its timers at once: in a bubble of testing/synctest, a timer that is due while
// no goroutine waits for it is run by two at a time, which crashes the race detector
// (golang/go#78156).
func (w *worker) run() {
	defer close(w.stopped)
	batch, late := stoppedTimer(), stoppedTimer()
	w.fading = stoppedTimer()
	gather := func() {
		waiting := len(w.later)
		w.drain()
		if waiting == 0 && len(w.later) > 0 {
			late.Reset(lateEvery)
		}
		w.wakeIfQueued()
	}
	for {
		select {
		case <-w.wake:
			if batch.Stop() { // the second one of a batch
				gather()
			} else {
				batch.Reset(batchDelay)
			}
		case <-batch.C:
			gather()
		case <-late.C:
			w.finishLater()
		case <-w.fading.C:
			w.letGo()
		case done := <-w.flushes:
			w.drain()
			w.finishLater()
			w.wakeIfQueued()
			close(done)
		case <-w.stop:
			w.drain()
			w.finishLater()
			return
		}
	}
}

// wakeIfQueued wakes the worker again for a session that was counted during drain and
// pushed after it. It was not the first in the queue, so the goroutine that offered it did
// not.
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
			if s.kept != nil && s.kept.revision >= mostAtOnce && now() < s.kept.again && int64(len(w.later)) < w.limit {
				w.later = append(w.later, s) // still queued, so that it comes once
			} else {
				w.finish(s)
			}
			s = next
		}
	}
}

// finishLater makes the records that were put off.
func (w *worker) finishLater() {
	later := w.later
	w.later = nil
	for _, s := range later {
		w.finish(s)
	}
}

func (w *worker) finish(s *Session) {
	// First open the queue to the session again, then take what has ended: a span that
	// ends in between is taken now and finds nothing to do the second time.
	s.settled.Store(true)
	s.queued.Store(false)
	first := s.kept == nil
	ended := s.finished.Swap(nil)
	offerExemplars(ended)
	s.leave()
	switch {
	case s.unwanted || !first && ended == nil:
		unlink(ended)
		return
	case s.discarded.Load():
		if first {
			w.drops.discarded.Add(1)
		} else {
			w.drops.revisions.Add(1)
		}
		s.forget()
		unlink(ended)
		return
	case first && w.chooser != nil && !w.wants(s):
		s.forget()
		unlink(ended)
		w.drops.unwanted.add()
		return
	}
	if first {
		s.kept = &kept{}
	}
	if s.kept.revision+1 >= mostAtOnce {
		s.kept.again = now() + int64(lateEvery)
	}
	s.kept.take(ended)
	if err := w.append(w.record(s)); err != nil {
		if first {
			s.forget()
			w.drops.storeError.Add(1)
		} else {
			w.drops.revisions.Add(1)
		}
		w.refused.Do(func() { otel.Handle(err) })
		return
	}
	if s.open() == 0 {
		w.complete(s)
	}
}

// take adds a list of ended spans, and takes it apart.
func (k *kept) take(ended *Span) {
	n := 0
	for r := ended; r != nil; r = r.next {
		n++
	}
	if k.taken == nil {
		k.taken = k.first[:0]
	}
	k.taken = slices.Grow(k.taken, n)
	for r := ended; r != nil; r = r.next {
		k.taken = append(k.taken, r)
	}
	unlink(ended)
}

// unlink takes a list of ended spans apart: the application may keep one of them, which is not to
// keep the others.
func unlink(r *Span) {
	for r != nil {
		r, r.next = r.next, nil
	}
}

// wants asks the store whether it would keep a session; one that panics is asked to keep it.
func (w *worker) wants(s *Session) (wanted bool) {
	wanted = true
	if w.ring != nil {
		return w.ring.wants(s.draw(), s.rootName(), time.Duration(s.end.Load()-s.start()), int(s.errors.Load()))
	}
	defer func() { _ = recover() }()
	return w.chooser.Wants(s.rootName(), time.Duration(s.end.Load()-s.start()), int(s.errors.Load()))
}

// append gives a record to the store. A panic is an error as any other: the goroutine is ours, so
// the application could not recover it.
func (w *worker) append(r *SessionRecord) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("spans: store: panic: %v: must not panic", v)
		}
	}()
	return w.store.Append(r)
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

// shutdown waits until the worker has ended. If the store hangs, it goes on by itself, and Queued
// reports what is left.
func (w *worker) shutdown(ctx context.Context) error {
	if w.closed.CompareAndSwap(false, true) {
		close(w.stop)
	}
	return ending.Within(ctx, func() error { <-w.stopped; return nil })
}

// stoppedTimer returns a timer that waits for its Reset.
func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}
