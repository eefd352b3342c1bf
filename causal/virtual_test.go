package causal

import (
	"context"
	"math"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/spans"
)

// A system is a program in the clock of a bubble, where work is sleep and takes exactly as
// long as it should. start begins goroutines that run until ctx ends.
type system struct {
	name  string
	start func(ctx context.Context, w *workers)
	// truth is E(s) of each region, the numbers of the design.
	truth map[string]func(s float64) float64
}

// workers are the goroutines of a system.
type workers struct {
	tr   trace.Tracer
	done chan struct{} // gets one for each that has ended
	n    int
}

func (w *workers) goFor(ctx context.Context, f func()) {
	w.n++
	go func() {
		for ctx.Err() == nil {
			f()
		}
		w.done <- struct{}{}
	}()
}

// work is a span that takes d.
func (w *workers) work(ctx context.Context, name string, d time.Duration) {
	_, s := w.tr.Start(ctx, name)
	time.Sleep(d)
	s.End()
}

const ms = time.Millisecond

func truthOf(m model, r int) func(float64) float64 {
	return func(s float64) float64 { return m.truth(r, s) }
}

// The systems of the design whose answer is known, with spans, delays, schedule and all: the
// only thing that is not real is the clock.
func virtualSystems() []system {
	all := models()
	return []system{
		{
			name: "serial with uncovered time",
			start: func(ctx context.Context, w *workers) {
				w.goFor(ctx, func() {
					w.work(ctx, "c", 2*ms)
					w.work(ctx, "o", 5*ms)
					time.Sleep(3 * ms)
					Progress(ctx, "done")
				})
			},
			truth: map[string]func(float64) float64{"c": truthOf(all[0], 0), "o": truthOf(all[0], 1)},
		},
		{
			name: "nested",
			start: func(ctx context.Context, w *workers) {
				w.goFor(ctx, func() {
					ctx, root := w.tr.Start(ctx, "root")
					time.Sleep(4 * ms)
					w.work(ctx, "c", 6*ms)
					root.End()
					Progress(ctx, "done")
				})
			},
			truth: map[string]func(float64) float64{
				"root": func(s float64) float64 { return 0.4 * s }, // of its self time
				"c":    func(s float64) float64 { return 0.6 * s },
			},
		},
		{
			name: "mutex",
			start: func(ctx context.Context, w *workers) {
				lock := make(chan struct{}, 1) // a mutex would keep the bubble's clock from going on
				for range 8 {
					w.goFor(ctx, func() {
						w.work(ctx, "w", 10*ms)
						lock <- struct{}{}
						w.work(ctx, "c", 2*ms)
						<-lock
						Progress(ctx, "done")
					})
				}
			},
			truth: map[string]func(float64) float64{"c": truthOf(all[2], 0), "w": truthOf(all[2], 1)},
		},
		{
			name: "mutex that is waited for inside of a span",
			start: func(ctx context.Context, w *workers) {
				lock := make(chan struct{}, 1)
				for range 8 {
					w.goFor(ctx, func() {
						ctx, root := w.tr.Start(ctx, "w")
						time.Sleep(10 * ms)
						Blocked(ctx, func() { lock <- struct{}{} })
						w.work(ctx, "c", 2*ms)
						<-lock
						root.End()
						Progress(ctx, "done")
					})
				}
			},
			truth: map[string]func(float64) float64{"c": truthOf(all[2], 0), "w": truthOf(all[2], 1)},
		},
		{
			name: "pipeline",
			start: func(ctx context.Context, w *workers) {
				first, second := make(chan int, 1), make(chan int, 1)
				w.goFor(ctx, func() {
					w.work(ctx, "a", 10*ms)
					select {
					case first <- 0:
					case <-ctx.Done():
					}
				})
				w.goFor(ctx, func() {
					select {
					case <-first:
						w.work(ctx, "b", 7*ms)
						select {
						case second <- 0:
						case <-ctx.Done():
						}
					case <-ctx.Done():
					}
				})
				w.goFor(ctx, func() {
					select {
					case <-second:
						w.work(ctx, "consume", 1*ms)
						Progress(ctx, "done")
					case <-ctx.Done():
					}
				})
			},
			truth: map[string]func(float64) float64{
				"a":       truthOf(all[4], 0),
				"b":       truthOf(all[4], 1),
				"consume": truthOf(all[4], 2),
			},
		},
		{
			name: "fan-out",
			start: func(ctx context.Context, w *workers) {
				w.goFor(ctx, func() {
					w.work(ctx, "a", 2*ms)
					joined := make(chan struct{})
					for name, d := range map[string]time.Duration{"b1": 10 * ms, "b2": 7 * ms} {
						go func() {
							w.work(ctx, name, d)
							joined <- struct{}{}
						}()
					}
					<-joined
					<-joined
					w.work(ctx, "e", 2*ms)
					Progress(ctx, "done")
				})
			},
			truth: map[string]func(float64) float64{
				"a": truthOf(all[5], 0), "b1": truthOf(all[5], 1), "b2": truthOf(all[5], 2), "e": truthOf(all[5], 3),
			},
		},
	}
}

func TestSystemsWithKnownAnswers(t *testing.T) {
	for _, sys := range virtualSystems() {
		t.Run(sys.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) { testSystem(t, sys) })
		})
	}
}

func testSystem(t *testing.T, sys system) {
	c := newController(t)
	// No sessions: only time is of interest, and there are many spans.
	tp := newProvider(t, c, spans.WithSessionFilter(func(context.Context, string) bool { return false }))
	r := force(t, c, mustParse(t,
		"grid: {speedups: [0, 25, 50], zero_weight: 0.3}",
		"timing: {warmup: 100ms, experiment: 3s, cooloff: 200ms}",
		"progress: [{span: done, type: throughput}]",
		wideLimits, calm,
	))
	r.guard.rate = newBucket(1000, time.Now())

	ctx, cancel := context.WithCancel(context.Background())
	w := &workers{tr: tp.Tracer("t"), done: make(chan struct{})}
	sys.start(ctx, w)
	for c.Profile().Iterations < leastSamples {
		time.Sleep(time.Second)
		if s := c.Status(); s.State != StateRunning {
			t.Fatalf("Status() = %s, %q", s.State, s.Reason)
		}
	}
	cancel()
	for range w.n {
		<-w.done
	}

	p := c.Profile()
	if len(p.Curves) != len(sys.truth) || p.Rejected != 0 {
		t.Fatalf("%d curves, %d experiments rejected, want %d and 0; notes %q", len(p.Curves), p.Rejected, len(sys.truth), p.Notes)
	}
	for _, curve := range p.Curves {
		for _, e := range curve.Effects {
			want := sys.truth[curve.Region.Span](e.Speedup)
			t.Logf("%s faster by %2.0f%%: reduction %6.2f%%, true %6.2f%%", curve.Region, 100*e.Speedup, 100*e.Reduction, 100*want)
			// The gate of the design for simulations is 2 points.
			if e.Withheld != "" || !(math.Abs(e.Reduction-want) <= 0.02) {
				t.Errorf("%s faster by %g: reduction %.4f (%q), want %.4f", curve.Region, e.Speedup, e.Reduction, e.Withheld, want)
			}
		}
	}
}
