package engine

import (
	"sync"
	"testing"
	"time"

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

// One span that takes very long, or has a time stamp of years ago, owes no more than one hold.
func TestOwedOfOneSpanIsBounded(t *testing.T) {
	o := owed{each: 100, least: 100, most: 500}
	for _, times := range []float64{1e6, 1e30} {
		if got := o.due(times); got != 500 {
			t.Errorf("a span of %g times the mean is held for %d, want 500", times, got)
		}
		if got := o.due(0); got != 0 {
			t.Errorf("the next is held for %d, want 0", got)
		}
	}
}

// What has no room beside another hold is owed again, and does not add up.
func TestOwedWithin(t *testing.T) {
	for room, want := range map[int64]struct{ held, owed int64 }{500: {300, 0}, 200: {200, 100}, 99: {0, 300}, -7: {0, 300}} {
		o := owed{each: 100, least: 100, most: 500}
		if got := o.within(room, 300); got != want.held || o.sum.Load() != want.owed {
			t.Errorf("within %d of 300: %d, and %d owed, want %+v", room, got, o.sum.Load(), want)
		}
	}
	o := owed{least: 100, most: 500}
	for range 100 {
		o.within(0, 300)
	}
	if got := o.sum.Load(); got > 2*o.most {
		t.Errorf("%d are owed, want two holds at most", got)
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
		self   schedule.Split
		helped time.Duration
		spans  uint64
		want   Split
	}{
		"nothing":   {schedule.Split{}, 0, 0, Split{Own: 1, queued: 1}},
		"computes":  {schedule.Split{Running: 9, Runnable: 3}, 0, 1, Split{Own: 0.75, Computing: 1}},
		"waits":     {schedule.Split{Running: 1, Blocked: map[schedule.Reason]time.Duration{"network": 2, "sleep": 1, "sync": 4}}, 0, 200, Split{Own: 0.5, Computing: 0.25, queued: 0.5, asking: 0.25, Each: 0.02}},
		"queues":    {schedule.Split{Running: 2, Blocked: map[schedule.Reason]time.Duration{"sleep": 4, "cond": 2, "chan receive": 2}}, 0, 1, Split{Own: 0.8, Computing: 0.25, queued: 0.4}},
		"is helped": {schedule.Split{Running: 2, Blocked: map[schedule.Reason]time.Duration{"sync": 8}}, 6, 1, Split{Own: 0.8, Computing: 0.25, queued: 0.8}},
	} {
		if got := splitOf(tt.self, tt.helped, tt.spans); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

// What a span waits for at a channel is not its own where that is a child on another goroutine,
// which its self time leaves out.
func TestOwnTimeOfSelf(t *testing.T) {
	for name, tt := range map[string]struct {
		split          Split
		own, computing float64
	}{
		"no mean of spans":   {Split{Own: 0.5, Computing: 0.25}, 500, 0.25},
		"as it is recorded":  {Split{Own: 1, Computing: 0.25, Each: 1100}, 1100, 0.25},
		"waits for children": {Split{Own: 1, Computing: 0.05, Each: 10_000}, 1000, 0.5},
	} {
		if own, computing := tt.split.of(1000); own != tt.own || computing != tt.computing {
			t.Errorf("%s: %v ns, of which it computes %v, want %v and %v", name, own, computing, tt.own, tt.computing)
		}
	}
}
