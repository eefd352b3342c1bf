package delivery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A sender is what a queue needs of its exporter. All but bytes is called by the queue's one
// goroutine.
type sender[T any] struct {
	export   func(context.Context, []T) // the monitor has what fails
	flush    func(context.Context) error
	shutdown func(context.Context) error
	// bytes is about what an item takes in memory. It is called by the goroutine that puts the
	// item.
	bytes func(T) int64
}

// A queue exports in batches, from one goroutine, and counts what becomes of every item. Put never
// waits (there is no backpressure): neither for room nor for a lock that an export holds, nor for
// the logger of a failure.
type queue[T any] struct {
	sender[T]
	monitor  *Monitor
	settings batchSettings

	items   chan queued[T]
	flushes chan flushing
	stop    chan struct{}
	done    chan struct{} // closed when the worker has returned

	ctx    context.Context // of all exports
	cancel context.CancelFunc

	stopped    atomic.Bool
	once       sync.Once
	ended      atomic.Uint64 // added first, so that no sum of parts is above it
	full       atomic.Uint64
	unfinished atomic.Uint64
	held       atomic.Int64 // bytes
	closeErr   error        // the exporter's, valid after done
}

// queued is an item, and about what it takes in memory.
type queued[T any] struct {
	item  T
	bytes int64
}

type flushing struct {
	ctx  context.Context
	done chan error // of one, so that the worker need not know whether the caller still waits
}

// newQueue returns a queue whose worker runs until Shutdown.
func newQueue[T any](s sender[T], m *Monitor, settings batchSettings) *queue[T] {
	ctx, cancel := context.WithCancel(context.Background())
	q := &queue[T]{
		sender:   s,
		monitor:  m,
		settings: settings,
		items:    make(chan queued[T], settings.queue),
		flushes:  make(chan flushing),
		stop:     make(chan struct{}),
		done:     make(chan struct{}),
		ctx:      ctx,
		cancel:   cancel,
	}
	go q.run()
	return q
}

// put queues an item, or counts why not.
func (q *queue[T]) put(item T) {
	q.ended.Add(1)
	if q.stopped.Load() {
		q.unfinished.Add(1)
		return
	}
	if len(q.items) == cap(q.items) { // which select finds too, but after the bytes were counted
		q.full.Add(1)
		return
	}
	n := q.bytes(item)
	// Add first, then look. One item alone always has room.
	if held := q.held.Add(n); held > maxQueuedBytes && held > n {
		q.held.Add(-n)
		q.full.Add(1)
		return
	}
	select {
	case q.items <- queued[T]{item, n}:
	default:
		q.held.Add(-n)
		q.full.Add(1)
	}
}

// ForceFlush exports what was put before the call. It returns when that is done, with an error if
// exports fail at present, or when ctx ends.
func (q *queue[T]) ForceFlush(ctx context.Context) error {
	f := flushing{ctx, make(chan error, 1)}
	select {
	case q.flushes <- f:
	case <-q.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: flush: %w", q.monitor.cfg.Name, ctx.Err())
	}
	select {
	case err := <-f.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%s: flush: %w", q.monitor.cfg.Name, ctx.Err())
	}
}

// Shutdown exports what was put before and shuts the exporter down. When ctx ends, exports in
// flight are cancelled, what is left is counted as unfinished, and Shutdown returns. A second call
// waits for the first and does not repeat its error.
func (q *queue[T]) Shutdown(ctx context.Context) error {
	first := false
	q.once.Do(func() {
		first = true
		q.stopped.Store(true)
		close(q.stop)
	})
	select {
	case <-q.done:
		if !first {
			return nil
		}
		return q.closeErr
	case <-ctx.Done():
		q.cancel()
		return errors.Join(q.monitor.Err(), fmt.Errorf("%s: shutdown: %w", q.monitor.cfg.Name, ctx.Err()))
	}
}

// Stats returns the monitor's counts and the queue's. For every Stats, Ended is the number of items
// that were put.
func (q *queue[T]) Stats() Stats {
	s := q.monitor.Stats()
	s.QueueFull = q.full.Load()
	s.Unfinished = q.unfinished.Load()
	left := q.ended.Load() - s.Ended()
	select {
	case <-q.done:
		// An item that passed put's check before Shutdown may have come to the queue after the
		// worker's last look.
		s.Unfinished += left
	default:
		s.Queued = left
	}
	return s
}

func (q *queue[T]) run() {
	defer close(q.done)
	defer q.cancel()
	timer := time.NewTimer(q.settings.delay)
	defer timer.Stop()
	b := batch[T]{q: q}
	for {
		select {
		case next := <-q.items:
			exported := b.add(next)
			if q.settings.delay == 0 {
				b.drain(len(q.items))
				b.export()
			} else if exported {
				timer.Reset(q.settings.delay)
			}
		case <-timer.C:
			b.export()
			if q.settings.delay > 0 {
				timer.Reset(q.settings.delay)
			}
		case f := <-q.flushes:
			b.drain(len(q.items))
			b.export()
			// Shutdown ends a flush that hangs, too.
			ctx, cancel := context.WithCancel(f.ctx)
			stop := context.AfterFunc(q.ctx, cancel)
			f.done <- contained(func() error { return q.flush(ctx) })
			stop()
			cancel()
		case <-q.stop:
			b.drain(q.settings.queue)
			b.export()
			q.closeErr = contained(func() error { return q.shutdown(q.ctx) })
			return
		}
	}
}

// A batch is what the worker has taken from the queue and not exported yet.
type batch[T any] struct {
	q     *queue[T]
	items []T
	bytes int64
}

// add takes an item and reports whether there was something to export first, or now.
func (b *batch[T]) add(next queued[T]) (exported bool) {
	if b.bytes+next.bytes > maxBatchBytes {
		exported = len(b.items) > 0
		b.export()
	}
	b.items, b.bytes = append(b.items, next.item), b.bytes+next.bytes
	if len(b.items) == b.q.settings.batch {
		b.export()
		return true
	}
	return exported
}

// drain takes at most n items from the queue.
func (b *batch[T]) drain(n int) {
	for range n {
		select {
		case next := <-b.q.items:
			b.add(next)
		default:
			return
		}
	}
}

func (b *batch[T]) export() {
	switch {
	case len(b.items) == 0:
	case b.q.ctx.Err() != nil:
		b.q.unfinished.Add(uint64(len(b.items)))
	default:
		ctx, cancel := context.WithTimeout(b.q.ctx, b.q.settings.timeout)
		b.q.export(ctx, b.items)
		cancel()
	}
	b.q.held.Add(-b.bytes)
	clear(b.items) // let go of them
	b.items, b.bytes = b.items[:0], 0
}
