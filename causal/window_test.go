package causal

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
)

// A wallSet is how far the wall clock of the controllers that it is an option of has been set.
type wallSet struct{ by atomic.Int64 }

func (w *wallSet) option() Option {
	return optionFunc(func(c config) config {
		c.Wall = func(t time.Time) time.Time { return t.Add(time.Duration(w.by.Load())).Round(0) }
		return c
	})
}

func (w *wallSet) set(by time.Duration) { w.by.Store(int64(by)) }

func TestWallClockIsSet(t *testing.T) {
	for _, tt := range []struct {
		name  string
		by    time.Duration
		after time.Duration // how long the plan goes on
	}{
		{"forwards beyond the end", time.Hour, 0},
		{"forwards a little", 4 * time.Minute, 5 * time.Minute},
		{"backwards a little", -30 * time.Second, 9 * time.Minute},
		{"backwards to before the plan", -time.Hour, 9 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				began := time.Now()
				wall := &wallSet{}
				b := newBench(t, wide, []Option{wall.option()}, "expires_at: "+began.Add(10*time.Minute).UTC().Format(time.RFC3339Nano), calm)
				dilate(b.run, 1, experiment.SparesNone)
				time.Sleep(time.Minute)
				dilate(b.run, 1, experiment.SparesNone) // its first experiment may have begun
				wall.set(tt.by)
				set := time.Now()
				want := time.Millisecond
				if tt.after == 0 {
					want = 0
				}
				b.want("as it is set", b.span(context.Background(), "a", time.Millisecond), want)
				<-b.run.Done
				if went := time.Since(set); went < tt.after-time.Second || went > tt.after+time.Second {
					t.Errorf("the plan ended %v after the clock was set, want %v", went, tt.after)
				}
				synctest.Wait()
				state(t, b.c, StateExpired, "expires_at is over")
				b.want("behind the end", b.span(context.Background(), "a", time.Millisecond), 0)
			})
		})
	}
}

// By whichever clock it is too early: nothing is delayed, and the plan goes on.
func TestWallClockIsSetToBeforeTheWindow(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		wall := &wallSet{}
		c := newController(t, wall.option())
		opens := time.Now().Add(10 * time.Second)
		b := &bench{t, c, newProvider(t, c).Tracer("bench"), nil}
		b.run = force(t, c, mustParse(t, "not_before: "+opens.UTC().Format(time.RFC3339Nano), wideLimits, calm))
		wall.set(20 * time.Second) // forwards, while it waits: the monotonic clock does not agree
		dilate(b.run, 1, experiment.SparesNone)
		b.want("by the monotonic clock", b.span(context.Background(), "a", time.Millisecond), 0)
		time.Sleep(15 * time.Second)
		dilate(b.run, 1, experiment.SparesNone)
		b.want("in the window", b.span(context.Background(), "a", time.Millisecond), time.Millisecond)
		wall.set(-20 * time.Second)
		b.want("by the wall clock", b.span(context.Background(), "a", time.Millisecond), 0)
		b.withheld(map[string]uint64{"not_before": 2})
		state(t, c, StateRunning, "")
	})
}

// While the wall clock says that it is too early, not even the warm-up begins.
func TestWallClockIsSetBackWhileWaiting(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		wall := &wallSet{}
		c := newController(t, wall.option())
		force(t, c, mustParse(t, "not_before: "+time.Now().Add(time.Second).UTC().Format(time.RFC3339Nano)))
		wall.set(-time.Minute)
		time.Sleep(50 * time.Second)
		synctest.Wait()
		if got := c.Status().Experiment; got != "waiting for not_before" {
			t.Errorf("Status().Experiment = %q, want it to wait", got)
		}
		time.Sleep(12 * time.Second)
		synctest.Wait()
		if got := c.Status().Experiment; got == "waiting for not_before" {
			t.Errorf("Status().Experiment = %q, want it to have begun", got)
		}
	})
}
