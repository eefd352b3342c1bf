package record

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/testutil"
)

// BenchmarkTake switches a trace on and off among so many goroutines that wait. It says how long
// each takes, for how long at most the world was stopped for it, and how long a goroutine that
// never waits went without its processor, beside 10 ms without a trace; medians.
func BenchmarkTake(b *testing.B) {
	for _, n := range []int{10, 1e3, 1e4, 1e5} {
		b.Run(fmt.Sprintf("goroutines=%d", n), func(b *testing.B) {
			var wg sync.WaitGroup
			defer wg.Wait()
			ended := make(chan struct{})
			defer close(ended)
			for range n {
				wg.Go(func() { <-ended })
			}
			var longest atomic.Int64
			wg.Go(func() {
				for last := time.Now(); ; {
					select {
					case <-ended:
						return
					default:
					}
					now := time.Now()
					if gap := int64(now.Sub(last)); gap > longest.Load() {
						longest.Store(gap)
					}
					last = now
				}
			})
			var starting, stopping, stopped, gaps, without []time.Duration
			for b.Loop() {
				longest.Store(0)
				time.Sleep(10 * time.Millisecond)
				without = append(without, time.Duration(longest.Swap(0)))
				var w *Window
				var err error
				stopped = append(stopped, testutil.LongestStop(b, func() { w, err = Take(context.Background(), time.Millisecond, MaxBytes) }))
				if errors.Is(err, ErrTraced) {
					b.Skip(err)
				}
				if err != nil {
					b.Fatal(err)
				}
				gaps = append(gaps, time.Duration(longest.Load()))
				starting = append(starting, w.Starting)
				stopping = append(stopping, w.Stopping)
			}
			median := func(unit string, all []time.Duration) {
				slices.Sort(all)
				b.ReportMetric(float64(all[len(all)/2].Microseconds()), unit)
			}
			median("µs/start", starting)
			median("µs/stop", stopping)
			median("µs-stopped", stopped)
			median("µs-gap", gaps)
			median("µs-gap-without", without)
		})
	}
}
