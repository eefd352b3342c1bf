package rest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestDue(t *testing.T) {
	works.Store(nil)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := NewWorker(ctx)
		for _, c := range []struct{ works, rests time.Duration }{
			{stretch - 1, 0},
			{1, stretch}, // with the work before
			{0, 0},
			{time.Millisecond, time.Millisecond},
			{time.Minute, longest},
		} {
			time.Sleep(c.works)
			begun := time.Now()
			if w.Due(); time.Since(begun) != c.rests {
				t.Errorf("after %v of work: %v of rest, want %v", c.works, time.Since(begun), c.rests)
			}
		}
		if want := stretch + time.Millisecond + longest; w.Rested != want {
			t.Errorf("rested for %v, want %v", w.Rested, want)
		}
		cancel()
		time.Sleep(time.Second)
		begun := time.Now()
		if w.Due(); time.Since(begun) != 0 {
			t.Errorf("after the end: %v of rest", time.Since(begun))
		}
	})
}

// TestWorkersTakeTurns has workers that begin together; after their first stretch one works at a
// time.
func TestWorkersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var working, most atomic.Int32
		for range 3 {
			go func() {
				w := NewWorker(t.Context())
				for i := range 20 {
					if n := working.Add(1); i > 0 {
						most.Store(max(most.Load(), n))
					}
					time.Sleep(stretch)
					working.Add(-1)
					w.Due()
				}
			}()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n := most.Load(); n != 1 {
			t.Errorf("%d workers worked at once, want 1", n)
		}
	})
}

// TestTurnOfAWorkerThatEnded has one that begins after one that has ended in its turn.
func TestTurnOfAWorkerThatEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 2 {
			w := NewWorker(t.Context())
			time.Sleep(stretch)
			w.Due()
			if w.Rested > stretch+longest {
				t.Errorf("rested for %v, want %v at most", w.Rested, stretch+longest)
			}
			time.Sleep(stretch)
			w.Due()
			if w.Rested > 2*stretch+longest {
				t.Errorf("rested for %v with the second time, want %v at most", w.Rested, 2*stretch+longest)
			}
		}
	})
}

func TestForEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if got := For(ctx, time.Second); got != time.Millisecond {
			t.Errorf("rested for %v, want 1 ms", got)
		}
	})
}

func TestDueOrOver(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	w := NewWorker(ctx)
	if err := w.DueOrOver(); err != nil {
		t.Errorf("before the end: %v", err)
	}
	cause := errors.New("the program ends")
	cancel(cause)
	if err := w.DueOrOver(); !errors.Is(err, cause) {
		t.Errorf("after the end: %v, want %v", err, cause)
	}
}
