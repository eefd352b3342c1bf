package main

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

func plainJoin(a, b time.Duration) func(context.Context, *program) {
	return func(ctx context.Context, p *program) {
		for ctx.Err() == nil {
			var both sync.WaitGroup
			both.Go(func() { p.io(ctx, "a", a) })
			both.Go(func() { p.io(ctx, "b", b) })
			both.Wait()
			p.progress(ctx)
		}
	}
}

func plainPipeline(produce, consume time.Duration) func(context.Context, *program) {
	return func(ctx context.Context, p *program) {
		items := make(chan int, 2)
		var wg sync.WaitGroup
		wg.Go(func() {
			defer close(items)
			for i := 0; ctx.Err() == nil; i++ {
				p.io(ctx, "produce", produce)
				items <- i
			}
		})
		wg.Go(func() {
			for range items {
				p.io(ctx, "consume", consume)
				p.progress(ctx)
			}
		})
		wg.Wait()
	}
}

func plainFanOut(ctx context.Context, p *program) {
	for ctx.Err() == nil {
		in, request := p.tracer.Start(ctx, "request")
		p.io(in, "before", ms)
		var both sync.WaitGroup
		both.Go(func() { p.io(in, "b1", 5*ms) })
		both.Go(func() { p.io(in, "b2", 3500*us) })
		both.Wait()
		p.io(in, "after", ms)
		request.End()
		p.progress(ctx)
	}
}

// grouped does three things in each turn, two of them at a time.
func grouped(ctx context.Context, p *program) {
	for ctx.Err() == nil {
		group, in := errgroup.WithContext(ctx)
		group.SetLimit(2)
		do := func(region string, d time.Duration) {
			group.Go(func() error {
				p.io(in, region, d)
				return nil
			})
		}
		do("long", 5*ms)
		do("short", 2*ms)
		do("short", 2*ms) // when one of the others is done
		if group.Wait() == nil {
			p.progress(ctx)
		}
	}
}

func saturatedBy(n int) func(context.Context, *program) {
	return func(ctx context.Context, p *program) {
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() { serial(ctx, p) })
		}
		wg.Wait()
	}
}

// crowd is saturated, in requests of some 10 ms. Whoever has lost the processor waits for all others, a third
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
	saturatedBy(8)(ctx, p)
	wg.Wait()
}
