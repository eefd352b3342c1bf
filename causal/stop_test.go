package causal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/engine/admission"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/spans"
)

// stopWithin is what is promised for delays in flight.
const stopWithin = 100 * time.Millisecond

// A stopping is delays that Stop, and nothing else, ends. How soon they end after it depends on
// when a busy machine lets them run, so what is held against the promise is what they are told at
// their next look.
type stopping struct {
	began    time.Time
	inFlight chan time.Duration // as long as each was to be
	stopped  atomic.Bool
	told     atomic.Int64 // to go on, after Stop
	released chan struct{}
}

func newStopping(delays int) *stopping {
	return &stopping{began: time.Now(), inFlight: make(chan time.Duration, delays), released: make(chan struct{})}
}

// waiting is wait for as long as it is told to. The first one ends only after Stop has returned,
// which does not wait for it.
func (s *stopping) waiting(wait func(int64, time.Duration, func() bool) time.Duration) func(int64, time.Duration, func() bool) time.Duration {
	var first atomic.Bool
	return func(start int64, d time.Duration, valid func() bool) time.Duration {
		s.inFlight <- d
		if first.CompareAndSwap(false, true) {
			<-s.released
		}
		return wait(start, time.Hour, func() bool {
			stopped := s.stopped.Load()
			ok := valid()
			if stopped && ok {
				s.told.Add(1)
			}
			return ok
		})
	}
}

// stops has a controller stop when so many delays are in flight, each of least or more, and waits
// until they have ended.
func (s *stopping) stops(t *testing.T, c *Controller, delays int, least time.Duration, ended *sync.WaitGroup) {
	t.Helper()
	for range delays {
		select {
		case d := <-s.inFlight:
			if d < least {
				t.Errorf("a delay of %v, want %v at least", d, least)
			}
		case <-time.After(time.Minute):
			t.Fatalf("not all delays have begun: %+v", c.Status())
		}
	}
	asked := time.Now()
	c.StopPlan("kill switch")
	s.stopped.Store(true)
	close(s.released)
	ended.Wait()
	t.Logf("the last of %d delays ended %v after Stop was called, which has promised %v", delays, time.Since(asked), stopWithin)
	if n := s.told.Load(); n != 0 {
		t.Errorf("delays were told to go on %d times after Stop", n)
	}
	if got, most := c.Status().Spent, time.Duration(delays)*time.Since(s.began); got > most {
		t.Errorf("Status().Spent = %v, want what was inserted until Stop only, at most %v", got, most)
	}
}

// The kill switch, for real: many goroutines spin when it is pulled.
func TestStopEndsDelaysInFlight(t *testing.T) {
	const spinners, took = 8, 600 * time.Millisecond
	c := newController(t)
	tr := newProvider(t, c).Tracer("t")
	if err := c.Apply(mustParse(t, idle, wideLimits)); err != nil {
		t.Fatal(err)
	}
	run := c.run.Load()
	run.Guard.Duty = admission.NewDuty(1000, time.Second, time.Now())
	dilate(run, 1, experiment.SparesNone)

	s := newStopping(spinners)
	run.Spin = s.waiting(clock.Spin)
	var ended sync.WaitGroup
	for range spinners {
		ended.Go(func() {
			_, s := tr.Start(context.Background(), "slow", startedAgo(took))
			s.End()
		})
	}
	s.stops(t, c, spinners, took, &ended)
	state(t, c, StateStopped, "kill switch")

	var later atomic.Int64
	run.Spin = func(int64, time.Duration, func() bool) time.Duration { later.Add(1); return 0 }
	for range 1000 {
		_, s := tr.Start(context.Background(), "slow", startedAgo(100*time.Millisecond))
		s.End()
	}
	if n := later.Load(); n != 0 {
		t.Errorf("%d delays began after StopPlan, want 0", n)
	}
}

