package workloads

import (
	"context"
	"log"
	"sync"
	"sync/atomic"
	"time"
)

// stateful are programs in which what is done next depends on the state of others at that moment,
// or in which others go on before a span has ended.
func stateful() []Workload {
	return []Workload{
		{
			Name: "routed", About: "6 clients, 3 ms each, of the least loaded of three workers: 3, 3 and 6 ms", Class: Outside,
			Regions: []string{"fast", "slow", "think"}, Run: routed, Varies: true,
		},
		{
			Name: "replied", About: "5 clients, 4 ms each, of a worker that answers after 1.2 ms of its span, which takes 2 ms", Class: Outside,
			Regions: []string{"serve", "think"}, Run: replied, Varies: true,
		},
		{
			Name: "inline", About: "6 clients, 3 ms each, and 4 ms by one of two workers, or 7 ms themselves if none is free", Class: Outside,
			Regions: []string{"pooled", "inline"}, Run: inline, Varies: true,
		},
		{
			Name: "optimistic", About: "4 clients who compute for 5 ms what they write under a lock for 0.5 ms, or compute again if it was written meanwhile", Class: Contended,
			Regions: []string{"prepare", "write"}, Run: optimistic, Varies: true,
		},
		{
			Name: "logged", About: "6 clients, 5 ms each, who share a log.Logger whose writer takes 1 ms", Class: Contended,
			Regions: []string{"write", "work"}, Run: logged, Varies: true,
		},
		{
			Name: "tidied", About: "5 clients, 4 ms each and 0.5 ms under a lock, and 3 ms under it each fifth time, if it is free", Class: Contended,
			Regions: []string{"tidy", "use", "work"}, Run: tidied, Varies: true,
		},
	}
}

// routed is six clients, each of whom asks the worker that has the fewest requests.
func routed(ctx context.Context, p *Program) {
	type worker struct {
		asks channel[chan int]
		load atomic.Int64
	}
	workers := make([]*worker, 3)
	var all sync.WaitGroup
	for i := range workers {
		w := &worker{asks: newChannel[chan int](p.Types, 8)}
		workers[i] = w
		name, d := "fast", 3*ms
		if i == 2 {
			name, d = "slow", 6*ms
		}
		all.Go(func() {
			length := p.Lengths(10+i, 0.3)
			for answer, ok := w.asks.Receive(); ok; answer, ok = w.asks.Receive() {
				p.IO(ctx, name, length.Of(d))
				w.load.Add(-1)
				answer <- i
			}
		})
	}
	each(6, func(i int) {
		answer := make(chan int, 1)
		for length := p.Lengths(i, 0.3); ctx.Err() == nil; {
			p.IO(ctx, "think", length.Of(3*ms))
			least := workers[0]
			for _, w := range workers[1:] {
				if w.load.Load() < least.load.Load() {
					least = w
				}
			}
			least.load.Add(1)
			least.asks.Send(answer)
			<-answer
			p.progress(ctx)
		}
	})
	for _, w := range workers {
		w.asks.Close()
	}
	all.Wait()
}

// replied is five clients of a worker whose span goes on after its answer.
func replied(ctx context.Context, p *Program) {
	asks := newChannel[chan int](p.Types, 5)
	var all sync.WaitGroup
	all.Go(func() {
		length := p.Lengths(10, 0.3)
		for answer, ok := asks.Receive(); ok; answer, ok = asks.Receive() {
			_, serve := p.tracer.Start(ctx, "serve")
			d := length.Of(ms)
			p.outside("serve", d*6/5)
			answer <- 1
			p.outside("serve", d*4/5)
			serve.End()
		}
	})
	each(5, func(i int) {
		answer := make(chan int, 1)
		for length := p.Lengths(i, 0.3); ctx.Err() == nil; {
			request, span := p.tracer.Start(ctx, "request")
			p.IO(request, "think", length.Of(4*ms))
			asks.Send(answer)
			<-answer
			span.End()
			p.progress(ctx)
		}
	})
	asks.Close()
	all.Wait()
}

// inline is six clients that do themselves what no worker is free for.
func inline(ctx context.Context, p *Program) {
	type job struct {
		d    time.Duration
		done chan int
	}
	jobs := newChannel[job](p.Types, 1)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for j, ok := jobs.Receive(); ok; j, ok = jobs.Receive() {
				p.IO(ctx, "pooled", j.d)
				j.done <- 1
			}
		})
	}
	each(6, func(i int) {
		done := make(chan int, 1)
		for length := p.Lengths(i, 0.3); ctx.Err() == nil; {
			p.IO(ctx, "think", length.Of(3*ms))
			if jobs.TrySend(job{length.Of(4 * ms), done}) {
				<-done
			} else {
				p.IO(ctx, "inline", length.Of(7*ms))
			}
			p.progress(ctx)
		}
	})
	jobs.Close()
	all.Wait()
}

// optimistic is four clients that prepare a write, and prepare it again if another was first.
func optimistic(ctx context.Context, p *Program) {
	lock := p.mutex()
	var version atomic.Int64
	p.clients(ctx, 4, 0.5, func(length *lengths) {
		for written := false; !written && ctx.Err() == nil; {
			seen := version.Load()
			p.IO(ctx, "prepare", length.Of(5*ms))
			lock.Lock()
			if written = version.Load() == seen; written {
				p.IO(ctx, "write", length.Of(ms/2))
				version.Add(1)
			}
			lock.Unlock()
		}
	})
}

// A spanWriter takes a while to write.
type spanWriter func()

func (w spanWriter) Write(text []byte) (int, error) {
	w()
	return len(text), nil
}

// logged is six clients of one logger, which holds its lock while it writes.
func logged(ctx context.Context, p *Program) {
	length := p.Lengths(10, 0.3) // with the logger's lock held
	logger := log.New(spanWriter(func() { p.IO(ctx, "write", length.Of(ms)) }), "", 0)
	p.clients(ctx, 6, 0.3, func(length *lengths) {
		p.IO(ctx, "work", length.Of(5*ms))
		logger.Print("done")
	})
}

// tidied is five clients of something that they tidy up now and then, if no other has it.
func tidied(ctx context.Context, p *Program) {
	var lock sync.Mutex
	each(5, func(i int) {
		n := i
		for length := p.Lengths(i, 0.3); ctx.Err() == nil; n++ {
			p.IO(ctx, "work", length.Of(4*ms))
			lock.Lock()
			p.IO(ctx, "use", length.Of(ms/2))
			lock.Unlock()
			if n%5 == 0 && lock.TryLock() {
				p.IO(ctx, "tidy", length.Of(3*ms))
				lock.Unlock()
			}
			p.progress(ctx)
		}
	})
}
