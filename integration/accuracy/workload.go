package main

import (
	"context"
	"sync"
	"time"

	"github.com/otelprof/otelprof/causal"
)

const (
	us = time.Microsecond
	ms = time.Millisecond
)

// A workload is a program of which something is asked.
type workload struct {
	name    string
	about   string
	regions []string // what is asked about, and can be made faster
	run     func(context.Context, *program)
	// control is the region without an effect, and kind which control it is.
	control, kind string
	// withholds tells that no mode claims to be right here: all say so.
	withholds bool
	// computes tells that it needs the processors, whose speed changes from one moment to the
	// next, and has no queues that take long to fill: many short windows tell more than a few.
	computes bool
	// takesTurns tells that goroutines which do different things take turns at the processors, for 20 ms
	// each: in a short window some of them have a turn more than others.
	takesTurns bool
	// short tells that it is part of a quick run.
	short bool
}

// workloads are those of the design, by its numbers.
func workloads() []workload {
	return []workload{
		{
			name: "join", about: "1: 10 ms and 6 ms side by side, and a join",
			regions: []string{"a", "b"}, run: join(10*ms, 6*ms), short: true,
		},
		{
			name: "mutex_io", about: "2: 8 goroutines, 10 ms each and 2 ms under a lock",
			regions: []string{"critical"}, run: mutexes(8, (*program).io, 10*ms, 2*ms, &causal.Mutex{}), short: true, control: "nothing", kind: "noop",
		},
		{
			name: "mutex_cpu", about: "2: 2 goroutines, 200 µs each and 100 µs under a lock, all computing",
			regions: []string{"critical"}, run: mutexes(2, (*program).cpu, 200*us, 100*us, &causal.Mutex{}), computes: true,
		},
		{
			name: "pipeline", about: "3: 10 ms, a channel of 2, 7 ms",
			regions: []string{"produce", "consume"}, run: pipeline(10*ms, 7*ms),
		},
		{
			name: "fanout", about: "4: 2 ms, then 10 ms and 7 ms side by side, then 2 ms",
			regions: []string{"b1", "b2"}, run: fanOut,
		},
		{
			name: "serial", about: "one goroutine, 200 µs and 300 µs, computing, and one aside",
			regions: []string{"c"}, run: serialAndAside, computes: true, short: true, control: "aside", kind: "aside",
		},
		{
			name: "randmutex", about: "7: 8 clients who wait and compute, and draw from a slow source under a lock",
			regions: []string{"draw"}, run: randMutex(&causal.Mutex{}),
		},
		{
			name: "fasta", about: "8: 2 workers; random numbers under a lock, looked up side by side, written in order",
			regions: []string{"random", "select"}, run: fasta(&causal.Mutex{}, &causal.Mutex{}, func(l sync.Locker) condition { return causal.NewCond(l) }), computes: true,
		},
		{
			name: "saturated", about: "5: 8 goroutines that compute on all processors",
			regions: []string{"c"}, run: saturated, withholds: true, short: true,
		},
		{
			name: "plain_mutex", about: "mutex_io with a lock of package sync, which nobody sees",
			regions: []string{"critical"}, run: mutexes(8, (*program).io, 10*ms, 2*ms, &sync.Mutex{}), withholds: true,
		},
	}
}

func join(a, b time.Duration) func(context.Context, *program) {
	return func(ctx context.Context, p *program) {
		for ctx.Err() == nil {
			var both causal.WaitGroup
			both.Go(func() { p.io(ctx, "a", a) })
			both.Go(func() { p.io(ctx, "b", b) })
			both.Wait()
			p.progress(ctx)
		}
	}
}

// mutexes is n goroutines that take turns at a lock.
func mutexes(n int, work func(*program, context.Context, string, time.Duration), private, critical time.Duration, lock sync.Locker) func(context.Context, *program) {
	return func(ctx context.Context, p *program) {
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				for ctx.Err() == nil {
					work(p, ctx, "private", private)
					_, span := p.tracer.Start(ctx, "nothing")
					span.End()
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

func pipeline(produce, consume time.Duration) func(context.Context, *program) {
	return func(ctx context.Context, p *program) {
		items := causal.NewChan[int](2) // soon empty again, when the producer is slow again
		var wg sync.WaitGroup
		wg.Go(func() {
			defer items.Close()
			for i := 0; ctx.Err() == nil; i++ {
				p.io(ctx, "produce", produce)
				items.Send(i)
			}
		})
		wg.Go(func() {
			for range items.All() {
				p.io(ctx, "consume", consume)
				p.progress(ctx)
			}
		})
		wg.Wait()
	}
}

func fanOut(ctx context.Context, p *program) {
	for ctx.Err() == nil {
		in, request := p.tracer.Start(ctx, "request")
		p.io(in, "before", 2*ms)
		var both causal.WaitGroup
		both.Go(func() { p.io(in, "b1", 10*ms) })
		both.Go(func() { p.io(in, "b2", 7*ms) })
		both.Wait()
		p.io(in, "after", 2*ms)
		request.End()
		p.progress(ctx)
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
	wg.Go(func() { // nobody waits for this one
		for ctx.Err() == nil {
			p.io(ctx, "aside", 3*ms)
		}
	})
	serial(ctx, p)
	wg.Wait()
}

func saturated(ctx context.Context, p *program) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { serial(ctx, p) })
	}
	wg.Wait()
}

func randMutex(source sync.Locker) func(context.Context, *program) {
	return func(ctx context.Context, p *program) {
		var wg sync.WaitGroup
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
}