// Stop may come at any moment of a span's end or of the change between experiments.
func TestStopIsFinalConcurrentSafe(t *testing.T) {
	for i := range 40 {
		c := newController(t)
		tr := newProvider(t, c).Tracer("t")
		var stopped atomic.Bool
		var late atomic.Int64
		// Experiments follow each other every 10 ms and each round ends sooner than that.
		if err := c.Apply(mustParse(t, brief(), "timing: {warmup: 0s, experiment: 10ms, cooloff: 0s, min_progress: 1}", "grid: {speedups: [50]}", wideLimits, calm)); err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		for range 2 {
			wait.Go(func() {
				for !stopped.Load() {
					_, s := tr.Start(context.Background(), "root", startedAgo(20*time.Microsecond))
					s.End()
				}
				for range 20 {
					_, s := tr.Start(context.Background(), "root", startedAgo(50*time.Millisecond))
					before := time.Now()
					s.End()
					if time.Since(before) > 45*time.Millisecond {
						late.Add(1)
					}
				}
			})
		}
		time.Sleep(time.Duration(i) * 271 * time.Microsecond)
		run := c.run.Load()
		c.StopPlan("test")
		stopped.Store(true)
		wait.Wait()
		if err := c.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
		if left := run.Influence.Load(); left != nil {
			t.Fatalf("round %d: %T is left in force after StopPlan", i, *left)
		}
		// A goroutine that is not scheduled for that long looks like a delay, but not so often.
		if n := late.Load(); n > 5 {
			t.Errorf("round %d: %d of 40 spans were delayed after StopPlan", i, n)
		}
	}
}

// All methods at once, with spans that end: for the race detector.
func TestControllerConcurrentSafe(t *testing.T) {
	c := newController(t)
	tr := newProvider(t, c).Tracer("t")
	done := make(chan struct{})
	var wait sync.WaitGroup
	repeat := func(f func(i int)) {
		wait.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
					f(i)
					runtime.Gosched()
				}
			}
		})
	}
	for range 2 {
		repeat(func(i int) {
			ctx, s := tr.Start(context.Background(), "root")
			Blocked(ctx, func() {
				_, s := tr.Start(ctx, fmt.Sprint("child", i%200))
				s.End()
			})
			s.End()
			Progress(ctx, "root")
		})
	}
	repeat(func(i int) {
		_ = c.Apply(mustParse(t, brief(), fmt.Sprint("id: a", i), "timing: {warmup: 0s, experiment: 10ms, cooloff: 0s, min_progress: 1}", calm))
		time.Sleep(20 * time.Millisecond)
	})
	repeat(func(i int) {
		_ = c.Status()
		p := c.Profile()
		_ = p.WriteTable(&strings.Builder{})
	})
	repeat(func(i int) {
		source := Source{Name: "file", Lease: time.Second}
		_ = c.ApplyFrom(source, mustParse(t, fmt.Sprint("id: f", i), idle))
		c.Renew(source)
		c.Reject(source, errors.New("test"))
		c.StopPlan("test")
		c.StopPlanFrom(source, "test")
		time.Sleep(50 * time.Millisecond)
	})
	time.Sleep(500 * time.Millisecond)
	close(done)
	wait.Wait()
}

func TestShutdownLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	c, err := NewController(WithExperiments(wide))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if err := c.Apply(mustParse(t, fmt.Sprint("id: p", i))); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := c.Shutdown(context.Background()); err != nil {
			t.Errorf("Shutdown() = %v", err)
		}
	}
	state(t, c, StateStopped, "the program ends")
	if p := engine.Live.Runs.Load(); len(*p) != 0 {
		t.Errorf("%d runs still count progress", len(*p))
	}
	// The goroutines have done their work; that they are gone can take a moment.
	if !testutil.Eventually(func() bool { return runtime.NumGoroutine() <= before }) {
		t.Errorf("%d goroutines, want at most %d", runtime.NumGoroutine(), before)
	}
}

// A plan that expires while a delay is in flight takes it along.
func TestExpiresWithinADelay(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ends := time.Now().Add(10 * time.Second)
		b := newBench(t, wide, nil, "expires_at: "+ends.UTC().Format(time.RFC3339Nano))
		b.run.Spin = pollingly
		dilate(b.run, 1, experiment.SparesNone)
		time.Sleep(time.Until(ends.Add(-1100 * time.Millisecond)))
		b.span(context.Background(), "a", 990*time.Millisecond) // its delay would last till 0.88 s after the end
		if late := time.Since(ends); late < 0 || late > stopWithin+time.Millisecond {
			t.Errorf("the delay ended %v after expires_at, want at most %v", late, stopWithin)
		}
		synctest.Wait()
		state(t, b.c, StateExpired, "expires_at is over")
		b.want("later", b.span(context.Background(), "a", time.Millisecond), 0)
	})
}

// pollingly sleeps as sleepily does, but looks at valid every 100 µs.
func pollingly(_ int64, d time.Duration, valid func() bool) (spent time.Duration) {
	const step = 100 * time.Microsecond
	for ; spent < d && valid(); spent += step {
		time.Sleep(step)
	}
	return spent
}

