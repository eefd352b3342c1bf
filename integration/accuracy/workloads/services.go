package workloads

import (
	"context"
	"sync"
	"time"
)

// services are programs as services are made of, which nothing in replay was made for either.
func services() []Workload {
	return []Workload{
		{
			Name: "crawl", About: "rounds of ten goroutines: 4 ms, three at a time by a channel, and 5 ms", Class: Outside,
			Regions: []string{"fetch", "parse"}, Run: crawl, Varies: true,
		},
		{
			Name: "sessions", About: "6 clients, a goroutine for each request: 4 ms, and 3 ms under one of four locks out of a map", Class: Contended,
			Regions: []string{"update", "parse"}, Run: sessions, Varies: true, Long: true,
		},
		{
			Name: "collected", About: "three workers, 9 ms for a job, a channel of 3, and 2 ms to merge what each found", Class: Contended,
			Regions: []string{"work", "merge"}, Run: collected, Varies: true,
		},
		{
			Name: "broadcast", About: "rounds of four: 5 ms, then a channel must be closed, after 6 ms, then 3 ms", Class: Outside,
			Regions: []string{"publish", "apply", "prepare"}, Run: broadcast, Varies: true,
		},
		{
			Name: "streams", About: "5 streams over a connection: 3 ms at the client, 4 ms at its handler, and 1.5 ms to write an answer", Class: Contended,
			Regions: []string{"write", "handle", "use"}, Run: streams, Varies: true,
		},
		{
			Name: "committed", About: "8 writers, 3 ms each, and a goroutine that takes 4 ms to commit what has come, up to four writes", Class: Contended,
			Regions: []string{"commit", "prepare"}, Run: committed, Varies: true,
		},
		{
			Name: "flushed", About: "8 writers, 3 ms each, and a goroutine that takes 2 ms and 0.7 ms for each write to flush what has come", Class: Contended,
			Regions: []string{"commit", "prepare"}, Run: flushed, Varies: true,
		},
		{
			Name: "coalesced", About: "6 clients, 5 ms each, whose requests a timer gathers for 3 ms, and 4 ms for all of them", Class: Contended,
			Regions: []string{"flush", "prepare"}, Run: coalesced, Varies: true,
		},
		{
			Name: "compacted", About: "6 clients, 5 ms each and 0.8 ms under a lock, which a goroutine has for 4 ms whenever it has slept for 10 ms", Class: Contended,
			Regions: []string{"prepare", "write", "compact"}, Run: compacted, Varies: true,
		},
		{
			Name: "database", About: "an HTTP server for 8 clients of another process, 3 ms, and a query of 4 ms on one of 3 connections of database/sql", Class: Contended,
			Regions: []string{"query", "render"}, Run: serveWeb,
		},
	}
}

// crawl does ten things in each turn, a goroutine for each, three of which at a time have a place.
func crawl(ctx context.Context, p *Program) {
	places := newChannel[int](p.Types, 3)
	for length := p.Lengths(0, 0.3); ctx.Err() == nil; {
		all := p.waitGroup()
		for i := range 10 {
			fetch, parse := length.Of(4*ms), length.Of(5*ms)
			all.Go(func() {
				places.Send(i)
				p.IO(ctx, "fetch", fetch)
				places.Receive()
				p.IO(ctx, "parse", parse)
			})
		}
		all.Wait()
		p.progress(ctx)
	}
}

// sessions has a goroutine for each request of 6 clients. A request looks its session up in a map
// under a lock, and locks that for 3 ms: there are four, and each second request is for the same
// one.
func sessions(ctx context.Context, p *Program) {
	var (
		lock = p.mutex()
		all  = map[int]sync.Locker{}
	)
	session := func(key int) sync.Locker {
		lock.Lock()
		defer lock.Unlock()
		if all[key] == nil {
			all[key] = p.mutex()
		}
		return all[key]
	}
	each(6, func(i int) {
		length, answered := p.Lengths(i, 0.4), newChannel[int](p.Types, 1)
		for ctx.Err() == nil {
			key, parse, update := max(0, length.IntN(6)-2), length.Of(4*ms), length.Of(3*ms)
			go func() {
				in, request := p.tracer.Start(ctx, "request")
				p.IO(in, "parse", parse)
				mine := session(key)
				mine.Lock()
				p.IO(in, "update", update)
				mine.Unlock()
				request.End()
				answered.Send(i)
			}()
			answered.Receive()
			p.progress(ctx)
		}
	})
}

