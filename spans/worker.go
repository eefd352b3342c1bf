package spans

import (
	"sync"
	"sync/atomic"
	"time"
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