// What lies in a run's window is a matter of the moment each delay begins.
func TestExpiredIsAskedForEachDelay(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ends := time.Now().Add(time.Second + 50*time.Millisecond)
		b := newBench(t, wide, nil, "expires_at: "+ends.UTC().Format(time.RFC3339Nano))
		dilate(b.run, 1, experiment.SparesNone)
		time.Sleep(time.Until(ends) - 10*time.Millisecond)
		b.want("at the end", b.span(context.Background(), "a", 10*time.Millisecond), 0)
		b.withheld(map[string]uint64{"expired": 1})
		synctest.Wait()
		state(t, b.c, StateExpired, "expires_at is over")
	})
}

func TestBreakerAbortsAndLatches(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newController(t)
		tr := newProvider(t, c).Tracer("t")
		plan := func(id string) *plan.Plan {
			return mustParse(t, "id: "+id, "timing: {warmup: 5s, experiment: 1m}", "grid: {speedups: [10], zero_weight: 0.9}",
				"abort: {p99_ratio: 1000, err_delta: 5%, window: 10s, min_samples: 100}")
		}
		r := force(t, c, plan("a"))
		root := func(code codes.Code) {
			_, s := tr.Start(context.Background(), "job")
			time.Sleep(10 * time.Millisecond)
			s.SetStatus(code, "")
			s.End()
		}
		for c.Status().Experiment != "no delay" { // which it begins with
			root(codes.Ok)
		}
		state(t, c, StateRunning, "")
		began := time.Now()
		for range 400 {
			root(codes.Error)
			if c.Status().State != StateRunning {
				break
			}
		}
		synctest.Wait()
		s := c.Status()
		if took := time.Since(began); s.State != StateAborted || took > 2*time.Second {
			t.Errorf("after %v of errors: Status() = %s, %q, want aborted", took, s.State, s.Reason)
		}
		if !strings.HasSuffix(s.Reason, "points more than without delays: must be at most abort.err_delta 5%") {
			t.Errorf("Status().Reason = %q", s.Reason)
		}
		if r.Influence.Load() != nil {
			t.Error("a dilation is left in force")
		}
		if err := c.Apply(plan("a")); !errors.Is(err, ErrEnded) || err.Error() != `causal: plan that has ended: id "a": it was aborted, another try needs another id` {
			t.Errorf("Apply of the aborted plan = %v, want %v", err, ErrEnded)
		}
		state(t, c, StateAborted, s.Reason)
		if err := c.Apply(plan("b")); err != nil {
			t.Errorf("Apply of another plan = %v", err)
		}
		state(t, c, StateRunning, "")
		c.StopPlan("test")
		if err := c.Apply(plan("a")); !errors.Is(err, ErrEnded) {
			t.Errorf("Apply of the aborted plan after another = %v, want %v", err, ErrEnded)
		}
	})
}

// A process without load has no baseline yet. When load sets in at once, that is not a reason to
// abort.
func TestNoAbortBeforeAnythingIsDelayed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newController(t)
		tr := newProvider(t, c).Tracer("t")
		force(t, c, mustParse(t, "abort: {min_samples: 50}"))
		time.Sleep(5*time.Second + 10*time.Millisecond)
		for range 3000 { // 200 in the first tick
			_, s := tr.Start(context.Background(), "job")
			time.Sleep(500 * time.Microsecond)
			s.End()
		}
		s := c.Status()
		if s.State != StateRunning || s.Spent != 0 && strings.HasPrefix(s.Experiment, "waiting") {
			t.Errorf("Status() = %s, %q, want running", s.State, s.Reason)
		}
	})
}

func TestPanicLatches(t *testing.T) {
	for name, hurt := range map[string]func(b *bench){
		"in the hook": func(b *bench) {
			dilate(b.run, 1, experiment.SparesNone)
			b.run.Spin = func(int64, time.Duration, func() bool) time.Duration { panic("oh no") }
			b.want("the span that panics", b.span(context.Background(), "a", time.Millisecond), 0)
		},
		// The goroutine that runs the experiments is the controller's own: no caller can recover.
		"in the schedule": func(b *bench) {
			r, err := engine.NewRun(mustParse(b.T), b.c.Settings, time.Now())
			if err != nil {
				b.Fatal(err)
			}
			r.Guard.Wall = func(time.Time) time.Time { panic("oh no") }
			b.c.mu.Lock()
			defer b.c.mu.Unlock()
			b.c.plan = r.Plan
			b.c.start(r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				log := &recorder{}
				b := newBench(t, wide, []Option{WithLogger(slog.New(log))}, calm)
				hurt(b)
				synctest.Wait()
				s := b.c.Status()
				if s.State != StateAborted || !strings.HasPrefix(s.Reason, "panic: ") {
					t.Errorf("Status() = %s, %q, want aborted by a panic", s.State, s.Reason)
				}
				if !slices.ContainsFunc(log.take(), func(l string) bool {
					return strings.HasPrefix(l, "ERROR causal: panic id=") && strings.Contains(l, " value=") && strings.Contains(l, "goroutine ")
				}) {
					t.Error("no record of the panic with its stack")
				}
				if err := b.c.Apply(mustParse(t)); !errors.Is(err, ErrEnded) {
					t.Errorf("Apply of the same id = %v, want %v", err, ErrEnded)
				}
				b.want("later", b.span(context.Background(), "a", time.Millisecond), 0)
			})
		})
	}
}

