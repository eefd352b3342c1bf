//go:build otelprof_runtime

package causal

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/spans"
)

// All other tests are about wrappers, and most are in bubbles, which the scheduler's time does not
// belong to.
func init() { engine.Live.WrappersOnly = true }

// inRuntime runs f on goroutines until the test is over, under a controller that experiments on
// "critical".
func inRuntime(t *testing.T, limits plan.Limits, f func(context.Context, trace.Tracer)) *Controller {
	t.Helper()
	engine.Live.WrappersOnly = false
	t.Cleanup(func() { engine.Live.WrappersOnly = true })
	c, err := NewController(WithExperiments(limits), WithBreaker(deaf))
	if err != nil {
		t.Fatal(err)
	}
	tp := spans.WrapTracerProvider(sdktrace.NewTracerProvider(), spans.WithHook(c.Hook()))
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for ctx.Err() == nil {
				f(ctx, tp.Tracer("test"))
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		if err := c.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := tp.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	plan, err := plan.Parse(fmt.Appendf(nil, `{api: causal/v1, id: %q, mode: overlap, force: true, expires_at: %q,
		regions: [{span: critical}], progress: [{span: done, type: throughput}, {span: request, type: latency}], grid: {speedups: [50]},
		timing: {warmup: 0s, experiment: 30ms, cooloff: 5ms, max_experiment: 1s},
		limits: {per_span: 10ms, per_trace: 1s, duty: 100%%, total: %s}, abort: {p99_ratio: 1000, err_delta: 100%%, min_samples: 1}}`,
		t.Name(), time.Now().Add(time.Minute).UTC().Format(time.RFC3339), time.Duration(limits.Total)))
	if err == nil {
		err = c.Apply(plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var generous = plan.Limits{PerSpan: plan.Duration(time.Second), PerTrace: plan.Duration(time.Minute), Duty: 1, Total: plan.Duration(time.Hour)}

// eventually waits for a condition, on a machine of any speed.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("30 s, and still not: %s", what)
		}
	}
}

// plainMutex is a program without drop-ins.
func plainMutex() func(context.Context, trace.Tracer) {
	var mu sync.Mutex
	return func(ctx context.Context, tracer trace.Tracer) {
		ctx, request := tracer.Start(ctx, "request")
		defer request.End()
		time.Sleep(2 * time.Millisecond)
		mu.Lock()
		_, span := tracer.Start(ctx, "critical")
		time.Sleep(time.Millisecond)
		span.End()
		mu.Unlock()
		Progress(ctx, "done")
	}
}

func TestRuntimeExperiment(t *testing.T) {
	c := inRuntime(t, generous, plainMutex())
	eventually(t, "numbers for throughput and for latency", func() bool {
		curves := c.Profile().Curves
		metrics := map[profile.Metric]bool{}
		for _, curve := range curves {
			if curve.Mode == profile.ModeOverlap && slices.ContainsFunc(curve.Effects, func(e profile.Effect) bool { return e.Known() }) {
				metrics[curve.Metric] = true
			}
		}
		return metrics[profile.MetricThroughput] && metrics[profile.MetricLatencyP50]
	})
	if got := c.Status().Handover; got != profile.HandoverRuntime {
		t.Errorf("Handover = %q, want %q", got, profile.HandoverRuntime)
	}
	p := c.Profile()
	if p.Handover != profile.HandoverRuntime || p.Delay == 0 {
		t.Errorf("handover %q, delay %v, want %q, and some", p.Handover, p.Delay, profile.HandoverRuntime)
	}
	c.StopPlan("enough")
	if _, inForce := sched.Growth(); inForce {
		t.Error("the scheduler goes on after StopPlan")
	}
}

func TestRuntimeLimits(t *testing.T) {
	limits := generous
	limits.Total = plan.Duration(2 * time.Millisecond)
	c := inRuntime(t, limits, plainMutex())
	eventually(t, "limits.total is used up", func() bool { return c.Status().State == StateSpent })
	if _, inForce := sched.Growth(); inForce {
		t.Error("the scheduler goes on")
	}
}

// A span below one of the region, on another goroutine, is of the region.
func TestRuntimeBelow(t *testing.T) {
	var most sync.Map
	c := inRuntime(t, generous, func(ctx context.Context, tracer trace.Tracer) {
		inner, span := tracer.Start(ctx, "critical")
		var wg sync.WaitGroup
		wg.Go(func() {
			_, below := tracer.Start(inner, "below")
			defer below.End()
			if e := engine.Live.ScheduledSpan.Get(spans.SpanFromContext(trace.ContextWithSpan(inner, below))); e != nil {
				most.Store(e.Inside, true)
			}
		})
		wg.Wait()
		span.End()
		Progress(ctx, "done")
		_, request := tracer.Start(ctx, "request")
		request.End()
	})
	eventually(t, "an experiment", func() bool { return c.Profile().Experiments > 3 })
	if _, inside := most.Load(true); !inside {
		t.Error("no span below the region was taken to be of it")
	}
}

// A goroutine that answers health checks is not delayed.
func TestRuntimeHealthChecks(t *testing.T) {
	var spent sync.Map
	work := plainMutex()
	c := inRuntime(t, generous, func(ctx context.Context, tracer trace.Tracer) {
		done := make(chan bool)
		go func() {
			defer close(done)
			_, span := tracer.Start(ctx, "GET /healthz")
			_, before := sched.Books()
			time.Sleep(time.Millisecond)
			_, after := sched.Books()
			if after > before {
				spent.Store(after-before, true)
			}
			span.End()
		}()
		work(ctx, tracer)
		<-done
	})
	eventually(t, "delays withheld for health checks", func() bool { return c.Status().Withheld["health_check"] > 10 })
	// An experiment may have ended in the middle of one and the next begun; then it is not known
	// there.
	n := 0
	spent.Range(func(any, any) bool { n++; return true })
	if n > 3 {
		t.Errorf("%d health checks were delayed", n)
	}
}

// A call over a connection of the process with itself is delayed where it is answered, and nowhere
// else, also by a connection that is made for it.
func TestRuntimeCallOfItself(t *testing.T) {
	for name, keepAlive := range map[string]bool{"connections that are kept": true, "new connections": false} {
		t.Run(name, func(t *testing.T) {
			const answer = 8 * time.Millisecond
			propagator := propagation.TraceContext{}
			var tracer atomic.Value
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				ctx := propagator.Extract(context.Background(), propagation.HeaderCarrier(r.Header))
				_, span := tracer.Load().(trace.Tracer).Start(ctx, "answer", trace.WithSpanKind(trace.SpanKindServer))
				defer span.End()
				time.Sleep(answer)
			}))
			t.Cleanup(server.Close)
			transport := &http.Transport{DisableKeepAlives: !keepAlive}
			t.Cleanup(transport.CloseIdleConnections)
			var busy sync.Once
			var took, calls atomic.Int64
			c := inRuntime(t, generous, func(ctx context.Context, tr trace.Tracer) {
				first := false
				busy.Do(func() { first = true })
				if first { // always in the region, which goes on while it sleeps
					for ctx.Err() == nil {
						_, span := tr.Start(ctx, "critical")
						time.Sleep(time.Millisecond)
						span.End()
						Progress(ctx, "done")
					}
					return
				}
				tracer.CompareAndSwap(nil, tr)
				before, _ := sched.Growth()
				began := time.Now()
				outer, root := tr.Start(ctx, "request")
				inner, call := tr.Start(outer, "call", trace.WithSpanKind(trace.SpanKindClient))
				request, err := http.NewRequestWithContext(inner, http.MethodGet, server.URL, http.NoBody)
				if err != nil {
					t.Error(err)
					return
				}
				propagator.Inject(inner, propagation.HeaderCarrier(request.Header))
				response, err := transport.RoundTrip(request)
				if err == nil {
					err = response.Body.Close()
				}
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				call.End()
				root.End()
				// At half the time saved, an experiment that has been there all the time makes it
				// twice as long.
				passed := time.Since(began)
				if after, _ := sched.Growth(); before > 0 && after-before > passed*9/20 {
					took.Add(int64(passed))
					calls.Add(1)
				}
			})
			eventually(t, "calls", func() bool { return calls.Load() > 50 || c.Status().State != StateRunning })
			mean := time.Duration(took.Load() / max(1, calls.Load()))
			t.Logf("%d calls, %v each", calls.Load(), mean)
			if mean < answer*3/2 || mean > answer*3 {
				t.Errorf("a call takes %v, want twice the %v of its answer", mean, answer)
			}
		})
	}
}

