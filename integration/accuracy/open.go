package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/otelprof/otelprof/internal/clock"
)

// between is the mean time between two requests of openLoop.
const between = 3 * ms

// openLoop is requests that come at random times, whether those before are answered or not. They share a lock.
func openLoop(ctx context.Context, p *program) {
	var wg sync.WaitGroup
	lock := p.mutex()
	for times := p.arrivals(); ctx.Err() == nil; {
		time.Sleep(times.next())
		wg.Go(func() {
			began := clock.Now()
			in, request := p.tracer.Start(ctx, "request")
			p.io(in, "fetch", 3*ms)
			lock.Lock()
			p.io(in, "critical", 1500*us)
			lock.Unlock()
			request.End()
			p.latencies.add(time.Duration(clock.Now() - began))
			p.progress(ctx)
		})
	}
	wg.Wait()
}

// arrivals are the random times at which requests come.
type arrivals struct {
	p    *program
	seed uint64
	due  time.Time
	*rand.Rand
}

func (p *program) arrivals() *arrivals { return &arrivals{p: p, seed: ^uint64(0)} }

// next returns how long it is until the next request. After [program.rewind] the times begin anew, so that two
// windows have the same ones.
func (a *arrivals) next() time.Duration {
	if seed := a.p.seed.Load(); seed != a.seed {
		a.seed, a.due, a.Rand = seed, time.Now(), rand.New(rand.NewPCG(seed, 11))
	}
	a.due = a.due.Add(time.Duration(a.ExpFloat64() * float64(between)))
	return time.Until(a.due)
}

// rewind begins a sequence of random times.
func (p *program) rewind(sequence uint64) { p.seed.Store(sequence) }

// latencies are how long requests took since they were taken out the last time.
type latencies struct {
	mu  sync.Mutex
	all []time.Duration
}

func (l *latencies) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, d)
}

func (l *latencies) take() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}
