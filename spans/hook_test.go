package spans_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/http/own"
	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/spans"
)

// recordingHook notes its calls. The functions, where set, are called too.
type recordingHook struct {
	prefix   string
	onStart  func(context.Context, *spans.Span) context.Context
	onEnd    func(*spans.Span)
	afterEnd func(*spans.Span) time.Duration

	mu    sync.Mutex
	calls []string
}

func (h *recordingHook) note(what string, r *spans.Span) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, h.prefix+what+" "+r.Name())
}

func (h *recordingHook) names() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.calls)
}

func (h *recordingHook) OnStart(ctx context.Context, r *spans.Span) context.Context {
	h.note("start", r)
	if h.onStart != nil {
		return h.onStart(ctx, r)
	}
	return ctx
}

func (h *recordingHook) OnEnd(r *spans.Span) {
	h.note("end", r)
	if h.onEnd != nil {
		h.onEnd(r)
	}
}

func (h *recordingHook) AfterEnd(r *spans.Span) time.Duration {
	h.note("after", r)
	if h.afterEnd != nil {
		return h.afterEnd(r)
	}
	return 0
}

// plainHook is a hook without AfterEnd.
type plainHook struct{ h *recordingHook }

func (p plainHook) OnStart(ctx context.Context, r *spans.Span) context.Context {
	return p.h.OnStart(ctx, r)
}
func (p plainHook) OnEnd(r *spans.Span) { p.h.OnEnd(r) }

type hookKey struct{}

func TestHooksAreCalledInOrder(t *testing.T) {
	var order []string
	hook := func(name string) *recordingHook {
		return &recordingHook{
			onStart: func(ctx context.Context, _ *spans.Span) context.Context {
				order = append(order, name+" start")
				return ctx
			},
			onEnd:    func(*spans.Span) { order = append(order, name+" end") },
			afterEnd: func(*spans.Span) time.Duration { order = append(order, name+" after"); return 0 },
		}
	}
	tp := wrapSDK(t, spans.WithHook(hook("a")), spans.WithHook(plainHook{hook("b")}), spans.WithHook(hook("c")))
	_, s := tp.Tracer("").Start(context.Background(), "x")
	s.End()
	s.End() // once only
	if got, want := fmt.Sprint(order), "[a start b start c start a end b end c end a after c after]"; got != want {
		t.Errorf("calls %s, want %s", got, want)
	}
}

func TestHookContextReachesTheCallerWithTheSpan(t *testing.T) {
	var inHook trace.Span
	var session *spans.Session
	for _, c := range []struct {
		name   string
		change func(context.Context) context.Context
		value  any
	}{
		{"derived", func(ctx context.Context) context.Context { return context.WithValue(ctx, hookKey{}, 1) }, 1},
		{"nil", func(context.Context) context.Context { return nil }, nil},
		{"unrelated", func(context.Context) context.Context { return context.WithValue(context.Background(), hookKey{}, 2) }, 2},
	} {
		h := &recordingHook{onStart: func(ctx context.Context, r *spans.Span) context.Context {
			inHook, session = trace.SpanFromContext(ctx), spans.SessionFromContext(ctx)
			if got := spans.SpanFromContext(ctx); got != r {
				t.Errorf("%s: SpanFromContext in OnStart = %p, want the region %p", c.name, got, r)
			}
			return c.change(ctx)
		}}
		next := &recordingHook{}
		tp := wrapSDK(t, spans.WithHook(h), spans.WithHook(next))
		ctx, s := tp.Tracer("").Start(context.Background(), "x")
		if trace.SpanFromContext(ctx) != s || inHook != s {
			t.Errorf("%s: the span in the context is %T, in the hook %T, want the one returned", c.name, trace.SpanFromContext(ctx), inHook)
		}
		if got := ctx.Value(hookKey{}); got != c.value {
			t.Errorf("%s: value %v in the context, want %v", c.name, got, c.value)
		}
		if session == nil || session != spans.SessionFromContext(ctx) {
			t.Errorf("%s: session %v in the hook, %v after", c.name, session, spans.SessionFromContext(ctx))
		}
		s.End()
		if got := fmt.Sprint(next.names()); got != "[start x end x after x]" {
			t.Errorf("%s: the next hook saw %s", c.name, got)
		}
	}
}

