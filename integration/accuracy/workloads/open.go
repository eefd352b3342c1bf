package workloads

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// between is the mean time between two requests of openLoop.
const between = 2 * ms

// openLoop is requests that come at random times, whether those before are answered or not. They
// share a lock.
func openLoop(ctx context.Context, p *Program) {
	var wg sync.WaitGroup
	lock := p.mutex()
	for times := p.arrivals(); ctx.Err() == nil; {
		time.Sleep(times.next())
		wg.Go(func() {
			p.request(ctx, "request", func(in context.Context) {
				p.IO(in, "fetch", 3*ms)
				lock.Lock()
				p.IO(in, "critical", ms)
				lock.Unlock()
			})
			p.progress(ctx)
		})
	}
	wg.Wait()
}

// arrivals are the random times at which requests come.
type arrivals struct {
	*rand.Rand
	p    *Program
	seen sequence
	due  time.Time
}

func (p *Program) arrivals() *arrivals {
	a := &arrivals{p: p}
	a.begin(p.now())
	return a
}

func (a *arrivals) begin(s sequence) {
	a.seen, a.due, a.Rand = s, time.Now(), rand.New(rand.NewPCG(s.seed, 11))
}

// next returns how long it is until the next request. After [program.rewind] the times begin anew,
// so that two windows have the same ones.
func (a *arrivals) next() time.Duration {
	if now := a.p.now(); now != a.seen {
		a.begin(now)
	}
	a.due = a.due.Add(time.Duration(a.ExpFloat64() * float64(between)))
	return time.Until(a.due)
}

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

func (l *latencies) Take() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}
