package workloads

import (
	"context"
	"time"
)

// routes is two servers side by side of which each answers two routes in turn. A span is started
// before its route is known.
func routes(orders, carts time.Duration) func(context.Context, *Program) {
	return func(ctx context.Context, p *Program) {
		each(2, func(int) {
			for ctx.Err() == nil {
				p.ioAs(ctx, "GET", "GET /orders/{id}", orders)
				p.ioAs(ctx, "GET", "GET /carts/{id}", carts)
				p.progress(ctx)
			}
		})
	}
}

// burstEvery is how often a burst begins, which takes a fifth of that.
const burstEvery = time.Second

// bursts is a loop that takes so long, and in bursts so much more.
func bursts(always, more time.Duration) func(context.Context, *Program) {
	return func(ctx context.Context, p *Program) {
		began := time.Now()
		for ctx.Err() == nil {
			p.IO(ctx, "always", always)
			if time.Since(began)%burstEvery < burstEvery/5 {
				p.IO(ctx, "burst", more)
			}
			p.progress(ctx)
		}
	}
}
