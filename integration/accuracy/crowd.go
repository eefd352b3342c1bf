package main

import (
	"context"
	"sync"
)

// crowd is saturated, in requests of some 10 ms. A goroutine that has lost the processor waits for all others, a third
// of a second: one unit in a hundred does, so that the 99th percentile of units is either that or half a
// millisecond, and the breaker opens when it changes. Of requests each third one waits.
func crowd(n int) func(context.Context, *program) {
	return func(ctx context.Context, p *program) {
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				for ctx.Err() == nil {
					in, request := p.tracer.Start(ctx, "request")
					for range 20 {
						p.cpu(in, "c", 200*us)
						p.cpu(in, "w", 300*us)
						p.progress(in)
					}
					request.End()
				}
			})
		}
		wg.Wait()
	}
}

// background is saturated, with goroutines beside it that have no spans.
func background(ctx context.Context, p *program) {
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				burn((100 * us).Seconds())
			}
		})
	}
	saturated(8)(ctx, p)
	wg.Wait()
}
