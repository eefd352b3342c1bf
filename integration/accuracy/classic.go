package main

import (
	"context"
	"sync"
	"time"
)

func join(a, b time.Duration) func(context.Context, *program) {
	return func(ctx context.Context, p *program) {
		for ctx.Err() == nil {
			both := p.waitGroup()
			both.Go(func() { p.io(ctx, "a", a) })
			both.Go(func() { p.io(ctx, "b", b) })
			both.Wait()
			p.progress(ctx)
		}
	}
}

// mutexes is n goroutines that take turns at a lock.
func mutexes(n int, work func(*program, context.Context, string, time.Duration), private, critical time.Duration) func(context.Context, *program) {
	return func(ctx context.Context, p *program) {
		var wg sync.WaitGroup
		locks := p.locks(p.types)
		for range n {
			wg.Go(func() {
				for ctx.Err() == nil {
					work(p, ctx, "private", private)
					_, span := p.tracer.Start(ctx, "nothing")
					span.End()
					lock := locks.any()
					lock.Lock()
					work(p, ctx, "critical", critical)
					lock.Unlock()
					p.progress(ctx)
				}
			})
		}
		wg.Wait()
	}
}

// pipeline makes things and uses them up. A part of each duration is random: vary of it up or down.
func pipeline(produce, consume time.Duration, vary float64) func(context.Context, *program) {
	return func(ctx context.Context, p *program) {
		items := newChannel[int](p.types, p.room(2)) // soon empty again, when the producer is slow again
		var wg sync.WaitGroup
		wg.Go(func() {
			defer items.Close()
			length := p.lengths(0, vary)
			for i := 0; ctx.Err() == nil; i++ {
				p.io(ctx, "produce", length.of(produce))
				items.Send(i)
			}
		})
		wg.Go(func() {
			length := p.lengths(1, vary)
			for _, ok := items.Receive(); ok; _, ok = items.Receive() {
				p.io(ctx, "consume", length.of(consume))
				p.progress(ctx)
			}
		})
		wg.Wait()
	}
}

func fanOut(around, b1, b2 time.Duration) func(context.Context, *program) {
	return func(ctx context.Context, p *program) {
		for ctx.Err() == nil {
			in, request := p.tracer.Start(ctx, "request")
			p.io(in, "before", around)
			both := p.waitGroup()
			both.Go(func() { p.io(in, "b1", b1) })
			both.Go(func() { p.io(in, "b2", b2) })
			both.Wait()
			p.io(in, "after", around)
			request.End()
			p.progress(ctx)
		}
	}
}

func serial(ctx context.Context, p *program) {
	for ctx.Err() == nil {
		p.cpu(ctx, "c", 200*us)
		p.cpu(ctx, "w", 300*us)
		p.progress(ctx)
	}
}

func serialAndAside(ctx context.Context, p *program) {
	var wg sync.WaitGroup
	wg.Go(func() { // no goroutine waits for this one
		for ctx.Err() == nil {
			p.io(ctx, "aside", 3*ms)
		}
	})
	serial(ctx, p)
	wg.Wait()
}

// saturated is n goroutines that compute.
func saturated(n int) func(context.Context, *program) {
	return func(ctx context.Context, p *program) {
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() { serial(ctx, p) })
		}
		wg.Wait()
	}
}

func randMutex(ctx context.Context, p *program) {
	var wg sync.WaitGroup
	source := p.mutex()
	for range 8 {
		wg.Go(func() {
			for ctx.Err() == nil {
				in, request := p.tracer.Start(ctx, "request")
				p.io(in, "fetch", 4*ms)
				p.cpu(in, "render", 200*us)
				source.Lock()
				p.io(in, "draw", ms)
				source.Unlock()
				request.End()
				p.progress(ctx)
			}
		})
	}
	wg.Wait()
}
