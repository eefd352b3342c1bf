package causal

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/engine/admission"
	"github.com/otelprof/otelprof/causal/internal/engine/virtualtime"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/testutil/thorough"
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

// A bubbleLock is a Mutex for synctest bubbles: a goroutine that waits for one of package sync
// keeps the bubble's clock from going on.
type bubbleLock struct {
	place chan struct{}
	left  virtualtime.Relay
}

func newBubbleLock() *bubbleLock { return &bubbleLock{place: make(chan struct{}, 1)} }

func (b *bubbleLock) Lock() {
	o, l := virtualtime.Here()
	if l == nil {
		b.place <- struct{}{}
		return
	}
	at := clock.Now()
	select {
	case b.place <- struct{}{}:
	default:
		l.Arrive(o.Setting, at)
		b.place <- struct{}{}
	}
	l.Acquire(o.Setting, at, clock.Now(), b.left.Read())
}

func (b *bubbleLock) Unlock() {
	o, l := virtualtime.Here()
	if l == nil {
		<-b.place
		return
	}
	o.PayNow(l)
	b.left.Leave(o, l)
	<-b.place
}

const ms = time.Millisecond

func truthOf(m model, r int) func(float64) float64 {
	return func(s float64) float64 { return m.truth(r, s) }
}

// The systems of the design whose answer is known, with spans, delays, schedule and all: the
// only thing that is not real is the clock.
func knownSystems() []system {
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
				"root": func(s float64) float64 { return s }, // with all that is in it
				"c":    func(s float64) float64 { return 0.6 * s },
			},
		},
		{
			name: "mutex",
			start: func(ctx context.Context, w *workers) {
				lock := newBubbleLock()
				for range 8 {
					w.goFor(ctx, func() {
						w.work(ctx, "w", 10*ms)
						lock.Lock()
						w.work(ctx, "c", 2*ms)
						lock.Unlock()
						Progress(ctx, "done")
					})
				}
			},
			truth: map[string]func(float64) float64{"c": truthOf(all[2], 0), "w": truthOf(all[2], 1)},
		},
		{
			name: "mutex that is waited for inside of a span",
			start: func(ctx context.Context, w *workers) {
				lock := newBubbleLock()
				for range 8 {
					w.goFor(ctx, func() {
						ctx, root := w.tr.Start(ctx, "w")
						time.Sleep(10 * ms)
						r := spans.SpanFromContext(ctx)
						r.BeginWait()
						lock.Lock()
						r.EndWait()
						w.work(ctx, "c", 2*ms)
						lock.Unlock()
						root.End()
						Progress(ctx, "done")
					})
				}
			},
			truth: map[string]func(float64) float64{
				"c": truthOf(all[2], 0),
				"w": func(s float64) float64 { return s }, // with the c in it
			},
		},
		{
			name: "pipeline",
			start: func(ctx context.Context, w *workers) {
				first, second := NewChan[int](1), NewChan[int](1)
				w.goFor(ctx, func() {
					w.work(ctx, "a", 10*ms)
					_ = first.SendContext(ctx, 0)
				})
				w.goFor(ctx, func() {
					if _, _, err := first.ReceiveContext(ctx); err == nil {
						w.work(ctx, "b", 7*ms)
						_ = second.SendContext(ctx, 0)
					}
				})
				w.goFor(ctx, func() {
					if _, _, err := second.ReceiveContext(ctx); err == nil {
						w.work(ctx, "consume", 1*ms)
						Progress(ctx, "done")
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
					var joined WaitGroup
					for name, d := range map[string]time.Duration{"b1": 10 * ms, "b2": 7 * ms} {
						joined.Go(func() { w.work(ctx, name, d) })
					}
					joined.Wait()
					w.work(ctx, "e", 2*ms)
					Progress(ctx, "done")
				})
			},
			truth: map[string]func(float64) float64{
				"a": truthOf(all[5], 0), "b1": truthOf(all[5], 1), "b2": truthOf(all[5], 2), "e": truthOf(all[5], 3),
			},
		},
		{
			name: "fan-out whose join only the spans tell",
			start: func(ctx context.Context, w *workers) {
				w.goFor(ctx, func() {
					ctx, root := w.tr.Start(ctx, "request")
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
					root.End()
					Progress(ctx, "done")
				})
			},
			truth: map[string]func(float64) float64{
				"request": func(s float64) float64 { return s },
				"a":       truthOf(all[5], 0), "b1": truthOf(all[5], 1), "b2": truthOf(all[5], 2), "e": truthOf(all[5], 3),
			},
		},
	}
}

