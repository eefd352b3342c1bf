package causal

import (
	"context"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/virtualtime"
	"github.com/otelprof/otelprof/internal/clock"
)

// A wait in a region is not part of it, and no other goroutine's virtual time is taken over.
func TestBlockedIsAWaitForSomebodyUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		o := watch(t)
		_, l := virtualtime.Here()
		f := l.Begin(o.Setting, clock.Now(), theRegion, nil, false)
		time.Sleep(10 * msec)
		Blocked(context.Background(), func() { time.Sleep(7 * msec) })
		time.Sleep(10 * msec)
		f.End(o.Setting, clock.Now(), false)
		checkSaved(t, "who was blocked", saved(), 10*msec)
		if got := o.Setting.Counts().Unattributed; got != int64(7*msec) {
			t.Errorf("%v of waiting is not attributed, want 7ms", time.Duration(got))
		}
	})
}

// Which goroutine f waits for is known if it waits with a type of this package.
func TestBlockedAroundAWaitThatIsKnown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		watch(t)
		c := NewChan[int](0)
		go func() {
			inRegion(10 * msec)
			c.Send(1)
		}()
		Blocked(context.Background(), func() { c.Receive() })
		checkSaved(t, "who was blocked", saved(), 5*msec)
	})
}

func TestBlockedEndsOnPanic(t *testing.T) {
	watch(t)
	panicOf(func() { Blocked(context.Background(), func() { panic("in f") }) })
	_, l := virtualtime.Here()
	if _, idle := l.Last(); !idle {
		t.Error("the goroutine counts as waiting after a panic")
	}
}
