// Randmutex is a service in which requests have nothing to do with each other, it seems. But each
// draws a random number, and all draw from one source, which has a lock:
//
//	go run ./randmutex
//
// The CPU profile shows next to nothing there, for a goroutine that waits needs no processor. The
// causal profile shows that hardly anything else matters. Then the optimised variant, in which the
// source reads half as many bytes for each number, shows that this is so.
package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/examples/internal/beside"
)

func main() { beside.Main(program) }

var program = beside.Program{
	Name:     "randmutex",
	About:    "8 clients; a request fetches a record, renders a page and draws a random number for it",
	Unit:     "request",
	Region:   "rand.Int63n",
	Function: "(*source).Int63n",
	Change:   "the source reads 8 bytes of entropy for a number instead of 16",
	Run:      serve,
}

const clients = 8

// serve answers requests until ctx is over.
func serve(ctx context.Context, tracer trace.Tracer, optimized bool) {
	s := &source{tracer: tracer, entropy: 16}
	if optimized {
		s.entropy = 8
	}
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for ctx.Err() == nil {
				handle(ctx, tracer, s)
			}
		})
	}
	wg.Wait()
}

// handle answers one request.
func handle(ctx context.Context, tracer trace.Tracer, s *source) {
	ctx, span := tracer.Start(ctx, "request")
	defer span.End()
	fetch(ctx, tracer)
	page := render(ctx, tracer)
	page[s.Int63n(ctx, int64(len(page)))]++
}

// fetch waits for a record from a database.
func fetch(ctx context.Context, tracer trace.Tracer) {
	_, span := tracer.Start(ctx, "fetch")
	defer span.End()
	time.Sleep(8 * time.Millisecond)
}

// render computes for half a millisecond or so.
func render(ctx context.Context, tracer trace.Tracer) []byte {
	_, span := tracer.Start(ctx, "render")
	defer span.End()
	page := make([]byte, 4096)
	for i := range 120_000 {
		page[i%len(page)] += byte(i ^ i>>7)
	}
	return page
}

// A source gives random numbers to all workers, one at a time.
type source struct {
	tracer  trace.Tracer
	entropy int // bytes that it reads for each number

	mu lock
}

// Int63n returns a random number in [0, n). It looks innocent.
func (s *source) Int63n(ctx context.Context, n int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The span is open while the lock is held. To wait for the lock is no work of its own.
	_, span := s.tracer.Start(ctx, "rand.Int63n")
	defer span.End()
	readEntropy(s.entropy)
	return rand.Int64N(n)
}

// readEntropy waits for a device that gives four bytes in a millisecond.
func readEntropy(bytes int) { time.Sleep(time.Duration(bytes) * time.Millisecond / 4) }