// A request from another process is delayed before anything is done for it, also if it is of the
// region, by what has been saved while its connection waited. Not if its deadline is near.
func TestRuntimeArrivals(t *testing.T) {
	var (
		first   atomic.Bool
		delayed = map[string]*atomic.Int64{"critical": {}, "request": {}, "urgent": {}}
	)
	answer := func(ctx context.Context, tr trace.Tracer, name string) {
		_, before := sched.Books()
		_, span := tr.Start(ctx, name)
		if _, after := sched.Books(); after > before {
			delayed[name].Add(1)
		}
		span.End()
	}
	c := inRuntime(t, generous, func(ctx context.Context, tr trace.Tracer) {
		if first.CompareAndSwap(false, true) { // the region, which goes on while it sleeps
			for ctx.Err() == nil {
				_, span := tr.Start(ctx, "critical")
				time.Sleep(time.Millisecond)
				span.End()
				Progress(ctx, "done")
			}
			return
		}
		read, write, err := os.Pipe()
		if err != nil {
			t.Error(err)
			return
		}
		defer read.Close()
		go func() {
			defer sched.Exempt()() // it stands for another process
			defer write.Close()
			for ctx.Err() == nil {
				time.Sleep(2 * time.Millisecond)
				if _, err := write.Write([]byte{1}); err != nil {
					return
				}
			}
		}()
		for n := 0; ; n++ {
			var b [1]byte
			if _, err := read.Read(b[:]); err != nil {
				return // the writer is done
			}
			switch n % 3 {
			case 0:
				answer(ctx, tr, "request")
			case 1:
				answer(ctx, tr, "critical")
			case 2:
				soon, cancel := context.WithTimeout(ctx, engine.LongestPayment)
				answer(soon, tr, "urgent")
				cancel()
			}
		}
	})
	eventually(t, "delays of arrivals", func() bool { return delayed["request"].Load() > 50 && delayed["critical"].Load() > 50 })
	c.StopPlan("enough")
	if n := delayed["urgent"].Load(); n > 0 {
		t.Errorf("%d requests were delayed whose deadlines were near", n)
	}
}

