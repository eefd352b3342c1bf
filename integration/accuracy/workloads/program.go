package workloads

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

// Done is the progress point of all programs, and Scope the instrumentation scope of their regions.
const (
	Done  = "done"
	Scope = "accuracy"
)

// A Program is a workload that runs.
type Program struct {
	Types
	Shape
	tracer    trace.Tracer
	Left      map[string]*factor // by region
	Visits    visits
	Latencies latencies
	sequence  atomic.Pointer[sequence] // of random numbers
	stop      context.CancelFunc
	ended     sync.WaitGroup
	tp        *spans.TracerProvider

	mu  sync.Mutex
	err error
}

// Start lets a workload run under a hook.
func Start(w Workload, hook spans.Hook) *Program {
	tp := spans.WrapTracerProvider(nil, spans.WithHook(hook), spans.WithMarks())
	ctx, stop := context.WithCancel(context.Background())
	p := &Program{Types: w.Types, Shape: w.Shape, tracer: tp.Tracer(Scope), Left: map[string]*factor{}, stop: stop, tp: tp}
	for _, region := range w.Regions {
		p.Left[region] = &factor{}
		p.Left[region].Set(1)
	}
	p.ended.Go(func() { w.Run(ctx, p) })
	return p
}

// End stops the workload and waits for its goroutines.
func (p *Program) End() error {
	p.stop()
	p.ended.Wait()
	return errors.Join(p.err, p.tp.Shutdown(context.Background()))
}

// Fail notes what keeps the workload from working.
func (p *Program) Fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = errors.Join(p.err, err)
}

// A factor is which part of a region's time is left. The program reads it at each iteration.
type factor struct{ bits atomic.Uint64 }

func (f *factor) Set(v float64) { f.bits.Store(math.Float64bits(v)) }

// share returns what is left of n units of a region's work.
func (p *Program) share(region string, n float64) float64 {
	if f := p.Left[region]; f != nil {
		return n * math.Float64frombits(f.bits.Load())
	}
	return n
}

// late is how much longer than asked a sleep may be.
const late = 60 * us

// IO is a span that waits for something outside, for d unless it is made faster. It looks at the
// clock for the last bit: what a sleep takes longer than asked would not get shorter with d.
func (p *Program) IO(ctx context.Context, region string, d time.Duration) {
	p.ioAs(ctx, region, region, d)
}

// ioAs is io by a span that is started with another name.
func (p *Program) ioAs(ctx context.Context, first, region string, d time.Duration) {
	_, span := p.tracer.Start(ctx, first)
	p.outside(region, d)
	if first != region {
		span.SetName(region)
	}
	span.End()
}

// outside waits for d, unless region is made faster. It makes no span.
func (p *Program) outside(region string, d time.Duration) {
	began, took := clock.Now(), time.Duration(p.share(region, float64(d)))
	always := func() bool { return true }
	clock.Sleep(began, took-late, always)
	clock.Spin(began, took, always)
}

// CPU is a span that computes, for d of processor time unless it is made faster.
func (p *Program) CPU(ctx context.Context, region string, d time.Duration) {
	_, span := p.tracer.Start(ctx, region)
	burn(p.share(region, d.Seconds()))
	span.End()
}

// progress counts a unit of work.
func (p *Program) progress(ctx context.Context) {
	p.Visits.add()
	causal.Progress(ctx, Done)
}

// visits counts units of work, and when the last of them was done.
type visits struct {
	mu   sync.Mutex
	last Visit
}

type Visit struct {
	Count, at int64
}

func (v *visits) add() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last.Count++
	v.last.at = clock.Now()
}

func (v *visits) Latest() Visit {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last
}

// Period measures the time between visits in a window of about d, from one visit to another, in
// ns. It is NaN if there is no second one within a minute.
func (v *visits) Period(d time.Duration) float64 {
	first := v.Next(v.Latest())
	time.Sleep(d)
	last := v.Next(v.Latest())
	if last.Count == first.Count {
		return math.NaN()
	}
	return float64(last.at-first.at) / float64(last.Count-first.Count)
}

// Next waits for the next visit, for a minute at most.
func (v *visits) Next(last Visit) Visit {
	for range 60_000 {
		if now := v.Latest(); now.Count > last.Count {
			return now
		}
		time.Sleep(time.Millisecond)
	}
	return last
}