// unloaded is for bubbles, where all that happens at one moment is runnable at once.
var unloaded = optionFunc(func(c config) config {
	c.watch = func(context.Context, *engine.Load) {}
	c.Waits, c.Work = nil, nil // a bubble's clock stands while it is traced
	return c
})

// gate is the largest error of the design for simulations.
const gate = 0.02

func TestSystemsWithKnownAnswers(t *testing.T) {
	for _, sys := range knownSystems() {
		for _, mode := range []profile.Mode{profile.ModeDilation, profile.ModeOverlap, profile.ModeSlowdown} {
			t.Run(sys.name+"/"+string(mode), func(t *testing.T) {
				inBubble(t, func(t *testing.T) { testSystem(t, sys, mode) })
			})
		}
	}
}

func testSystem(t *testing.T, sys system, mode profile.Mode) {
	c := newController(t, unloaded)
	// No sessions: only time is of interest, and there are many spans.
	tp := newProvider(t, c, spans.WithSessionFilter(func(context.Context, string) bool { return false }))
	r := force(t, c, mustParse(t,
		"mode: "+string(mode),
		"grid: {speedups: [0, 10, 25, 50], zero_weight: 0.3}",
		fmt.Sprintf("timing: {warmup: 100ms, experiment: %dms, cooloff: 200ms}", thorough.Of(3000, 300)),
		"progress: [{span: done, type: throughput}]",
		wideLimits, calm,
	))
	r.Guard.Duty = admission.NewDuty(1000, time.Second, time.Now())
	r.Sleep = sleepily

	ctx, cancel := context.WithCancel(context.Background())
	w := &workers{tr: tp.Tracer("t"), done: make(chan struct{})}
	sys.start(ctx, w)
	if mode == profile.ModeSlowdown { // which is about a region's own time, without the spans and waits in it
		for _, outer := range []string{"request", "root", "w"} {
			delete(sys.truth, outer)
		}
	}
	curves := map[profile.Region]profile.Curve{}
	for rounds := 0; len(curves) < len(sys.truth); rounds++ {
		time.Sleep(time.Duration(thorough.Of(60, 6)) * time.Second)
		if s := c.Status(); s.State != StateRunning || rounds == 20 {
			var table strings.Builder
			_ = c.Profile().WriteTable(&table)
			t.Errorf("after %d rounds Status() = %s, %q:\n%s", rounds, s.State, s.Reason, table.String())
			break
		}
		for _, curve := range c.Profile().Curves {
			if curve.Metric == profile.MetricThroughput && curve.Progress == "done" && sys.truth[curve.Region.Name] != nil && complete(curve) {
				curves[curve.Region] = curve
			}
		}
	}
	cancel()
	for range w.n {
		<-w.done
	}
	for _, curve := range curves {
		for _, e := range curve.Effects {
			if !e.Known() {
				continue
			}
			want := sys.truth[curve.Region.Name](e.Speedup)
			t.Logf("%s faster by %2.0f%%: reduction %6.2f%%, true %6.2f%%", curve.Region, 100*e.Speedup, 100*e.Reduction, 100*want)
			if e.Bounded {
				if want < e.Lo || want > e.Hi {
					t.Errorf("%s faster by %g: reduction in [%.4f, %.4f], want %.4f", curve.Region, e.Speedup, e.Lo, e.Hi, want)
				}
				continue
			}
			if !(math.Abs(e.Reduction-want) <= gate) {
				t.Errorf("%s faster by %g: reduction %.4f, want %.4f", curve.Region, e.Speedup, e.Reduction, want)
			}
		}
	}
}

// complete reports whether a curve has a number for 25 and 50 %.
func complete(c profile.Curve) bool {
	n := 0
	for _, e := range c.Effects {
		if e.Known() && (e.Speedup == 0.25 || e.Speedup == 0.5) {
			n++
		}
	}
	return n == 2
}
