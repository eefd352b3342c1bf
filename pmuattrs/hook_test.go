package pmuattrs

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/goroutine"
	"github.com/otelprof/otelprof/internal/perf"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/spans"
)

// fakeThreads count step of each event between two readings.
type fakeThreads struct {
	set     *eventSet
	step    []uint64
	change  func(*Reading) // what goes wrong at every second reading
	refuse  error
	mu      sync.Mutex
	reading uint64
	closed  bool
}

func newFakeThreads(events []Event, step ...uint64) *fakeThreads {
	return &fakeThreads{set: internSet(SourceHardware, events), step: step}
}

func (f *fakeThreads) Source() Source     { return f.set.source }
func (f *fakeThreads) Events() []Event    { return f.set.events }
func (f *fakeThreads) Stats() threadStats { return threadStats{Open: 1} }
func (f *fakeThreads) Close() error       { f.closed = true; return nil }

func (f *fakeThreads) Read(r *Reading) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse != nil {
		*r = Reading{}
		return f.refuse
	}
	f.reading++
	*r = Reading{of: identity{opened: 1, set: f.set.id}}
	r.values = perf.Values{Enabled: f.reading * 1e6, Running: f.reading * 1e6, Exact: true}
	for i, n := range f.step {
		r.values.Counts[i] = 1e9 + f.reading*n
	}
	if f.change != nil && f.reading%2 == 0 {
		f.change(r)
	}
	return nil
}

// fakeHook is a hook on fake counters.
func fakeHook(t testing.TB, threads threadReader, opts ...HookOption) *Hook {
	t.Helper()
	c, err := newHookConfig(append([]HookOption{WithSampling(1)}, opts...))
	if err != nil {
		t.Fatal(err)
	}
	return newHook(c, threads, nil)
}

// realHook is a hook on what this machine has.
func realHook(t testing.TB, opts ...HookOption) *Hook {
	t.Helper()
	h, err := NewHook(append([]HookOption{WithSampling(1)}, opts...)...)
	if errors.Is(err, ErrNotSupported) {
		testutil.Lacks(t, "USAGE", err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

// provide returns the tracer of a provider with the hook, and what has ended there.
func provide(t testing.TB, hooks ...*Hook) (trace.Tracer, *tracetest.SpanRecorder) {
	t.Helper()
	ended := tracetest.NewSpanRecorder()
	var opts []spans.Option
	for _, h := range hooks {
		opts = append(opts, spans.WithHook(h))
	}
	tp := spans.WrapTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(ended)), opts...)
	t.Cleanup(func() {
		if d := tp.Dropped(); d.HookPanics != 0 {
			t.Errorf("%d panics in hooks", d.HookPanics)
		}
		_ = tp.Shutdown(context.Background())
	})
	return tp.Tracer("test"), ended
}

func span(tr trace.Tracer, name string) {
	_, s := tr.Start(context.Background(), name)
	s.End()
}

// attributesOf returns those of the only span of that name.
func attributesOf(t *testing.T, ended *tracetest.SpanRecorder, name string) map[attribute.Key]any {
	t.Helper()
	found := map[attribute.Key]any{}
	n := 0
	for _, s := range ended.Ended() {
		if s.Name() != name {
			continue
		}
		n++
		for _, kv := range s.Attributes() {
			found[kv.Key] = kv.Value.AsInterface()
		}
	}
	if n != 1 {
		t.Fatalf("%d spans %q, want 1", n, name)
	}
	return found
}

func TestHookSetsAttributes(t *testing.T) {
	h := fakeHook(t, newFakeThreads([]Event{Cycles, Instructions, BranchMisses}, 1000, 2500, 7))
	tr, ended := provide(t, h)
	span(tr, "price")
	want := map[attribute.Key]any{
		"pmu.cycles": int64(1000), "pmu.instructions": int64(2500), "pmu.branch_misses": int64(7),
		"pmu.ipc": 2.5, "pmu.source": "hw", "pmu.user_only": true, "pmu.valid": true,
	}
	if diff := cmp.Diff(want, attributesOf(t, ended, "price")); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if got, want := h.Stats(), (Stats{Counted: 1, Threads: 1}); got != want {
		t.Errorf("Stats() = %+v, want %+v", got, want)
	}
}

// What speaks against the numbers leaves none, and is counted.
func TestHookInvalid(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Reading)
		want   Stats
	}{
		"multiplexed":  {func(r *Reading) { r.values.Running-- }, Stats{Multiplexed: 1}},
		"implausible":  {func(r *Reading) { r.values.Counts[0] = 0 }, Stats{Implausible: 1}},
		"other thread": {func(r *Reading) { r.of.opened++ }, Stats{OtherThread: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			threads := newFakeThreads([]Event{Cycles, Instructions}, 1000, 2500)
			threads.change = tt.change
			h := fakeHook(t, threads)
			tr, ended := provide(t, h)
			span(tr, "price")
			want := map[attribute.Key]any{"pmu.source": "hw", "pmu.valid": false}
			if diff := cmp.Diff(want, attributesOf(t, ended, "price")); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
			tt.want.Threads = threads.Stats().Open
			if got := h.Stats(); got != tt.want {
				t.Errorf("Stats() = %+v, want %+v", got, tt.want)
			}
			if r := h.Regions(); len(r) != 1 || r[0].Spans != 0 || r[0].Invalid != 1 {
				t.Errorf("Regions() = %+v, want one with an invalid span", r)
			}
			if goroutine.Known() && isLocked() { // see measurement.unlock
				t.Error("the goroutine is still locked")
			}
		})
	}
}

