package rest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestDue(t *testing.T) {
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

func TestForEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if got := For(ctx, time.Second); got != time.Millisecond {
			t.Errorf("rested for %v, want 1 ms", got)
		}
	})
}
