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