// A thread without counters leaves the span as it is.
func TestHookUnread(t *testing.T) {
	threads := newFakeThreads([]Event{Cycles}, 1000)
	threads.refuse = errTooManyThreads
	h := fakeHook(t, threads)
	tr, ended := provide(t, h)
	span(tr, "refused")
	if got := attributesOf(t, ended, "refused"); len(got) != 0 {
		t.Errorf("attributes %v, want none", got)
	}
	threads.refuse = nil
	_, s := tr.Start(t.Context(), "closed in between")
	threads.refuse = ErrClosed
	s.End()
	want := map[attribute.Key]any{"pmu.source": "hw", "pmu.valid": false}
	if diff := cmp.Diff(want, attributesOf(t, ended, "closed in between")); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if got := h.Stats(); got.Unread != 2 || got.Counted != 0 {
		t.Errorf("Stats() = %+v, want 2 unread", got)
	}
	if goroutine.Known() && isLocked() { // see measurement.unlock
		t.Error("the goroutine is still locked")
	}
	if err := h.Shutdown(context.Background()); err != nil || !threads.closed {
		t.Errorf("Shutdown() = %v, closed %t", err, threads.closed)
	}
}

func TestHookNests(t *testing.T) {
	h := fakeHook(t, newFakeThreads([]Event{Cycles}, 1000))
	tr, ended := provide(t, h)
	ctx, outer := tr.Start(t.Context(), "outer")
	_, inner := tr.Start(ctx, "inner")
	inner.End()
	if !isLocked() {
		t.Error("the end of the inner span unlocked the goroutine")
	}
	outer.End()
	if isLocked() {
		t.Error("the goroutine is still locked")
	}
	for name, want := range map[string]int64{"inner": 1000, "outer": 3000} {
		if got := attributesOf(t, ended, name)["pmu.cycles"]; got != want {
			t.Errorf("%s: pmu.cycles = %v, want %d", name, got, want)
		}
	}
}

// A span that is not recorded is counted all the same.
func TestHookUnrecordedSpan(t *testing.T) {
	h := fakeHook(t, newFakeThreads([]Event{Cycles}, 1000))
	tp := spans.WrapTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())), spans.WithHook(h))
	defer tp.Shutdown(t.Context())
	span(tp.Tracer("test"), "price")
	if r := h.Regions(); len(r) != 1 || r[0].Spans != 1 {
		t.Errorf("Regions() = %+v, want one with a span", r)
	}
}

// The second hook of a provider must not take the first one's measurements for its own.
func TestHookTwice(t *testing.T) {
	first := fakeHook(t, newFakeThreads([]Event{Cycles}, 1000))
	second := fakeHook(t, newFakeThreads([]Event{Cycles}, 77))
	tr, ended := provide(t, first, second)
	span(tr, "price")
	if got := attributesOf(t, ended, "price")["pmu.cycles"]; got != int64(1000) {
		t.Errorf("pmu.cycles = %v, want the first hook's 1000", got)
	}
	if got := second.Stats(); got.Counted != 0 {
		t.Errorf("the second hook counted: %+v", got)
	}
	if isLocked() {
		t.Error("the goroutine is still locked")
	}
}