func TestAudit(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log := &recorder{}
		c := newController(t, WithLogger(slog.New(log)))
		tp := newProvider(t, c, spans.WithSessionFilter(func(context.Context, string) bool { return false }))
		b := &bench{t, c, tp.Tracer("t"), nil}
		logged := func(want ...string) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(want, log.take()); diff != "" {
				t.Errorf("audit differs, -want +got:\n%s", diff)
			}
		}
		first := mustParse(t, idle, wideLimits, "id: a", "generation: 3", "author: ann", `reason: "who is slow?"`)
		b.run = force(t, c, first)
		about := "id=a generation=3 hash=" + first.Hash() + " author=ann plan_reason=who is slow? source=api"
		logged("INFO causal: plan received "+about, "INFO causal: plan started "+about)

		dilate(b.run, 1, experiment.SparesNone)
		b.span(context.Background(), "x", 7*time.Millisecond)
		c.StopPlan("it is late")
		logged("INFO causal: plan ended " + about + " state=stopped reason=it is late spent=7ms")

		c.Reject(Source{Name: "file p"}, errors.New("not a plan"))
		logged("WARN causal: plan rejected source=file p error=not a plan")

		old := mustParse(t, "id: b", "generation: 2")
		about = "id=b generation=2 hash=" + old.Hash() + " author= plan_reason= source=file p"
		if err := c.ApplyFrom(Source{Name: "file p"}, old); err == nil {
			t.Error("an old plan is accepted")
		}
		logged("INFO causal: plan received "+about,
			"WARN causal: plan rejected "+about+" error=causal: stale plan: generation 2: must be above 3, the last one seen")

		short := mustParse(t, idle, "id: c", "expires_at: "+time.Now().Add(5*time.Second).UTC().Format(time.RFC3339Nano))
		about = "id=c generation=0 hash=" + short.Hash() + " author= plan_reason= source=api"
		if err := c.Apply(short); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Second)
		logged("INFO causal: plan received "+about, "INFO causal: plan started "+about,
			"INFO causal: plan ended "+about+" state=expired reason=expires_at is over spent=0s")
	})
}

func TestNothingRunsAfterShutdown(t *testing.T) {
	c, err := NewController(WithExperiments(wide))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(mustParse(t, "id: late")); !errors.Is(err, ErrDisabled) {
		t.Errorf("Apply after Shutdown = %v, want %v", err, ErrDisabled)
	}
}

func TestEveryAbortedPlanStaysLatched(t *testing.T) {
	c := newController(t)
	for _, id := range []string{"a", "b"} {
		r := force(t, c, mustParse(t, "id: "+id))
		r.EndFor(engine.OpenedError("too slow"))
		<-r.Done
		c.wait.Wait()
		if got := c.Status().State; got != StateAborted {
			t.Fatalf("plan %s: %s, want %s", id, got, StateAborted)
		}
	}
	for _, id := range []string{"a", "b"} {
		if err := c.Apply(mustParse(t, "id: "+id)); !errors.Is(err, ErrEnded) {
			t.Errorf("plan %s again: %v, want %v", id, err, ErrEnded)
		}
	}
}

func TestProfileSaysWhyExperimentsEnded(t *testing.T) {
	c := newController(t)
	if err := c.Apply(mustParse(t, "id: p")); err != nil {
		t.Fatal(err)
	}
	if notes := c.Profile().Notes; len(notes) > 0 && strings.Contains(notes[0], "ended") {
		t.Errorf("while it runs: %q", notes)
	}
	c.StopPlan("by hand")
	if notes := c.Profile().Notes; len(notes) == 0 || notes[0] != "the experiments have ended, stopped: by hand" {
		t.Errorf("notes %q, want the reason first", notes)
	}
}