// collected is three workers that take jobs from a channel and put what they find into another one,
// for one that merges it.
func collected(ctx context.Context, p *Program) {
	jobs, results := newChannel[int](p.Types, 3), newChannel[int](p.Types, 3)
	var feeder, collector sync.WaitGroup
	feeder.Go(func() {
		defer jobs.Close()
		for i := 0; ctx.Err() == nil; i++ {
			jobs.Send(i)
		}
	})
	collector.Go(func() {
		length := p.Lengths(3, 0.3)
		for _, ok := results.Receive(); ok; _, ok = results.Receive() {
			p.IO(ctx, "merge", length.Of(2*ms))
			p.progress(ctx)
		}
	})
	each(3, func(i int) {
		length := p.Lengths(i, 0.5)
		for job, ok := jobs.Receive(); ok; job, ok = jobs.Receive() {
			p.IO(ctx, "work", length.Of(9*ms))
			results.Send(job)
		}
	})
	results.Close()
	feeder.Wait()
	collector.Wait()
}

// broadcast is rounds of four goroutines that prepare, and wait until what all of them need is
// published: a channel is closed then.
func broadcast(ctx context.Context, p *Program) {
	for length := p.Lengths(0, 0.4); ctx.Err() == nil; {
		published, all := newChannel[int](p.Types, 0), p.waitGroup()
		for range 4 {
			prepare, apply := length.Of(5*ms), length.Of(3*ms)
			all.Go(func() {
				p.IO(ctx, "prepare", prepare)
				published.Receive()
				p.IO(ctx, "apply", apply)
			})
		}
		p.IO(ctx, "publish", length.Of(6*ms))
		published.Close()
		all.Wait()
		p.progress(ctx)
	}
}

// streams is 5 streams over one connection: a goroutine reads the frames and hands each to its
// stream's, and another one writes the answers.
func streams(ctx context.Context, p *Program) {
	const n = 5
	type frame struct{ stream int }
	requests, answers := newChannel[frame](p.Types, 4), newChannel[frame](p.Types, 4)
	var server, handlers sync.WaitGroup
	var inboxes, replies [n]channel[frame]
	for i := range n {
		inboxes[i], replies[i] = newChannel[frame](p.Types, 1), newChannel[frame](p.Types, 1)
		handlers.Go(func() {
			length := p.Lengths(n+i, 0.4)
			for f, ok := inboxes[i].Receive(); ok; f, ok = inboxes[i].Receive() {
				p.IO(ctx, "handle", length.Of(4*ms))
				answers.Send(f)
			}
		})
	}
	server.Go(func() {
		for f, ok := requests.Receive(); ok; f, ok = requests.Receive() {
			inboxes[f.stream].Send(f)
		}
		for _, inbox := range inboxes {
			inbox.Close()
		}
		handlers.Wait()
		answers.Close()
	})
	server.Go(func() {
		length := p.Lengths(2*n, 0.3)
		for f, ok := answers.Receive(); ok; f, ok = answers.Receive() {
			p.IO(ctx, "write", length.Of(1500*us))
			replies[f.stream].Send(f)
		}
	})
	each(n, func(i int) {
		for length := p.Lengths(i, 0.4); ctx.Err() == nil; {
			p.IO(ctx, "use", length.Of(3*ms))
			requests.Send(frame{i})
			replies[i].Receive()
			p.progress(ctx)
		}
	})
	requests.Close()
	server.Wait()
}

// committed has as many writes committed at a time as have come, up to four.
func committed(ctx context.Context, p *Program) {
	commits(ctx, p, 4, func(int) time.Duration { return 4 * ms })
}

// flushed has all writes that have come flushed at a time, which takes the longer the more they
// are.
func flushed(ctx context.Context, p *Program) {
	commits(ctx, p, 8, func(n int) time.Duration { return 2*ms + time.Duration(n)*ms*7/10 })
}

// commits has one goroutine commit the writes of 8 others, as many as have come.
func commits(ctx context.Context, p *Program, most int, take func(n int) time.Duration) {
	writes := newChannel[channel[int]](p.Types, 16)
	var committer sync.WaitGroup
	committer.Go(func() {
		for first, ok := writes.Receive(); ok; first, ok = writes.Receive() {
			batch := []channel[int]{first}
			for len(batch) < most {
				next, ok := writes.TryReceive()
				if !ok {
					break
				}
				batch = append(batch, next)
			}
			p.IO(ctx, "commit", take(len(batch)))
			for i, answer := range batch {
				answer.Send(i)
			}
		}
	})
	p.clients(ctx, 8, 0.5, func(length *lengths) {
		in, write := p.tracer.Start(ctx, "write")
		p.IO(in, "prepare", length.Of(3*ms))
		answer := newChannel[int](p.Types, 1)
		writes.Send(answer)
		answer.Receive()
		write.End()
	})
	writes.Close()
	committer.Wait()
}
