package causal

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

func TestGroupHandsOver(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		o := watch(t)
		inRegion(10 * msec)
		var g Group
		g.SetLimit(2)
		// Side by side: 10 ms in the region, which would be 5, and 12 ms. Then 7 ms more after the
		// first.
		g.Go(func() error { inRegion(10 * msec); return nil })
		g.Go(func() error { time.Sleep(12 * msec); return nil })
		g.Go(func() error {
			checkSaved(t, "who has waited for the limit", saved(), 10*msec)
			time.Sleep(7 * msec)
			return nil
		})
		checkSaved(t, "who has called Go", saved(), 10*msec)
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
		checkSaved(t, "who has waited", saved(), 10*msec) // 27 ms, which would be 5 + max(5 + 7, 12)
		if c := o.Setting.Counts(); c.Unattributed != 0 {
			t.Errorf("%v of waiting is not attributed, want none", time.Duration(c.Unattributed))
		}
	})
}

func TestGroupReturnsTheFirstError(t *testing.T) {
	for range 2 {
		first := errors.New("first")
		g, ctx := GroupWithContext(context.Background())
		g.Go(func() error { return first })
		g.Go(func() error { <-ctx.Done(); return errors.New("second") })
		g.Go(func() error { return nil })
		if err := g.Wait(); !errors.Is(err, first) || !errors.Is(context.Cause(ctx), first) {
			t.Errorf("Wait() = %v, cause %v, want %v", err, context.Cause(ctx), first)
		}

		g, ctx = GroupWithContext(context.Background())
		g.Go(func() error { return ctx.Err() })
		if err := g.Wait(); err != nil || !errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("Wait() = %v, context %v, want no error and a canceled context", err, ctx.Err())
		}
		watch(t)
	}
}

func TestGroupLimit(t *testing.T) {
	for range 2 {
		var g Group
		g.SetLimit(2)
		var running, most atomic.Int32
		for range 20 {
			g.Go(func() error {
				if n := running.Add(1); n > most.Load() {
					most.Store(n)
				}
				time.Sleep(msec / 10)
				running.Add(-1)
				return nil
			})
		}
		if err := g.Wait(); err != nil || most.Load() > 2 {
			t.Errorf("%d ran at a time, want 2 at most", most.Load())
		}

		leave := make(chan struct{})
		for i, want := range []bool{true, true, false} {
			if got := g.TryGo(func() error { <-leave; return nil }); got != want {
				t.Errorf("TryGo %d = %v, want %v", i, got, want)
			}
		}
		if got := panicOf(func() { g.SetLimit(3) }); got != "causal: group limit: 2 goroutines are running: must be 0" {
			t.Errorf("SetLimit panics with %q", got)
		}
		close(leave)
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
		g.SetLimit(0)
		if g.TryGo(func() error { return nil }) {
			t.Error("TryGo succeeds with a limit of 0")
		}
		g.SetLimit(-1)
		if !g.TryGo(func() error { return nil }) {
			t.Error("TryGo fails without a limit")
		}
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
		watch(t)
	}
}
