package causal

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/spans/schedule"
)

// What is owed is paid in delays that are long enough, none of which is too long, and adds up.
func TestOwed(t *testing.T) {
	o := owed{each: 30, least: 100, most: 150}
	var paid []int64
	for range 40 {
		if d := o.due(1); d > 0 {
			paid = append(paid, d)
			o.sum.Add(-20) // it took longer than it should
		}
	}
	sum := int64(0)
	for _, d := range paid {
		sum += d + 20
		if d < 100 || d > 150 {
			t.Errorf("a delay of %d: must be in [100, 150]", d)
		}
	}
	if sum > 40*30+20 || sum < 40*30-150 {
		t.Errorf("%d were paid of %d", sum, 40*30)
	}
	if long := (&owed{each: 30, least: 100, most: 150}); long.due(3) != 0 || long.due(3) != 150 || long.sum.Load() != 30 {
		t.Error("a span that takes three times as long owes three times as much")
	}
	if none := (&owed{least: 1, most: 10}); none.due(1) != 0 {
		t.Error("a delay although nothing is owed")
	}
}

func TestOwedConcurrentSafe(t *testing.T) {
	o := owed{each: 7, least: 100, most: 1000}
	var mu sync.Mutex
	var wg sync.WaitGroup
	sum := int64(0)
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				if d := o.due(1); d > 0 {
					mu.Lock()
					sum += d
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if left := o.sum.Load(); sum+left != 7*8*1000 || left >= 100 {
		t.Errorf("%d paid and %d left of %d", sum, left, 7*8*1000)
	}
}

func TestSplitOf(t *testing.T) {
	for name, tt := range map[string]struct {
		self  schedule.Split
		spans uint64
		want  split
	}{
		"nothing":  {schedule.Split{}, 0, split{own: 1, queued: 1}},
		"computes": {schedule.Split{Running: 9, Runnable: 3}, 1, split{own: 0.75, computing: 1}},
		"waits":    {schedule.Split{Running: 1, Blocked: map[schedule.Reason]time.Duration{"network": 2, "sleep": 1, "sync": 4}}, 200, split{own: 0.5, computing: 0.25, queued: 0.5, asking: 0.25, each: 0.02}},
		"queues":   {schedule.Split{Running: 2, Blocked: map[schedule.Reason]time.Duration{"sleep": 4, "cond": 2, "chan receive": 2}}, 1, split{own: 0.8, computing: 0.25, queued: 0.4}},
	} {
		if got := splitOf(tt.self, tt.spans); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

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
	all, err := recordWork(t.Context(), 300*ms)
	if err != nil {
		t.Fatal(err)
	}
	for name, holds := range map[string]func(split) bool{
		"computes": func(s split) bool { return s.computing > 0.8 },
		"sleeps":   func(s split) bool { return s.computing < 0.3 && s.own > 0.8 && (s.each == 0 || s.each > 1.5e6) },
		"waits":    func(s split) bool { return s.own > 0.3 && s.own < 0.8 },
	} {
		if s, known := all[profile.Region{Scope: "crowd", Name: name}]; !known || !holds(s) {
			t.Errorf("%s: %+v, known: %t", name, s, known)
		}
	}
}