func TestHookAttributesReachTheSpanUntilItEnds(t *testing.T) {
	sdk, ended := newRecorded()
	set := func(r *spans.Span, when string) {
		r.SetAttributes(attribute.Bool(when, true))
	}
	h := &recordingHook{
		onStart: func(ctx context.Context, r *spans.Span) context.Context { set(r, "start"); return ctx },
		onEnd:   func(r *spans.Span) { set(r, "end") },
		afterEnd: func(r *spans.Span) time.Duration {
			if r.IsRecording() {
				t.Error("the span still records in AfterEnd")
			}
			set(r, "after")
			return 0
		},
	}
	_, s := wrap(t, sdk, spans.WithHook(h)).Tracer("").Start(context.Background(), "x")
	s.End()
	got := ended.Ended()[0]
	want := []attribute.KeyValue{attribute.Bool("start", true), attribute.Bool("end", true)}
	if !slices.Equal(got.Attributes(), want) {
		t.Errorf("attributes %v, want %v", got.Attributes(), want)
	}
}

func TestAfterEndSeesFinalTimes(t *testing.T) {
	var duration, self []time.Duration
	h := &recordingHook{
		onEnd: func(r *spans.Span) {
			if r.Ended() {
				t.Error("Ended() in OnEnd")
			}
		},
		afterEnd: func(r *spans.Span) time.Duration {
			if !r.Ended() {
				t.Error("not Ended() in AfterEnd")
			}
			duration, self = append(duration, r.Duration()), append(self, r.SelfTime())
			return 0
		},
	}
	tp := wrapSDK(t, spans.WithHook(h))
	ctx, parent := tp.Tracer("").Start(context.Background(), "parent", at(0))
	_, child := tp.Tracer("").Start(ctx, "child", at(10*ms))
	child.End(at(15 * ms))
	_, late := tp.Tracer("").Start(ctx, "late", at(20*ms))
	region := spans.SpanFromContext(ctx)
	parent.End(at(30 * ms))
	late.End(at(100 * ms))
	if want := []time.Duration{5 * ms, 30 * ms, 80 * ms}; !slices.Equal(duration, want) {
		t.Errorf("durations %v, want %v", duration, want)
	}
	if want := []time.Duration{5 * ms, 15 * ms, 80 * ms}; !slices.Equal(self, want) {
		t.Errorf("self times %v, want %v", self, want)
	}
	if region.Duration() != 30*ms || region.SelfTime() != 15*ms {
		t.Errorf("after all the parent has %v and %v self, want 30ms and 15ms as before", region.Duration(), region.SelfTime())
	}
}

