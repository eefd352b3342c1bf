package causal

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/engine/breaker"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/plan"
)

// hurtful is a wait that panics.
func hurtful(int64, time.Duration, func() bool) time.Duration { panic("oh no") }

// elsewhere calls f on another goroutine.
func elsewhere(f func()) {
	var wg sync.WaitGroup
	wg.Go(f)
	wg.Wait()
}

func locked(mu *Mutex, f func()) {
	mu.Lock()
	defer mu.Unlock()
	f()
}

// exercise uses spans, locks and the like in all the ways that programs do.
func exercise(t *testing.T, tr trace.Tracer) {
	t.Helper()
	ctx, root := tr.Start(context.Background(), "root")
	var (
		mu      Mutex
		rw      RWMutex
		once    Once
		group   WaitGroup
		sum     int
		waited  = NewCond(&mu)
		channel = NewChan[int](1)
	)
	for range 2 {
		group.Go(func() {
			_, s := tr.Start(ctx, "region")
			mu.Lock()
			sum++
			mu.Unlock()
			s.End()
		})
	}
	group.Wait()
	rw.RLock()
	Blocked(ctx, func() { sum++ })
	rw.RUnlock()
	rw.Lock()
	once.Do(func() { sum++ })
	rw.Unlock()
	channel.Send(1)
	got, _ := channel.Receive()
	mu.Lock()
	sum += got
	waited.Signal()
	mu.Unlock()
	Progress(ctx, "root")
	root.End()
	if sum != 5 {
		t.Errorf("the program comes to %d, want 5", sum)
	}
}

// After a panic anywhere in otelprof's code the application goes on, nothing is delayed any more,
// and the plan stays off.
func TestPanicsHarmNobody(t *testing.T) {
	overlapping := []string{"mode: overlap", `regions: [{span: region}]`}
	dilating := []string{"mode: dilation"}
	for name, tt := range map[string]struct {
		plan []string
		hurt func(b *bench)
	}{
		"a delay at the end of a span": {dilating, func(b *bench) {
			b.run.Spin = hurtful
			dilate(b.run, 1, experiment.SparesNone)
			b.span(context.Background(), "a", ms)
		}},
		"a delay in overlap": {overlapping, func(b *bench) {
			b.run.Sleep, b.run.Spin = hurtful, hurtful
			indebt(b.T, b, 10*ms)
			elsewhere(func() { b.span(context.Background(), "other", ms) })
		}},
		"a delay where a lock is given back": {overlapping, func(b *bench) {
			b.run.Sleep, b.run.Spin = hurtful, hurtful
			indebt(b.T, b, 10*ms)
			elsewhere(func() {
				_, s := b.tr.Start(context.Background(), "other")
				var mu Mutex
				locked(&mu, func() {})
				if !mu.TryLock() {
					b.Error("the lock was not given back")
				}
				s.End()
			})
		}},
		"a delay at a visit": {overlapping, func(b *bench) {
			b.run.Sleep, b.run.Spin = hurtful, hurtful
			indebt(b.T, b, 10*ms)
			elsewhere(func() {
				ctx, s := b.tr.Start(context.Background(), "other")
				Progress(ctx, "x")
				s.End()
			})
		}},
		"the setting at the start of a span": {overlapping, func(b *bench) {
			indebt(b.T, b, 0)
			b.run.InForce().(*engine.Overlap).Observation.Setting = nil
			exercise(b.T, b.tr)
		}},
		"the setting at the end of a span": {overlapping, func(b *bench) {
			indebt(b.T, b, 0)
			ctx, s := b.tr.Start(context.Background(), "other")
			b.run.InForce().(*engine.Overlap).Observation.Setting = nil
			Blocked(ctx, func() {})
			Progress(ctx, "root")
			s.End()
		}},
		"the breaker at the end of a root": {dilating, func(b *bench) {
			b.run.Breaker = new(breaker.Breaker)
			b.span(context.Background(), "root", ms)
		}},
		"a progress point of Progress": {dilating, func(b *bench) {
			b.run.Progress = nil
			Progress(context.Background(), "root")
		}},
		"what the plan says of a region": {dilating, func(b *bench) {
			b.run.Verdicts.Store(nil)
			b.span(context.Background(), "a", ms)
		}},
		"the bookkeeping of traces": {dilating, func(b *bench) {
			b.run.Guard.Duty = nil
			dilate(b.run, 1, experiment.SparesNone)
			b.span(context.Background(), "a", ms)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				log := &recorder{}
				b := newBench(t, wide, []Option{unloaded, WithLogger(slog.New(log))}, append(tt.plan, calm)...)
				synctest.Wait() // the run's goroutine is at rest while tt.hurt writes what it reads
				tt.hurt(b)
				synctest.Wait()
				s := b.c.Status()
				if s.State != StateAborted || !strings.HasPrefix(s.Reason, "panic: ") {
					t.Fatalf("Status() = %s, %q, want aborted by a panic", s.State, s.Reason)
				}
				kinds := kindsOf(s.Audit)
				if want := []AuditKind{AuditReceived, AuditStarted, AuditPanicked, AuditKind(StateAborted)}; !slices.Equal(kinds, want) {
					t.Errorf("the audit has %v, want %v", kinds, want)
				}
				if err := b.c.Apply(mustParse(t)); !errors.Is(err, ErrEnded) {
					t.Errorf("Apply of the same id = %v, want %v", err, ErrEnded)
				}
				began := time.Now()
				exercise(t, b.tr)
				b.want("what the program does then", time.Since(began), 0)
			})
		})
	}
}

