//go:build otelprof_runtime

package schedtimes_test

import (
	"context"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/schedule/schedtimes"
)

func newHook(t testing.TB, opts ...schedtimes.Option) *schedtimes.Hook {
	t.Helper()
	h, err := schedtimes.NewHook(opts...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// provide returns the tracer of a provider with the hooks, and what has ended there.
func provide(t testing.TB, sampler sdktrace.Sampler, hooks ...*schedtimes.Hook) (trace.Tracer, *tracetest.SpanRecorder) {
	t.Helper()
	ended := tracetest.NewSpanRecorder()
	var opts []spans.Option
	for _, h := range hooks {
		opts = append(opts, spans.WithHook(h))
	}
	tp := spans.WrapTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler), sdktrace.WithSpanProcessor(ended)), opts...)
	t.Cleanup(func() {
		if d := tp.Dropped(); d.HookPanics != 0 {
			t.Errorf("%d panics in hooks", d.HookPanics)
		}
		_ = tp.Shutdown(context.Background())
		if n := sched.Watching(); n != 0 {
			t.Errorf("%d goroutines are still watched", n)
		}
	})
	return tp.Tracer("test"), ended
}

// times are the attributes of a span, with ok false if there are none.
type times struct {
	running, runnable, blocked, duration time.Duration
	ok                                   bool
}

// timesOf returns the times of all spans of that name, in the order of their ends. They must add up
// to no more than the duration.
func timesOf(t *testing.T, ended *tracetest.SpanRecorder, name string) []times {
	t.Helper()
	var all []times
	for _, s := range ended.Ended() {
		if s.Name() != name {
			continue
		}
		of, found := times{duration: s.EndTime().Sub(s.StartTime())}, 0
		for _, kv := range s.Attributes() {
			switch ns := time.Duration(kv.Value.AsInt64()); kv.Key {
			case naming.RunningKey:
				of.running = ns
			case naming.RunnableKey:
				of.runnable = ns
			case naming.BlockedKey:
				of.blocked = ns
			default:
				continue
			}
			found++
		}
		of.ok = found == 3
		if sum := of.running + of.runnable + of.blocked; sum > of.duration || found%3 != 0 {
			t.Errorf("%s: %d attributes add up to %v, want 0 or 3 and at most the duration, %v", name, found, sum, of.duration)
		}
		all = append(all, of)
	}
	return all
}

func TestHookSetsAttributes(t *testing.T) {
	h := newHook(t)
	tr, ended := provide(t, sdktrace.AlwaysSample(), h)
	const rounds = 50
	for range rounds {
		ctx, parent := tr.Start(t.Context(), "parent")
		_, sleep := tr.Start(ctx, "sleep")
		time.Sleep(2 * time.Millisecond)
		sleep.End()
		_, busy := tr.Start(ctx, "busy")
		clock.Spin(clock.Now(), time.Millisecond, func() bool { return true })
		busy.End()
		parent.End()
	}
	// What the SDK takes before and after is not in the sum. On a busy machine that can be
	// anything, so one will do.
	exact := false
	parents := timesOf(t, ended, "parent")
	for i, of := range timesOf(t, ended, "sleep") {
		if !of.ok || of.blocked == 0 || parents[i].blocked < of.blocked {
			t.Errorf("a span that slept: %+v, its parent: %+v", of, parents[i])
		}
		exact = exact || of.duration-of.running-of.runnable-of.blocked < 20*time.Microsecond && of.blocked > time.Millisecond
	}
	for _, of := range timesOf(t, ended, "busy") {
		if !of.ok || of.blocked != 0 || of.running == 0 {
			t.Errorf("a busy span: %+v, want it running, and never blocked", of)
		}
	}
	if !exact {
		t.Errorf("none of %d spans has times that add up to its duration within 20 µs", rounds)
	}
	if got, want := h.Stats(), (schedtimes.Stats{Timed: 3 * rounds}); got != want {
		t.Errorf("Stats() = %+v, want %+v", got, want)
	}
}

