package workloads

import (
	"context"
	"sync"
	"time"
)

// each runs a goroutine for each of n, and waits for them.
func each(n int, run func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { run(i) })
	}
	wg.Wait()
}

// clients are n goroutines that do the same again and again, each with lengths of its own that vary
// by a part. Each time is a unit of work.
func (p *Program) clients(ctx context.Context, n int, vary float64, work func(length *lengths)) {
	each(n, func(i int) {
		for length := p.Lengths(i, vary); ctx.Err() == nil; p.progress(ctx) {
			work(length)
		}
	})
}

// fanIn is three sources and one consumer, which the sources wait for when the channel between them
// is full (backpressure).
func fanIn(ctx context.Context, p *Program) {
	items := newChannel[int](p.Types, p.room(4))
	var consumer sync.WaitGroup
	consumer.Go(func() {
		length := p.Lengths(3, 0.2)
		for _, ok := items.Receive(); ok; _, ok = items.Receive() {
			p.IO(ctx, "consume", length.Of(5*ms))
			p.progress(ctx)
		}
	})
	each(3, func(i int) {
		length := p.Lengths(i, 0.2)
		for ctx.Err() == nil {
			p.IO(ctx, "source", length.Of(11*ms))
			items.Send(i)
		}
	})
	items.Close()
	consumer.Wait()
}

// pool is 8 clients that share 3 connections.
func pool(ctx context.Context, p *Program) {
	free := newChannel[int](p.Types, p.room(3))
	for connection := range p.room(3) {
		free.Send(connection)
	}
	each(8, func(i int) {
		length := p.Lengths(i, 0.3)
		for ctx.Err() == nil {
			in, request := p.tracer.Start(ctx, "request")
			connection, _ := free.Receive()
			p.IO(in, "query", length.Of(5*ms))
			free.Send(connection)
			request.End()
			p.progress(ctx)
			p.IO(ctx, "think", length.Of(6*ms))
		}
	})
}

// Grouped does three things in each turn, two of them at a time.
func Grouped(ctx context.Context, p *Program) {
	for ctx.Err() == nil {
		tasks, in := p.group(ctx)
		tasks.SetLimit(2)
		do := func(region string, d time.Duration) {
			tasks.Go(func() error {
				p.IO(in, region, d)
				return nil
			})
		}
		do("long", 5*ms)
		do("short", 2*ms)
		do("short", 2*ms) // when one of the others is done
		if tasks.Wait() == nil {
			p.progress(ctx)
		}
	}
}

// threeAtATime does nine things in each turn, three of them long.
func threeAtATime(ctx context.Context, p *Program) {
	length := p.Lengths(0, 0.2)
	for ctx.Err() == nil {
		tasks, in := p.group(ctx)
		tasks.SetLimit(3)
		do := func(region string, d time.Duration) {
			d = length.Of(d)
			tasks.Go(func() error {
				p.IO(in, region, d)
				return nil
			})
		}
		for range 3 {
			do("long", 6*ms)
			do("short", 3*ms)
			do("short", 3*ms)
		}
		if tasks.Wait() == nil {
			p.progress(ctx)
		}
	}
}

// batches is 6 clients that wait until a batch with their item is written: four items, or what has
// come in 4 ms.
func batches(ctx context.Context, p *Program) {
	type item struct{ written channel[int] }
	items := newChannel[item](p.Types, 6)
	var batcher sync.WaitGroup
	batcher.Go(func() {
		length := p.Lengths(6, 0.2)
		for first, ok := items.Receive(); ok; first, ok = items.Receive() {
			batch, late := []item{first}, false
			for began := time.Now(); len(batch) < 4 && ok && !late; {
				var next item
				if next, ok, late = items.ReceiveWithin(4*ms - time.Since(began)); ok {
					batch = append(batch, next)
				}
				ok = ok || late
			}
			p.IO(ctx, "flush", length.Of(5*ms))
			for i, each := range batch {
				each.written.Send(i)
			}
		}
	})
	each(6, func(i int) {
		length := p.Lengths(i, 0.5)
		mine := item{newChannel[int](p.Types, 1)}
		for ctx.Err() == nil {
			p.IO(ctx, "prepare", length.Of(4*ms))
			items.Send(mine)
			mine.written.Receive()
			p.progress(ctx)
		}
	})
	items.Close()
	batcher.Wait()
}

// heterogeneous is 8 clients of three servers: a fifth of the requests is six times as long.
func heterogeneous(ctx context.Context, p *Program) {
	places := newChannel[int](p.Types, p.room(3))
	each(8, func(i int) {
		length := p.Lengths(i, 0.3)
		for n := i; ctx.Err() == nil; n++ {
			p.IO(ctx, "think", length.Of(5*ms))
			places.Send(i)
			if n%5 == 0 {
				p.IO(ctx, "dear", length.Of(12*ms))
			} else {
				p.IO(ctx, "cheap", length.Of(2*ms))
			}
			places.Receive()
			p.progress(ctx)
		}
	})
}

