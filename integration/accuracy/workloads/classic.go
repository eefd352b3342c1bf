package workloads

import (
	"context"
	"sync"
	"time"
)

func Join(a, b time.Duration) func(context.Context, *Program) {
	return func(ctx context.Context, p *Program) {
		for ctx.Err() == nil {
			both := p.waitGroup()
			both.Go(func() { p.IO(ctx, "a", a) })
			both.Go(func() { p.IO(ctx, "b", b) })
			both.Wait()
			p.progress(ctx)
		}
	}
}

// Mutexes is n goroutines that take turns at a lock.
func Mutexes(n int, work func(*Program, context.Context, string, time.Duration), private, critical time.Duration) func(context.Context, *Program) {
	return func(ctx context.Context, p *Program) {
		var wg sync.WaitGroup
		locks := p.locks(p.Types)
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

// Pipeline makes things and uses them up. A part of each duration is random: vary of it up or down.
func Pipeline(produce, consume time.Duration, vary float64) func(context.Context, *Program) {
	return func(ctx context.Context, p *Program) {
		items := newChannel[int](p.Types, p.room(2)) // soon empty again, when the producer is slow again
		var wg sync.WaitGroup
		wg.Go(func() {
			defer items.Close()
			length := p.Lengths(0, vary)
			for i := 0; ctx.Err() == nil; i++ {
				p.IO(ctx, "produce", length.Of(produce))
				items.Send(i)
			}
		})
		wg.Go(func() {
			length := p.Lengths(1, vary)
			for _, ok := items.Receive(); ok; _, ok = items.Receive() {
				p.IO(ctx, "consume", length.Of(consume))
				p.progress(ctx)
			}
		})
		wg.Wait()
	}
}

func FanOut(around, b1, b2 time.Duration) func(context.Context, *Program) {
	return func(ctx context.Context, p *Program) {
		for ctx.Err() == nil {
			in, request := p.tracer.Start(ctx, "request")
			p.IO(in, "before", around)
			both := p.waitGroup()
			both.Go(func() { p.IO(in, "b1", b1) })
			both.Go(func() { p.IO(in, "b2", b2) })
			both.Wait()
			p.IO(in, "after", around)
			request.End()
			p.progress(ctx)
		}
	}
}

func serial(ctx context.Context, p *Program) {
	for ctx.Err() == nil {
		p.CPU(ctx, "c", 200*us)
		p.CPU(ctx, "w", 300*us)
		p.progress(ctx)
	}
}

func SerialAndAside(ctx context.Context, p *Program) {
	var wg sync.WaitGroup
	wg.Go(func() { // no goroutine waits for this one
		for ctx.Err() == nil {
			p.IO(ctx, "aside", 3*ms)
		}
	})
	serial(ctx, p)
	wg.Wait()
}

// Saturated is n goroutines that compute.
func Saturated(n int) func(context.Context, *Program) {
	return func(ctx context.Context, p *Program) {
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() { serial(ctx, p) })
		}
		wg.Wait()
	}
}

func RandMutex(ctx context.Context, p *Program) {
	var wg sync.WaitGroup
	source := p.mutex()
	for range 8 {
		wg.Go(func() {
			for ctx.Err() == nil {
				in, request := p.tracer.Start(ctx, "request")
				p.IO(in, "fetch", 4*ms)
				p.CPU(in, "render", 200*us)
				source.Lock()
				p.IO(in, "draw", ms)
				source.Unlock()
				request.End()
				p.progress(ctx)
			}
		})
	}
	wg.Wait()
}