// TestInsertedDelayBelongsToNobody holds that the time that AfterEnd sleeps is neither the
// child's nor the parent's self time, and is taken off the parents' durations.
func TestInsertedDelayBelongsToNobody(t *testing.T) {
	for _, sampler := range []sdktrace.Sampler{sdktrace.AlwaysSample(), sdktrace.NeverSample()} {
		synctest.Test(t, func(t *testing.T) {
			sdk, ended := newRecorded(sdktrace.WithSampler(sampler))
			var session time.Duration
			h := &recordingHook{afterEnd: func(r *spans.Span) time.Duration {
				if r.Name() != "child" {
					session = r.Session().Delay()
					return -time.Hour // ignored
				}
				time.Sleep(7 * ms)
				return 7 * ms
			}}
			tp := wrap(t, sdk, spans.WithHook(h))
			tr := tp.Tracer("")
			ctx, root := tr.Start(context.Background(), "root")
			ctx, parent := tr.Start(ctx, "parent")
			time.Sleep(10 * ms)
			for range 2 {
				_, child := tr.Start(ctx, "child")
				time.Sleep(20 * ms)
				child.End()
			}
			time.Sleep(5 * ms)
			parent.End()
			root.End()

			for name, want := range map[string]struct{ total, self time.Duration }{
				"child": {40 * ms, 40 * ms}, "parent": {55 * ms, 15 * ms}, "root": {55 * ms, 0},
			} {
				if r := regionOf(t, tp, name); r.Total != want.total || r.Self != want.self {
					t.Errorf("%s %s: total %v, self %v; want %v, %v", sampler.Description(), name, r.Total, r.Self, want.total, want.self)
				}
			}
			rec := storedOne(t, tp)
			for name, want := range map[string]struct{ duration, delay time.Duration }{
				"child": {20 * ms, 7 * ms}, "parent": {69 * ms, 14 * ms}, "root": {69 * ms, 14 * ms},
			} {
				if s := spanOf(t, rec, name); s.Duration != want.duration || s.Delay != want.delay {
					t.Errorf("%s %s in the record: %v, delay %v; want %v, %v", sampler.Description(), name, s.Duration, s.Delay, want.duration, want.delay)
				}
			}
			if session != 14*ms {
				t.Errorf("the session's delay is %v, want 14ms", session)
			}
			for _, s := range ended.Ended() {
				var got time.Duration
				for _, kv := range s.Attributes() {
					if kv.Key == naming.DelayKey {
						got = time.Duration(kv.Value.AsInt64())
					}
				}
				if want := map[string]time.Duration{"child": 0, "parent": 14 * ms, "root": 14 * ms}[s.Name()]; got != want {
					t.Errorf("%s of span %s is %v, want %v", naming.DelayKey, s.Name(), got, want)
				}
			}
		})
	}
}

func TestPanickingHooksAreRecoveredAndCounted(t *testing.T) {
	boom := &recordingHook{
		onStart:  func(context.Context, *spans.Span) context.Context { panic("start") },
		onEnd:    func(*spans.Span) { panic("end") },
		afterEnd: func(*spans.Span) time.Duration { panic("after") },
	}
	calm := &recordingHook{}
	tp := wrapSDK(t, spans.WithHook(boom), spans.WithHook(calm))
	ctx, s := tp.Tracer("").Start(context.Background(), "x", at(0))
	if trace.SpanFromContext(ctx) != s {
		t.Error("the span is not in its context")
	}
	s.End(at(ms))
	if got := tp.Dropped().HookPanics; got != 3 {
		t.Errorf("HookPanics = %d, want 3", got)
	}
	if got := fmt.Sprint(calm.names()); got != "[start x end x after x]" {
		t.Errorf("the other hook saw %s", got)
	}
	if r := regionOf(t, tp, "x"); r.Count != 1 || r.Total != ms {
		t.Errorf("%d spans of %v, want 1 of 1ms", r.Count, r.Total)
	}
	if got := endPanicking(tp, "y"); got[0] != "boom" {
		t.Errorf("the application's panic became %v", got[0])
	}
}