// bursty has twelve jobs at once for four workers, and then none for a while.
func bursty(ctx context.Context, p *Program) {
	type job struct {
		length time.Duration
		done   func()
	}
	jobs := newChannel[job](p.Types, 12)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for j, ok := jobs.Receive(); ok; j, ok = jobs.Receive() {
				p.IO(ctx, "work", j.length)
				j.done()
			}
		})
	}
	for length := p.Lengths(0, 0.5); ctx.Err() == nil; {
		results := newChannel[int](p.Types, 12)
		for i := range 12 {
			jobs.Send(job{length.Of(4 * ms), func() { results.Send(i) }})
		}
		for range 12 {
			results.Receive()
		}
		p.progress(ctx)
		p.IO(ctx, "pause", length.Of(8*ms))
	}
	jobs.Close()
	workers.Wait()
}

// workers is two goroutines that do what six clients ask for, in spans that are children of the
// clients'.
func workers(ctx context.Context, p *Program) {
	type job struct {
		ctx    context.Context
		length time.Duration
		done   channel[int]
	}
	jobs := newChannel[job](p.Types, 2)
	var servers sync.WaitGroup
	for range p.workers() {
		servers.Go(func() {
			for j, ok := jobs.Receive(); ok; j, ok = jobs.Receive() {
				in, span := p.tracer.Start(j.ctx, "job")
				p.CPU(in, "decode", 200*us)
				p.IO(in, "store", j.length)
				span.End()
				j.done.Send(1)
			}
		})
	}
	each(6, func(i int) {
		length, done := p.Lengths(i, 0.4), newChannel[int](p.Types, 1)
		for ctx.Err() == nil {
			in, request := p.tracer.Start(ctx, "request")
			p.IO(in, "prepare", length.Of(7*ms))
			jobs.Send(job{in, length.Of(3 * ms), done})
			done.Receive()
			request.End()
			p.progress(ctx)
		}
	})
	jobs.Close()
	servers.Wait()
}

// actor is one goroutine that answers four others, each request with a channel for the reply.
func actor(ctx context.Context, p *Program) {
	inbox := newChannel[channel[int]](p.Types, 0)
	var server sync.WaitGroup
	server.Go(func() {
		length := p.Lengths(4, 0.3)
		for reply, ok := inbox.Receive(); ok; reply, ok = inbox.Receive() {
			p.IO(ctx, "handle", length.Of(2*ms))
			reply.Send(1)
		}
	})
	p.clients(ctx, 4, 0.5, func(length *lengths) {
		p.IO(ctx, "prepare", length.Of(5*ms))
		reply := newChannel[int](p.Types, 0)
		inbox.Send(reply)
		reply.Receive()
	})
	inbox.Close()
	server.Wait()
}

// weighted is seven clients of a semaphore of four tokens. A third of the requests needs two of
// them.
func weighted(ctx context.Context, p *Program) {
	tokens, several := newChannel[int](p.Types, 4), p.mutex()
	each(7, func(i int) {
		length := p.Lengths(i, 0.4)
		for n := i; ctx.Err() == nil; n++ {
			p.IO(ctx, "think", length.Of(3*ms))
			if n%3 == 0 {
				several.Lock() // else two could have one each
				tokens.Send(i)
				tokens.Send(i)
				several.Unlock()
				p.IO(ctx, "large", length.Of(6*ms))
				tokens.Receive()
			} else {
				tokens.Send(i)
				p.IO(ctx, "small", length.Of(3*ms))
			}
			tokens.Receive()
			p.progress(ctx)
		}
	})
}

// handlers is four clients, whose requests have a goroutine each, which starts three more. Of those
// two at a time use what all share.
func handlers(ctx context.Context, p *Program) {
	shared := newChannel[int](p.Types, 2)
	each(4, func(i int) {
		for length := p.Lengths(i, 0.4); ctx.Err() == nil; {
			answered := newChannel[int](p.Types, 0)
			go func() {
				in, request := p.tracer.Start(ctx, "request")
				parts, in := p.group(in)
				for range 2 {
					alone, together := length.Of(4*ms), length.Of(2*ms)
					parts.Go(func() error {
						p.IO(in, "alone", alone)
						shared.Send(i)
						p.IO(in, "together", together)
						shared.Receive()
						return nil
					})
				}
				beside := length.Of(6 * ms)
				parts.Go(func() error {
					p.IO(in, "beside", beside)
					return nil
				})
				err := parts.Wait()
				request.End()
				if err == nil {
					p.progress(ctx)
				}
				answered.Send(1)
			}()
			answered.Receive()
		}
	})
}