// A panic of what watches the processors ends the plan, and nothing else.
func TestPanicOfTheWatch(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newController(t, unloaded, optionFunc(func(c config) config {
			c.watch = func(context.Context, *engine.Load) { panic("oh no") }
			return c
		}))
		if err := c.Apply(mustParse(t, "mode: overlap", idle, calm)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		state(t, c, StateAborted, "panic: oh no")
		if err := c.Apply(mustParse(t, "mode: overlap", idle, calm)); !errors.Is(err, ErrEnded) {
			t.Errorf("Apply of the same id = %v, want %v", err, ErrEnded)
		}
	})
}

// The plan of the breaker that opened is latched, also if another one comes before its goroutine
// has recorded that.
func TestAbortedPlanIsLatchedAtOnce(t *testing.T) {
	c := newController(t)
	r := force(t, c, mustParse(t, idle, "id: a"))
	c.mu.Lock() // the goroutine that would record it waits
	r.EndFor(engine.OpenedError("too slow"))
	c.stop(errReplaced)
	_, latched := c.latched["a"]
	c.mu.Unlock()
	if !latched {
		t.Error("plan a is not latched")
	}
}

// An ID is not used again, also if the breaker opens while the next plan is being looked at.
func TestPlanIsAbortedWhileTheNextIsLookedAt(t *testing.T) {
	c := newController(t)
	r := force(t, c, mustParse(t, idle, "id: a"))
	opens := func(p *plan.Plan, now time.Time) error {
		err := c.refuses(p, now)
		r.EndFor(engine.OpenedError("too slow")) // its goroutine waits to record that
		return err
	}
	if err := c.apply(Source{Name: "api"}, mustParse(t, idle, "id: a", "seed: 2"), opens); !errors.Is(err, ErrEnded) {
		t.Errorf("apply = %v, want %v", err, ErrEnded)
	}
	if s := c.Status(); s.State != StateStopped || c.run.Load() != nil {
		t.Errorf("Status() = %s, %q, want stopped, and nothing that runs", s.State, s.Reason)
	}
}

func kindsOf(events []AuditEvent) (kinds []AuditKind) {
	for _, e := range events {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// Hundreds of goroutines panic at once: one panic is logged.
func TestFirstPanicIsTold(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t, wide, nil, calm)
		synctest.Wait() // the run's goroutine is at rest while its breaker is replaced
		b.run.Breaker = new(breaker.Breaker)
		var wg sync.WaitGroup
		for range 300 {
			wg.Go(func() { b.span(context.Background(), "root", ms) })
		}
		wg.Wait()
		synctest.Wait()
		if kinds := kindsOf(b.c.Status().Audit); len(kinds) != 4 {
			t.Errorf("the audit has %v, want the first panic only", kinds)
		}
	})
}
