package spans

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel"
)

// run waits for all its timers at once: in a bubble of testing/synctest, a timer that is due while
// no goroutine waits for it is run by two at a time, which crashes the race detector (golang/go#78156).
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
	if p := s.of(); p != nil {
		p.exemplars.offer(ended)
	}
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

func (w *worker) shutdown(ctx context.Context) error {
	if w.closed.CompareAndSwap(false, true) {
		close(w.stop)
	}
	select {
	case <-w.stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err() // it goes on by itself; Queued reports what is left
	}
}

// stoppedTimer returns a timer that waits for its Reset.
func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}
