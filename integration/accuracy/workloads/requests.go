package workloads

import (
	"context"
	"time"

	"github.com/otelprof/otelprof/internal/clock"
)

// requested are services that are asked about the latency of their requests, too: of one that waits
// for a lock, one whose slowest requests do what others do not, and one that waits for the longer
// of two parts.
func requested() []Workload {
	return []Workload{
		{
			Name: "orders", About: "6 clients, 4 ms each, and a request of 3 ms, 1 ms under a lock and 2 ms", Class: Contended,
			Regions: []string{"load", "reserve", "answer"}, Run: orders, Varies: true, Request: "order",
		},
		{
			Name: "seldom", About: "4 clients and their requests of 3 ms, and 9 ms more for one in 25", Class: Outside,
			Regions: []string{"usual", "rebuild"}, Run: seldom, Varies: true, Request: "request",
		},
		{
			Name: "both", About: "4 clients and their requests of two parts side by side, 4 ms and 3 ms, up to 0.8 longer or shorter, and 1 ms", Class: Outside,
			Regions: []string{"left", "right", "last"}, Run: both, Varies: true, Request: "request",
		},
	}
}

// request is a root span with work in it, whose duration counts.
func (p *Program) request(ctx context.Context, name string, work func(ctx context.Context)) {
	began := clock.Now()
	in, span := p.tracer.Start(ctx, name)
	work(in)
	span.End()
	p.Latencies.add(time.Duration(clock.Now() - began))
}

// orders is clients whose requests share a lock.
func orders(ctx context.Context, p *Program) {
	lock := p.mutex()
	p.clients(ctx, 6, 0.5, func(length *lengths) {
		p.IO(ctx, "think", length.Of(4*ms))
		p.request(ctx, "order", func(in context.Context) {
			p.IO(in, "load", length.Of(3*ms))
			d := length.Of(ms)
			lock.Lock()
			p.IO(in, "reserve", d)
			lock.Unlock()
			p.IO(in, "answer", length.Of(2*ms))
		})
	})
}

// seldom is clients of whose requests a few do more.
func seldom(ctx context.Context, p *Program) {
	p.clients(ctx, 4, 0.5, func(length *lengths) {
		p.request(ctx, "request", func(in context.Context) {
			p.IO(in, "usual", length.Of(3*ms))
			if d := length.Of(9 * ms); length.IntN(25) == 0 {
				p.IO(in, "rebuild", d)
			}
		})
	})
}

// both is clients whose requests wait for the longer of two parts.
func both(ctx context.Context, p *Program) {
	p.clients(ctx, 4, 0.8, func(length *lengths) {
		p.request(ctx, "request", func(in context.Context) {
			left, right := length.Of(4*ms), length.Of(3*ms)
			parts := p.waitGroup()
			parts.Go(func() { p.IO(in, "left", left) })
			p.IO(in, "right", right)
			parts.Wait()
			p.IO(in, "last", length.Of(ms))
		})
	})
}
