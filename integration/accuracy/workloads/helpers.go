package workloads

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// helpers are programs in which goroutines without spans have a part.
func helpers() []Workload {
	return []Workload{
		{
			Name: "pooled", About: "6 clients, 3 ms each, and a query of 3 ms by one of two workers that have no spans", Class: Contended,
			Regions: []string{"query", "think"}, Run: pooled, Varies: true,
		},
		{
			Name: "started", About: "6 clients, 3 ms each, and a goroutine for each query: 1.5 ms under a lock", Class: Contended,
			Regions: []string{"query", "think"}, Run: startedQueries, Varies: true,
		},
		{
			Name: "loopback", About: "6 clients of an HTTP server in the process, a connection for each request: 4 ms, and 2 ms under a lock", Class: Contended,
			Regions: []string{"load", "shared"}, Run: loopback, Varies: true, Long: true,
		},
		{
			Name: "backend", About: "6 clients, 3 ms each, and a query by HTTP of a server in the process without spans: 1.5 ms under a lock", Class: Contended,
			Regions: []string{"query", "think"}, Run: backend, Varies: true, Long: true,
		},
		{
			Name: "parts", About: "4 clients, 3 ms each, and a query of four parts of 1 ms by three workers that have no spans", Class: Contended,
			Regions: []string{"query", "think"}, Run: queryParts, Varies: true,
		},
	}
}

// pooled has two workers answer the queries of 6 clients.
func pooled(ctx context.Context, p *Program) {
	type job struct {
		d      time.Duration
		answer channel[int]
	}
	jobs := newChannel[job](p.Types, 8)
	var workers sync.WaitGroup
	for i := range 2 {
		workers.Go(func() {
			for j, ok := jobs.Receive(); ok; j, ok = jobs.Receive() {
				p.outside("query", j.d)
				j.answer.Send(i)
			}
		})
	}
	p.clients(ctx, 6, 0.5, func(length *lengths) {
		p.IO(ctx, "think", length.Of(3*ms))
		_, query := p.tracer.Start(ctx, "query")
		j := job{length.Of(3 * ms), newChannel[int](p.Types, 1)}
		jobs.Send(j)
		j.answer.Receive()
		query.End()
	})
	jobs.Close()
	workers.Wait()
}

// queryParts has three workers do parts of the queries of 4 clients.
func queryParts(ctx context.Context, p *Program) {
	type part struct {
		d   time.Duration
		all waitGroup
	}
	parts := newChannel[part](p.Types, 64)
	var workers sync.WaitGroup
	for range 3 {
		workers.Go(func() {
			for x, ok := parts.Receive(); ok; x, ok = parts.Receive() {
				p.outside("query", x.d)
				x.all.Done()
			}
		})
	}
	p.clients(ctx, 4, 0.5, func(length *lengths) {
		p.IO(ctx, "think", length.Of(3*ms))
		_, query := p.tracer.Start(ctx, "query")
		all := p.waitGroup()
		for range 4 {
			all.Add(1)
			parts.Send(part{length.Of(ms), all})
		}
		all.Wait()
		query.End()
	})
	parts.Close()
	workers.Wait()
}

// startedQueries has each query be done by a goroutine of its own, one at a time.
func startedQueries(ctx context.Context, p *Program) {
	lock := p.mutex()
	p.clients(ctx, 6, 0.5, func(length *lengths) {
		p.IO(ctx, "think", length.Of(3*ms))
		_, query := p.tracer.Start(ctx, "query")
		d, all := length.Of(1500*us), p.waitGroup()
		all.Go(func() {
			lock.Lock()
			p.outside("query", d)
			lock.Unlock()
		})
		all.Wait()
		query.End()
	})
}

// loopback has clients open a connection to a server in the same process for each request, without
// spans.
func loopback(ctx context.Context, p *Program) {
	lock := p.mutex()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in, request := p.tracer.Start(r.Context(), "GET /")
		p.IO(in, "load", 4*ms)
		lock.Lock()
		p.IO(in, "shared", 2*ms)
		lock.Unlock()
		request.End()
		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()
	client := server.Client()
	client.Transport.(*http.Transport).DisableKeepAlives = true
	each(6, func(i int) {
		for length := p.Lengths(i, 0.5); ctx.Err() == nil; {
			if err := get(ctx, client, server.URL); err != nil {
				if ctx.Err() == nil {
					p.Fail(err)
				}
				return
			}
			p.progress(ctx)
			time.Sleep(length.Of(3 * ms))
		}
	})
}

// backend has clients query a server in the same process that has no spans, over connections that
// are kept.
func backend(ctx context.Context, p *Program) {
	lock := p.mutex()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		lock.Lock()
		p.outside("query", 1500*us)
		lock.Unlock()
		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()
	client := server.Client()
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = 6
	each(6, func(i int) {
		for length := p.Lengths(i, 0.5); ctx.Err() == nil; {
			p.IO(ctx, "think", length.Of(3*ms))
			_, query := p.tracer.Start(ctx, "query")
			err := get(ctx, client, server.URL)
			query.End()
			if err != nil {
				if ctx.Err() == nil {
					p.Fail(err)
				}
				return
			}
			p.progress(ctx)
		}
	})
}

// get sends a request and reads the answer.
func get(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return errors.Join(err, answer.Body.Close())
}
