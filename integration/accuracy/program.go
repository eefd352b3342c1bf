package main

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/spans"
)

// done is the progress point of all programs.
const done = "done"

// A program is a workload that runs.
type program struct {
	types
	shape
	tracer    trace.Tracer
	left      map[string]*factor // by region
	visits    visits
	latencies latencies
	sequence  atomic.Pointer[sequence] // of random numbers
	stop      context.CancelFunc
	ended     sync.WaitGroup
	tp        *spans.TracerProvider

	mu  sync.Mutex
	err error
}

// start lets a workload run under a hook.
func start(w workload, hook spans.Hook) *program {
	tp := spans.WrapTracerProvider(nil, spans.WithHook(hook), spans.WithMarks())
	ctx, stop := context.WithCancel(context.Background())
	p := &program{types: w.types, shape: w.shape, tracer: tp.Tracer("accuracy"), left: map[string]*factor{}, stop: stop, tp: tp}
	for _, region := range w.regions {
		p.left[region] = &factor{}
		p.left[region].set(1)
	}
	p.ended.Go(func() { w.run(ctx, p) })
	return p
}

// end stops the workload and waits for its goroutines.
func (p *program) end() error {
	p.stop()
	p.ended.Wait()
	return errors.Join(p.err, p.tp.Shutdown(context.Background()))
}

// fail notes what keeps the workload from working.
func (p *program) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = errors.Join(p.err, err)
}

// A factor is which part of a region's time is left. The program reads it at each iteration.
type factor struct{ bits atomic.Uint64 }

func (f *factor) set(v float64) { f.bits.Store(math.Float64bits(v)) }

// share returns what is left of n units of a region's work.
func (p *program) share(region string, n float64) float64 {
	if f := p.left[region]; f != nil {
		return n * math.Float64frombits(f.bits.Load())
	}
	return n
}

// late is how much longer than asked a sleep may be.
const late = 60 * us

// io is a span that waits for something outside, for d unless it is made faster. It looks at the
// clock for the last bit: what a sleep takes longer than asked would not get shorter with d.
func (p *program) io(ctx context.Context, region string, d time.Duration) {
	p.ioAs(ctx, region, region, d)
}

// ioAs is io by a span that is started with another name.
func (p *program) ioAs(ctx context.Context, first, region string, d time.Duration) {
	_, span := p.tracer.Start(ctx, first)
	p.outside(region, d)
	if first != region {
		span.SetName(region)
	}
	span.End()
}

// outside waits for something outside, within a region's span.
func (p *program) outside(region string, d time.Duration) {
	began, took := clock.Now(), time.Duration(p.share(region, float64(d)))
	always := func() bool { return true }
	clock.Sleep(began, took-late, always)
	clock.Spin(began, took, always)
}

// cpu is a span that computes, for d of processor time unless it is made faster.
func (p *program) cpu(ctx context.Context, region string, d time.Duration) {
	_, span := p.tracer.Start(ctx, region)
	burn(p.share(region, d.Seconds()))
	span.End()
}

// progress counts a unit of work.
func (p *program) progress(ctx context.Context) {
	p.visits.add()
	causal.Progress(ctx, done)
}

// visits counts units of work, and when the last of them was done.
type visits struct {
	mu   sync.Mutex
	last visit
}

type visit struct {
	count, at int64
}

func (v *visits) add() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last.count++
	v.last.at = clock.Now()
}

func (v *visits) latest() visit {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last
}

// period measures the time between visits in a window of about d, from one visit to another, in
// ns. It is NaN if there is no second one within a minute.
func (v *visits) period(d time.Duration) float64 {
	first := v.next(v.latest())
	time.Sleep(d)
	last := v.next(v.latest())
	if last.count == first.count {
		return math.NaN()
	}
	return float64(last.at-first.at) / float64(last.count-first.count)
}

// next waits for the next visit, for a minute at most.
func (v *visits) next(last visit) visit {
	for range 60_000 {
		if now := v.latest(); now.count > last.count {
			return now
		}
		time.Sleep(time.Millisecond)
	}
	return last
}
