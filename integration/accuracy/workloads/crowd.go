package workloads

import (
	"context"
	"sync"
)

// Crowd is saturated, in requests of some 10 ms. A goroutine that has lost the processor waits for
// all others, a third of a second: one unit in a hundred does, so that the 99th percentile of units
// is either that or half a millisecond, and the breaker opens when it changes. Of requests each
// third one waits.
func Crowd(n int) func(context.Context, *Program) {
	return func(ctx context.Context, p *Program) {
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				for ctx.Err() == nil {
					in, request := p.tracer.Start(ctx, "request")
					for range 20 {
						p.CPU(in, "c", 200*us)
						p.CPU(in, "w", 300*us)
						p.progress(in)
					}
					request.End()
				}
			})
		}
		wg.Wait()
	}
}

// Background is saturated, with goroutines beside it that have no spans.
func Background(ctx context.Context, p *Program) {
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				burn((100 * us).Seconds())
			}
		})
	}
	Saturated(8)(ctx, p)
	wg.Wait()
}