func TestHookSeesTheRegion(t *testing.T) {
	deadline := time.Now().Add(time.Hour)
	var seen []*spans.Span
	h := &recordingHook{onStart: func(ctx context.Context, r *spans.Span) context.Context {
		seen = append(seen, r)
		return ctx
	}}
	tp := wrapSDK(t, spans.WithHook(h))
	tr := tp.Tracer("scope")
	ctx, parent := tr.Start(context.Background(), "parent", at(ms), trace.WithSpanKind(trace.SpanKindServer))
	timeout, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	childCtx, child := tr.Start(timeout, "child", trace.WithSpanKind(trace.SpanKindClient))

	p, c := seen[0], seen[1]
	if c.Parent() != p || p.Parent() != nil {
		t.Errorf("Parent() = %p and %p, want nil and %p", p.Parent(), c.Parent(), p)
	}
	if p.SessionID() != c.SessionID() || !c.SessionID().IsValid() || spans.SessionFromContext(ctx).ID() != c.SessionID() {
		t.Errorf("session %v, child's %v, context's %v: want one", p.SessionID(), c.SessionID(), spans.SessionFromContext(ctx).ID())
	}
	if _, ok := p.Deadline(); ok {
		t.Error("the parent has a deadline")
	}
	if got, ok := c.Deadline(); !ok || !got.Equal(deadline) {
		t.Errorf("Deadline() = %v, %t, want %v", got, ok, deadline)
	}
	if p.Kind() != trace.SpanKindServer || c.Kind() != trace.SpanKindClient || p.Scope().Name != "scope" || p.Name() != "parent" {
		t.Errorf("kinds %v, %v, scope %q, name %q", p.Kind(), c.Kind(), p.Scope().Name, p.Name())
	}
	if !p.Start().Equal(begin.Add(ms)) {
		t.Errorf("Start() = %v, want %v", p.Start(), begin.Add(ms))
	}
	if !p.SpanContext().Equal(parent.SpanContext()) || !c.IsRecording() || p.Session() != c.Session() {
		t.Errorf("span context %v, recording %t", p.SpanContext(), c.IsRecording())
	}
	if got := spans.SpanFromContext(childCtx); got != c {
		t.Errorf("SpanFromContext = %p, want %p", got, c)
	}
	if got := spans.SpanFromContext(context.Background()); got != nil {
		t.Errorf("SpanFromContext of an empty context = %p, want nil", got)
	}
	child.End()
	parent.End()
}

// A delay takes as long as it did, whatever end the caller has given the span.
func TestDelayAfterAGivenEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &recordingHook{afterEnd: func(r *spans.Span) time.Duration {
			if r.Name() != "child" {
				return 0
			}
			time.Sleep(time.Millisecond)
			return time.Millisecond
		}}
		tp := wrapSDK(t, spans.WithHook(h))
		ctx, parent := tp.Tracer("").Start(context.Background(), "parent")
		time.Sleep(100 * time.Millisecond)
		n := time.Now()
		_, c := tp.Tracer("").Start(ctx, "child", trace.WithTimestamp(n.Add(-90*time.Millisecond)))
		c.End(trace.WithTimestamp(n.Add(-80 * time.Millisecond)))
		parent.End()
		if r := regionOf(t, tp, "parent"); r.Total != 100*time.Millisecond || r.Self != 90*time.Millisecond {
			t.Errorf("total %v, self %v; want 100ms, 90ms", r.Total, r.Self)
		}
	})
}

// A span processor that panics leaves no span that is half ended.
func TestProcessorThatPanics(t *testing.T) {
	tp := wrap(t, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(panicking{})))
	_, s := tp.Tracer("").Start(context.Background(), "x")
	if caught(func() { s.End() }) != "boom" {
		t.Error("the panic is gone")
	}
	if n := regionOf(t, tp, "x").Count; n != 1 {
		t.Errorf("%d spans, want 1", n)
	}
}

type panicking struct{ sdktrace.SpanProcessor }

func (panicking) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (panicking) OnEnd(sdktrace.ReadOnlySpan)                     { panic("boom") }
func (panicking) Shutdown(context.Context) error                  { return nil }
func (panicking) ForceFlush(context.Context) error                { return nil }

// Our own requests start no spans while nothing is recorded either, which the next request would
// export.
func TestOwnRequestsWhileIdle(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	p := wrap(t, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)), spans.WithoutRecording())
	_, s := p.Tracer("net/http").Start(own.Context(context.Background()), "POST /v1/traces")
	s.End()
	if n := len(recorder.Ended()); n != 0 {
		t.Errorf("%d spans, want none", n)
	}
}

// A child of 1970 takes all of its parent's time, and no more.
func TestChildOf1970(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := wrapSDK(t)
		ctx, parent := tp.Tracer("").Start(context.Background(), "parent")
		_, c := tp.Tracer("").Start(ctx, "child", trace.WithTimestamp(time.Unix(0, 0)))
		time.Sleep(10 * time.Millisecond)
		c.End()
		parent.End()
		if got := regionOf(t, tp, "parent").Self; got != 0 {
			t.Errorf("self time %v, want 0", got)
		}
	})
}