func TestHookEndOnOtherGoroutine(t *testing.T) {
	h := newHook(t)
	tr, ended := provide(t, sdktrace.AlwaysSample(), h)
	ctx, here := tr.Start(t.Context(), "here")
	_, moved := tr.Start(ctx, "moved")
	var wg sync.WaitGroup
	wg.Go(func() { moved.End() })
	wg.Wait()
	time.Sleep(time.Millisecond)
	here.End()
	if of := timesOf(t, ended, "moved"); len(of) != 1 || of[0].ok {
		t.Errorf("%+v, want no times", of)
	}
	if of := timesOf(t, ended, "here"); len(of) != 1 || !of[0].ok || of[0].blocked == 0 {
		t.Errorf("%+v, want the sleep", of)
	}
	if got, want := h.Stats(), (schedtimes.Stats{Timed: 1, OtherGoroutine: 1}); got != want {
		t.Errorf("Stats() = %+v, want %+v", got, want)
	}
}

func TestHookRegions(t *testing.T) {
	h := newHook(t, schedtimes.WithRegions("GET *", "price"))
	tr, ended := provide(t, sdktrace.AlwaysSample(), h)
	want := map[string]bool{"GET /items": true, "price": true, "prices": false, "POST /items": false}
	for range 2 {
		for name := range want {
			_, s := tr.Start(t.Context(), name)
			s.End()
		}
	}
	for name, want := range want {
		for _, of := range timesOf(t, ended, name) {
			if of.ok != want {
				t.Errorf("%s: times %t, want %t", name, of.ok, want)
			}
		}
	}
}

// A span that does not record is not watched.
func TestHookUnrecordedSpan(t *testing.T) {
	h := newHook(t)
	tr, _ := provide(t, sdktrace.NeverSample(), h)
	_, s := tr.Start(t.Context(), "price")
	if n := sched.Watching(); n != 0 {
		t.Errorf("%d goroutines are watched", n)
	}
	s.End()
	if got := h.Stats(); got != (schedtimes.Stats{}) {
		t.Errorf("Stats() = %+v, want nothing", got)
	}
}

// Of two hooks the first one has the span.
func TestHookTwice(t *testing.T) {
	first, second := newHook(t, schedtimes.WithRegions("price")), newHook(t)
	tr, ended := provide(t, sdktrace.AlwaysSample(), first, second)
	for _, name := range []string{"price", "other"} {
		_, s := tr.Start(t.Context(), name)
		s.End()
		if of := timesOf(t, ended, name); len(of) != 1 || !of[0].ok {
			t.Errorf("%s: %+v, want times", name, of)
		}
	}
	if a, b := first.Stats().Timed, second.Stats().Timed; a != 1 || b != 1 {
		t.Errorf("%d and %d timed, want one each", a, b)
	}
}

func TestHookConcurrentSafe(t *testing.T) {
	h := newHook(t)
	tr, ended := provide(t, sdktrace.AlwaysSample(), h)
	const goroutines, each = 16, 200
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for i := range each {
				ctx, s := tr.Start(context.Background(), "step")
				_, child := tr.Start(ctx, "handed over")
				if i%10 == 0 {
					wg.Go(func() { child.End() })
				} else {
					child.End()
				}
				s.End()
			}
		})
	}
	wg.Wait()
	const moved = goroutines * each / 10
	if got, want := h.Stats(), (schedtimes.Stats{Timed: 2*goroutines*each - moved, OtherGoroutine: moved}); got != want {
		t.Errorf("Stats() = %+v, want %+v", got, want)
	}
	timesOf(t, ended, "step")
	timesOf(t, ended, "handed over")
}

// The hook allocates nothing: what is allocated is the SDK's, for attributes.
func TestHookAllocs(t *testing.T) {
	h := newHook(t)
	tr, _ := provide(t, sdktrace.AlwaysSample(), newHook(t, schedtimes.WithRegions("nobody")))
	_, s := tr.Start(t.Context(), "price")
	defer s.End()
	r := spans.SpanFromContext(trace.ContextWithSpan(t.Context(), s))
	all := testing.AllocsPerRun(1000, func() {
		h.OnStart(t.Context(), r)
		h.OnEnd(r)
	})
	if all > 0 {
		t.Errorf("%v allocations, want 0", all)
	}
}

func BenchmarkHook(b *testing.B) {
	for _, name := range []string{"without", "with"} {
		b.Run(name, func(b *testing.B) {
			opts := []spans.Option{spans.WithSessionFilter(func(context.Context, string) bool { return false })}
			if name == "with" {
				opts = append(opts, spans.WithHook(newHook(b)))
			}
			tp := spans.WrapTracerProvider(sdktrace.NewTracerProvider(), opts...)
			defer tp.Shutdown(b.Context())
			tr := tp.Tracer("bench")
			b.ReportAllocs()
			for b.Loop() {
				_, s := tr.Start(b.Context(), "price")
				s.End()
			}
		})
	}
}