// A session keeps its spans while it is open. The memory of an experiment is released all the same.
func TestRuntimeOpenSessionKeepsNoExperiment(t *testing.T) {
	var (
		open  sync.Once
		root  trace.Span
		under context.Context
		mu    sync.Mutex
		known = map[weak.Pointer[engine.Scheduled]]bool{}
	)
	c := inRuntime(t, generous, func(ctx context.Context, tr trace.Tracer) {
		open.Do(func() { under, root = tr.Start(context.Background(), "stream") })
		_, request := tr.Start(ctx, "request")
		request.End()
		for _, name := range []string{"critical", "done"} {
			_, s := tr.Start(under, name)
			if e := engine.Live.Scheduled.Load(); e != nil {
				mu.Lock()
				known[weak.Make(e)] = true
				mu.Unlock()
			}
			s.End()
		}
		time.Sleep(time.Millisecond)
	})
	eventually(t, "ten experiments", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(known) >= 10
	})
	c.StopPlan("enough")
	eventually(t, "all experiments are forgotten", func() bool {
		runtime.GC()
		mu.Lock()
		defer mu.Unlock()
		for e := range known {
			if e.Value() != nil {
				return false
			}
		}
		return true
	})
	if spans.SpanFromContext(under).Ended() {
		t.Error("the session is over")
	}
	root.End()
}

// A stop while an arm is being put in force leaves no experiment behind that no run would end.
func TestRuntimeStopWhileAnArmBegins(t *testing.T) {
	engine.Live.WrappersOnly = false
	t.Cleanup(func() { engine.Live.WrappersOnly = true })
	c := newController(t)
	r := force(t, c, mustParse(t, idle, wideLimits, "mode: overlap", "regions: [{span: critical}]"))
	r.Number(profile.Region{Name: "critical"})
	for i := range 2000 {
		var begun sync.WaitGroup
		begun.Go(func() { r.Begin(experiment.Arm{Speedup: 0.5}) })
		for range i % 50 {
			runtime.Gosched()
		}
		r.Rest() // as endFor does
		begun.Wait()
		if _, running := sched.Growth(); running && r.Influence.Load() == nil {
			t.Fatalf("round %d: an experiment goes on that no run has", i)
		}
		r.Rest()
		if _, running := sched.Growth(); running {
			t.Fatalf("round %d: an experiment goes on when its run has ended it", i)
		}
	}
}
