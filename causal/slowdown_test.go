package causal

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/clock"
)

// A recording separates what computes from what waits, and leaves out waits for locks.
func TestRecordWork(t *testing.T) {
	c := newCrowd(t)
	var held sync.Mutex
	c.repeat(1, func() {
		c.span(c.ctx, "computes", func(context.Context) { clock.Spin(clock.Now(), ms, func() bool { return true }) })
		time.Sleep(ms)
	})
	c.repeat(1, func() { c.work(c.ctx, "sleeps", 2*ms) })
	c.repeat(2, func() {
		c.span(c.ctx, "waits", func(context.Context) {
			held.Lock()
			defer held.Unlock()
			time.Sleep(2 * ms)
		})
	})
	all, err := engine.RecordWork(t.Context(), 300*ms)
	if err != nil {
		t.Fatal(err)
	}
	for name, holds := range map[string]func(engine.Split) bool{
		"computes": func(s engine.Split) bool { return s.Computing > 0.8 },
		"sleeps":   func(s engine.Split) bool { return s.Computing < 0.3 && s.Own > 0.8 && (s.Each == 0 || s.Each > 1.5e6) },
		"waits":    func(s engine.Split) bool { return s.Own > 0.3 && s.Own < 0.8 },
	} {
		if s, known := all[profile.Region{Scope: "crowd", Name: name}]; !known || !holds(s) {
			t.Errorf("%s: %+v, known: %t", name, s, known)
		}
	}
}

// Where limits.per_trace is below what a region's callers were to be held for, they are held for
// less.
func TestSlowdownWithinPerTrace(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		caps := wide
		caps.PerTrace = plan.Duration(ms)
		b := newBench(t, caps, []Option{unloaded}, "mode: slowdown", calm)
		b.run.Sleep = sleepily
		for range 10 {
			b.span(context.Background(), "long", 100*ms)
		}
		b.run.Begin(experiment.Arm{Speedup: 0.3, Spared: 0})
		b.want("the next span", b.span(context.Background(), "long", 100*ms), 800*time.Microsecond)
		b.withheld(map[string]uint64{})
	})
}

// The limits take what has passed by the clock, for what others had of the processor is no less of
// a delay.
func TestLimitsTakeWhatPasses(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t, wide, nil)
		dilate(b.run, 1, experiment.SparesNone)
		b.run.Spin = func(_ int64, d time.Duration, _ func() bool) time.Duration {
			time.Sleep(90 * ms)
			return d
		}
		b.want("a delay under a quota", b.span(context.Background(), "a", 4*ms), 90*ms)
		if s := b.c.Status(); s.Spent != 90*ms || b.run.Guard.Late.Load() != int64(86*ms) {
			t.Errorf("Status().Spent = %v, %d ns of it late, want 90ms and 86ms", s.Spent, b.run.Guard.Late.Load())
		}
	})
}
