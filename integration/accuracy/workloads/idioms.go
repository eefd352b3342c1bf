package workloads

import (
	"context"
	"runtime"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// idioms are programs of common Go: a send that a context ends, a lock of readers and writers, a
// writer in order, a token bucket, an answer that is fetched later, spans that end elsewhere,
// garbage.
func idioms() []Workload {
	return []Workload{
		{
			Name: "cancelled", About: "3 producers, 5.5 ms each, who send to a channel of 1 unless a context ends, 1.7 ms", Class: Outside,
			Regions: []string{"produce", "consume"}, Run: cancelled, Varies: true,
		},
		{
			Name: "guarded", About: "3 writers, 2 ms each and 0.4 ms under a lock, which 3 readers have for 1 ms, 2 ms apart", Class: Contended,
			Regions: []string{"edit", "write", "view"}, Run: guarded, Varies: true,
		},
		{
			Name: "sequenced", About: "4 goroutines at a time, one for each piece, 4 ms side by side and 0.7 ms in order", Class: Contended,
			Regions: []string{"prepare", "write"}, Run: sequenced, Varies: true,
		},
		{
			Name: "metered", About: "3 clients, 4.5 ms and 1 ms each, for a token that comes each 2 ms, of which 3 are kept", Class: Outside,
			Regions: []string{"work", "rest"}, Run: metered, Varies: true,
		},
		{
			Name: "deferred", About: "3 clients who ask a worker for 1.9 ms, do 5 ms of their own, and fetch the answer", Class: Outside,
			Regions: []string{"serve", "own"}, Run: deferred, Varies: true,
		},
		{
			Name: "dispatched", About: "10 clients, 10 ms each, and a query of 10 ms whose span ends on the goroutine that reads the answers of all", Class: Outside,
			Regions: []string{"query", "think"}, Run: dispatched, Varies: true,
		},
		{
			Name: "looped", About: "an event loop for 8 clients, who think for 6 ms, with a call of 6 ms", Class: Outside,
			Regions: []string{"call"}, Run: looped, Varies: true,
		},
		{
			Name: "allocating", About: "4 clients, 2 ms and 0.2 ms of computing each, and 100 KB of garbage, beside 40 MB that live", Class: Computing,
			Regions: []string{"store", "encode"}, Run: allocating, Varies: true, Long: true,
		},
	}
}

// allocating is clients who leave garbage, in a program for which collecting that takes time.
func allocating(ctx context.Context, p *Program) {
	type node [16]*int
	alive := make([]*node, 300_000)
	for i := range alive {
		alive[i] = new(node)
	}
	var garbage [4][]*node // of each client, so that it is on the heap
	each(4, func(i int) {
		for length := p.Lengths(i, 0.3); ctx.Err() == nil; p.progress(ctx) {
			p.IO(ctx, "store", length.Of(2*ms))
			p.CPU(ctx, "encode", length.Of(200*us))
			garbage[i] = make([]*node, 800)
			for k := range garbage[i] {
				garbage[i][k] = new(node)
			}
		}
	})
	runtime.KeepAlive(alive)
	runtime.KeepAlive(garbage)
}

// dispatched is clients of one connection, whose spans end on the goroutine that reads it.
func dispatched(ctx context.Context, p *Program) {
	type call struct {
		span trace.Span
		done chan struct{}
	}
	answers := make(chan call, 10)
	var reader sync.WaitGroup
	reader.Go(func() {
		for c := range answers {
			c.span.End()
			c.done <- struct{}{}
		}
	})
	each(10, func(i int) {
		done := make(chan struct{}, 1)
		for length := p.Lengths(i, 0.3); ctx.Err() == nil; p.progress(ctx) {
			p.IO(ctx, "think", length.Of(10*ms))
			_, span := p.tracer.Start(ctx, "query")
			time.AfterFunc(time.Duration(p.share("query", float64(length.Of(10*ms)))), func() { answers <- call{span, done} })
			<-done
		}
	})
	close(answers)
	reader.Wait()
}

// looped is one goroutine that begins and ends the calls of all clients, several at a time.
func looped(ctx context.Context, p *Program) {
	const clients = 8
	type event struct {
		client int
		answer bool
	}
	events := make(chan event, clients) // each client has one on its way
	var open [clients]trace.Span
	var times [clients]*lengths
	for i := range clients {
		times[i] = p.Lengths(i, 0.3)
		events <- event{client: i}
	}
	for {
		var e event
		select {
		case <-ctx.Done():
			return
		case e = <-events:
		}
		next := event{e.client, !e.answer}
		d := times[e.client].Of(6 * ms)
		if e.answer {
			open[e.client].End()
			p.progress(ctx)
		} else {
			_, open[e.client] = p.tracer.Start(ctx, "call")
			d = time.Duration(p.share("call", float64(d)))
		}
		time.AfterFunc(d, func() { events <- next })
	}
}

// cancelled is three producers whose sends give up when a context ends.
func cancelled(ctx context.Context, p *Program) {
	pieces := make(chan int, 1)
	var all sync.WaitGroup
	all.Go(func() {
		length := p.Lengths(10, 0.3)
		for range pieces {
			p.IO(ctx, "consume", length.Of(ms*17/10))
			p.progress(ctx)
		}
	})
	each(3, func(i int) {
		for length := p.Lengths(i, 0.3); ctx.Err() == nil; {
			p.IO(ctx, "produce", length.Of(ms*11/2))
			select {
			case pieces <- i:
			case <-ctx.Done():
			}
		}
	})
	close(pieces)
	all.Wait()
}

// guarded is writers and readers of one lock.
func guarded(ctx context.Context, p *Program) {
	lock := p.rwMutex()
	each(6, func(i int) {
		for length := p.Lengths(i, 0.3); ctx.Err() == nil; p.progress(ctx) {
			if i < 3 {
				p.IO(ctx, "edit", length.Of(2*ms))
				lock.Lock()
				p.IO(ctx, "write", length.Of(ms*2/5))
				lock.Unlock()
				continue
			}
			p.IO(ctx, "think", length.Of(2*ms))
			lock.RLock()
			p.IO(ctx, "view", length.Of(ms))
			lock.RUnlock()
		}
	})
}

// sequenced writes in order what goroutines have prepared side by side.
func sequenced(ctx context.Context, p *Program) {
	lock := p.mutex()
	turn := p.cond(lock)
	next := 0
	places := newChannel[int](p.Types, 4)
	var all sync.WaitGroup
	length, written := p.Lengths(0, 0.3), p.Lengths(1, 0.3) // with the lock
	for n := 0; ctx.Err() == nil; n++ {
		places.Send(n)
		d := length.Of(4 * ms)
		all.Go(func() {
			p.IO(ctx, "prepare", d)
			lock.Lock()
			for next != n {
				turn.Wait()
			}
			p.IO(ctx, "write", written.Of(ms*7/10))
			next++
			turn.Broadcast()
			lock.Unlock()
			p.progress(ctx)
			places.Receive()
		})
	}
	all.Wait()
}

// metered is clients of a token bucket.
func metered(ctx context.Context, p *Program) {
	tokens := newChannel[int](p.Types, 3)
	var all sync.WaitGroup
	over := make(chan struct{})
	all.Go(func() {
		ticker := time.NewTicker(2 * ms)
		defer ticker.Stop()
		for n := 0; ; n++ {
			select {
			case <-ticker.C:
				tokens.TrySend(n)
			case <-over:
				return
			}
		}
	})
	p.clients(ctx, 3, 0.3, func(length *lengths) {
		p.IO(ctx, "work", length.Of(ms*9/2))
		tokens.Receive()
		p.IO(ctx, "rest", length.Of(ms))
	})
	close(over)
	all.Wait()
}

// deferred is clients who fetch an answer when they have done something else, which the worker
// waits for.
func deferred(ctx context.Context, p *Program) {
	asks := newChannel[chan int](p.Types, 3)
	var all sync.WaitGroup
	all.Go(func() {
		length := p.Lengths(10, 0.3)
		for answer, ok := asks.Receive(); ok; answer, ok = asks.Receive() {
			p.IO(ctx, "serve", length.Of(ms*19/10))
			answer <- 1
		}
	})
	p.clients(ctx, 3, 0.3, func(length *lengths) {
		answer := make(chan int)
		asks.Send(answer)
		p.IO(ctx, "own", length.Of(5*ms))
		<-answer
	})
	asks.Close()
	all.Wait()
}
