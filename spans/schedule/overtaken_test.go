package schedule

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/mark"
)

// Of a quorum, the last replica is overtaken. What goes on for itself is not, nor what all is
// waited for, nor what begins when the work is done.
func TestOvertaken(t *testing.T) {
	const unit = 20 * time.Millisecond
	r, tr := recording(t)
	var all sync.WaitGroup
	ask := func(ctx context.Context, names []string, n int) {
		answers := make(chan string, len(names))
		for i, name := range names {
			all.Go(func() {
				timed(ctx, tr, name, func(context.Context) { time.Sleep(time.Duration(2*i+1) * unit) })
				answers <- name
			})
		}
		for range n {
			<-answers
		}
	}
	timed(t.Context(), tr, "request", func(ctx context.Context) {
		all.Go(func() { timed(ctx, tr, "on time", func(context.Context) {}) })
		ask(ctx, []string{"first", "second", "third"}, 2)
	})
	all.Go(func() {
		ask(t.Context(), []string{"hedged", "hedge"}, 1)
		mark.LogProgress("done")
		time.Sleep(3 * unit)
	})
	timed(t.Context(), tr, "fans out", func(ctx context.Context) { ask(ctx, []string{"one", "two"}, 2) })
	timed(t.Context(), tr, "takes", func(ctx context.Context) {
		answer := make(chan int)
		all.Go(func() {
			timed(ctx, tr, "answers before its end", func(context.Context) {
				time.Sleep(unit)
				answer <- 1
				time.Sleep(unit)
			})
		})
		<-answer
	})
	timed(t.Context(), tr, "leaves", func(ctx context.Context) {
		all.Go(func() { timed(ctx, tr, "audit", func(context.Context) { time.Sleep(unit) }) })
		all.Go(func() {
			time.Sleep(unit)
			timed(ctx, tr, "follows", func(context.Context) {})
		})
		time.Sleep(unit / 2)
	})
	all.Wait()
	for _, region := range snapshot(t, r).Regions {
		want := uint64(0)
		if region.Name == "third" || region.Name == "hedge" {
			want = 1
		}
		if region.Overtaken != want || region.Count != 1 {
			t.Errorf("%d of %d %q are overtaken, want %d of 1", region.Overtaken, region.Count, region.Name, want)
		}
	}
}

// A wait that a timer ends, or a deadline that the span knows nothing of, leaves a span behind. One
// that goes on after a look at a ticker does not, nor one that ends in time, nor those that a
// ticker starts.
func TestTimedOut(t *testing.T) {
	const unit = 20 * time.Millisecond
	r, tr := recording(t)
	var all sync.WaitGroup
	start := func(name string, units time.Duration) chan int {
		answer := make(chan int, 1)
		all.Go(func() {
			timed(context.Background(), tr, name, func(context.Context) { time.Sleep(units * unit) })
			answer <- 1
		})
		return answer
	}
	within := func(units time.Duration, answer chan int) {
		select {
		case <-answer:
		case <-time.After(units * unit):
		}
	}
	withDeadline := func(units time.Duration, answer chan int) {
		limited, cancel := context.WithTimeout(t.Context(), units*unit)
		defer cancel()
		select {
		case <-answer:
		case <-limited.Done():
		}
	}
	timed(t.Context(), tr, "fast", func(context.Context) {
		within(3, start("in time", 1))
		withDeadline(3, start("in time, too", 1))
	})
	timed(t.Context(), tr, "request", func(context.Context) {
		for range 2 { // tries again within its region
			within(2, start("late", 5))
		}
	})
	timed(t.Context(), tr, "with a deadline", func(context.Context) { withDeadline(1, start("late, too", 3)) })
	timed(t.Context(), tr, "watches", func(context.Context) {
		answer, ticker := start("watched", 5), time.NewTicker(2*unit)
		defer ticker.Stop()
		for waits := true; waits; {
			select {
			case <-answer:
				waits = false
			case <-ticker.C:
			}
		}
	})
	all.Go(func() { // an open loop
		for range 3 {
			select {
			case <-t.Context().Done():
			case <-time.After(unit):
				start("starts", 2)
			}
		}
	})
	within(2, start("left", 4))
	timed(t.Context(), tr, "goes on", func(context.Context) { time.Sleep(3 * unit) })
	timed(t.Context(), tr, "hedges", func(context.Context) {
		answer := make(chan int, 2)
		ask := func() {
			all.Go(func() {
				timed(context.Background(), tr, "hedged", func(context.Context) { time.Sleep(3 * unit) })
				answer <- 1
			})
		}
		ask()
		within(2, answer)
		ask()
		<-answer
	})
	all.Wait()
	want := map[string]uint64{"late": 2, "late, too": 1, "left": 1}
	for _, region := range snapshot(t, r).Regions {
		if region.TimedOut != want[region.Name] {
			t.Errorf("of %d %q, %d are timed out, want %d", region.Count, region.Name, region.TimedOut, want[region.Name])
		}
	}
}