func TestHookEndOnOtherGoroutine(t *testing.T) {
	if !goroutine.Known() {
		testutil.Lacks(t, "GOROUTINE_ID", "goroutines cannot be told apart")
	}
	h := fakeHook(t, newFakeThreads([]Event{Cycles}, 1000))
	tr, ended := provide(t, h)
	_, s := tr.Start(t.Context(), "request")
	elsewhere(func() { s.End() })
	want := map[attribute.Key]any{"pmu.source": "hw", "pmu.valid": false}
	if diff := cmp.Diff(want, attributesOf(t, ended, "request")); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if !isLocked() {
		t.Fatal("the goroutine is not locked any more: who unlocked it?")
	}
	span(tr, "other")
	if isLocked() {
		t.Error("the next span did not unlock the goroutine")
	}
	span(tr, "request") // not measured any more
	if got, want := h.Stats(), (Stats{Counted: 1, OtherGoroutine: 1, Moving: 1, Threads: 1}); got != want {
		t.Errorf("Stats() = %+v, want %+v", got, want)
	}
}

// Goroutines that are locked are few, however many spans of the sample are open.
func TestHookLocksFewGoroutines(t *testing.T) {
	h := fakeHook(t, newFakeThreads([]Event{Cycles}, 1000))
	tr, _ := provide(t, h)
	before := held.Load()
	room := mostHeld - int(before)
	all := make([]trace.Span, room+5)
	for i := range all {
		_, all[i] = tr.Start(t.Context(), "stream")
	}
	if got := h.Stats().Crowded; got != 5 {
		t.Errorf("%d spans were not measured since there were too many, want 5", got)
	}
	for _, s := range all {
		s.End()
	}
	span(tr, "later")
	if got, want := h.Stats(), (Stats{Counted: uint64(room) + 1, Crowded: 5, Threads: 1}); got != want {
		t.Errorf("Stats() = %+v, want %+v", got, want)
	}
	if got := held.Load(); got != before || isLocked() {
		t.Errorf("%d locks are held when all have ended, want %d", got, before)
	}
}

// The application's own locks are neither undone nor kept.
func TestHookLeavesTheApplicationsLocks(t *testing.T) {
	h := fakeHook(t, newFakeThreads([]Event{Cycles}, 1000))
	tr, _ := provide(t, h)
	elsewhere(func() {
		runtime.LockOSThread()
		span(tr, "inside")
		if !isLocked() {
			t.Error("a span undid the application's lock")
		}
		_, s := tr.Start(context.Background(), "unlocked inside")
		runtime.UnlockOSThread()
		s.End()
		if isLocked() {
			t.Error("the span kept its lock")
		}
	})
}

func TestHookConcurrentSafe(t *testing.T) {
	h := realHook(t, WithRegions("unwanted", 0), WithRegions("rare *", 3))
	tr, _ := provide(t, h)
	p := NewProducer(h, metricdata.CumulativeTemporality)
	const goroutines, each = 8, 200
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				ctx, s := tr.Start(context.Background(), fmt.Sprintf("step %d", i%5))
				span(tr, "unwanted")
				span(tr, "rare "+string(rune('a'+g)))
				_, child := tr.Start(ctx, "handed over")
				if i%10 == 0 {
					elsewhere(func() { child.End() })
				} else {
					child.End()
				}
				s.End()
			}
		})
	}
	wg.Go(func() {
		for range 20 {
			_ = h.Regions()
			_ = h.Stats()
			_, _ = p.Produce(context.Background())
		}
	})
	wg.Wait()
	got := h.Stats()
	if got.Counted < goroutines*each {
		t.Errorf("Stats() = %+v, want at least %d counted", got, goroutines*each)
	}
	if !goroutine.Known() {
		got.OtherThread = 0 // the spans that moved
	}
	if got.OtherThread+got.Multiplexed+got.Implausible+got.Unread != 0 {
		t.Errorf("Stats() = %+v, want no trouble but spans that moved", got)
	}
}
