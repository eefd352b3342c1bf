package causal

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/engine/admission"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/spans"
)

// A bench is a provider whose spans take exactly as long as given, in a synctest bubble.
type bench struct {
	*testing.T
	c   *Controller
	tr  trace.Tracer
	run *engine.Run
}

// newBench applies a plan that inserts nothing by itself; see run.dilate.
func newBench(t *testing.T, caps plan.Limits, opts []Option, lines ...string) *bench {
	t.Helper()
	c := newController(t, append([]Option{WithExperiments(caps)}, opts...)...)
	tp := newProvider(t, c)
	r := force(t, c, mustParse(t, append([]string{idle, wideLimits}, lines...)...))
	return &bench{t, c, tp.Tracer("bench"), r}
}

// span runs one span of this duration and returns how long End held it up.
func (b *bench) span(ctx context.Context, name string, d time.Duration, opts ...trace.SpanStartOption) time.Duration {
	_, s := b.tr.Start(ctx, name, opts...)
	time.Sleep(d)
	before := time.Now()
	s.End()
	return time.Since(before)
}

func (b *bench) want(what string, got, want time.Duration) {
	b.Helper()
	if got != want {
		b.Errorf("%s: delayed by %v, want %v", what, got, want)
	}
}

func (b *bench) withheld(want map[string]uint64) {
	b.Helper()
	if diff := cmp.Diff(want, b.c.Status().Withheld); diff != "" {
		b.Errorf("Status().Withheld differs, -want +got:\n%s", diff)
	}
}

func TestDilationStretchesSelfTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t, wide, nil, `regions: [{span: "r*"}]`)
		ctx := context.Background()
		b.want("without a dilation", b.span(ctx, "r0", 10*time.Millisecond), 0)
		dilate(b.run, 0, experiment.SparesNone)
		b.want("by 0", b.span(ctx, "r0", 10*time.Millisecond), 0)
		dilate(b.run, 0.5, experiment.SparesNone)
		b.want("r0", b.span(ctx, "r0", 10*time.Millisecond), 5*time.Millisecond)
		b.want("r1", b.span(ctx, "r1", 4*time.Millisecond), 2*time.Millisecond)
		b.want("one that regions does not select", b.span(ctx, "other", 4*time.Millisecond), 2*time.Millisecond)
		b.want("an empty span", b.span(ctx, "r1", 0), 0)
		dilate(b.run, 0.5, 1)
		b.want("r0 with r1 spared", b.span(ctx, "r0", 10*time.Millisecond), 5*time.Millisecond)
		b.want("r1, spared", b.span(ctx, "r1", 4*time.Millisecond), 0)
		b.want("another with r1 spared", b.span(ctx, "other", 4*time.Millisecond), 2*time.Millisecond)
		if got, want := b.run.Seen(), []profile.Region{{Scope: "bench", Name: "r0"}, {Scope: "bench", Name: "r1"}}; !cmp.Equal(got, want) {
			t.Errorf("regions %v, want %v", got, want)
		}
		if got := b.c.Status().Spent; got != 16*time.Millisecond {
			t.Errorf("Status().Spent = %v, want 16ms", got)
		}
		b.withheld(map[string]uint64{})
	})
}

// Of a tree only self time is stretched, and delays below are no span's self time.
func TestDilationOfNestedSpans(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t, wide, nil)
		dilate(b.run, 1, experiment.SparesNone)
		ctx, root := b.tr.Start(context.Background(), "root")
		time.Sleep(3 * time.Millisecond)
		b.want("child", b.span(ctx, "child", 20*time.Millisecond), 20*time.Millisecond)
		time.Sleep(2 * time.Millisecond)
		Blocked(ctx, func() { time.Sleep(70 * time.Millisecond) })
		r := spans.SpanFromContext(ctx)
		before := time.Now()
		root.End()
		b.want("root", time.Since(before), 5*time.Millisecond)
		if got := r.SelfTime(); got != 5*time.Millisecond {
			t.Errorf("self time %v, want 5ms", got)
		}
		if got := r.Session().Delay(); got != 25*time.Millisecond {
			t.Errorf("session's delay %v, want 25ms", got)
		}
	})
}

func TestBlockedOutsideOfSpans(t *testing.T) {
	called := false
	Blocked(context.Background(), func() { called = true })
	if !called {
		t.Error("Blocked did not call f")
	}
}

func TestBlockedEndsWaitOnPanic(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t, wide, nil)
		ctx, s := b.tr.Start(context.Background(), "root")
		func() {
			defer func() { _ = recover() }()
			Blocked(ctx, func() { time.Sleep(time.Second); panic("in f") })
		}()
		time.Sleep(time.Millisecond)
		s.End()
		if got := spans.SpanFromContext(ctx).SelfTime(); got != time.Millisecond {
			t.Errorf("self time %v, want 1ms", got)
		}
	})
}

func TestDelayPerSpan(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		caps := wide
		caps.PerSpan = plan.Duration(5 * time.Millisecond)
		b := newBench(t, caps, nil)
		dilate(b.run, 1, experiment.SparesNone)
		b.want("at the limit", b.span(context.Background(), "a", 5*time.Millisecond), 5*time.Millisecond)
		b.want("above", b.span(context.Background(), "a", 5*time.Millisecond+1), 0)
		b.withheld(map[string]uint64{"limits.per_span": 1})
	})
}

func TestDelayPerTrace(t *testing.T) {
	for name, opts := range map[string][]spans.Option{
		"recorded": nil,
		// The limit holds for traces that are not recorded, too.
		"session filtered out": {spans.WithSessionFilter(func(context.Context, string) bool { return false })},
		"session full":         {spans.WithMaxSessionSpans(3)},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				caps := wide
				caps.PerTrace = plan.Duration(10 * time.Millisecond)
				c := newController(t, WithExperiments(caps))
				b := &bench{t, c, newProvider(t, c, opts...).Tracer("bench"), nil}
				b.run = force(t, c, mustParse(t, idle, wideLimits))
				dilate(b.run, 1, experiment.SparesNone)
				for range 2 { // each trace has its own
					ctx, root := b.tr.Start(context.Background(), "root")
					b.want("first", b.span(ctx, "a", 4*time.Millisecond), 4*time.Millisecond)
					inner, middle := b.tr.Start(ctx, "middle")
					b.want("second", b.span(inner, "a", 6*time.Millisecond), 6*time.Millisecond)
					b.want("third", b.span(inner, "a", 1), 0)
					middle.End()
					b.want("fourth", b.span(ctx, "a", time.Millisecond), 0)
					root.End()
				}
				b.withheld(map[string]uint64{"limits.per_trace": 4})
			})
		})
	}
}

func TestDelayDuty(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t, wide, nil)
		b.run.Guard.Duty = admission.NewDuty(0.05, 5*time.Millisecond, time.Now())
		dilate(b.run, 1, experiment.SparesNone)
		b.want("the first of 100 ms", b.span(context.Background(), "a", 4*time.Millisecond), 4*time.Millisecond)
		b.want("too much", b.span(context.Background(), "a", 3*time.Millisecond), 0)
		time.Sleep(120 * time.Millisecond)
		b.want("the next 100 ms", b.span(context.Background(), "a", 4*time.Millisecond), 4*time.Millisecond)
		b.withheld(map[string]uint64{"limits.duty": 1})
	})
}

func TestDelayDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t, wide, nil)
		dilate(b.run, 1, experiment.SparesNone)
		for _, tt := range []struct{ timeout, want time.Duration }{
			{30 * time.Millisecond, 10 * time.Millisecond}, // leaves twice the delay
			{30*time.Millisecond - 1, 0},
			{5 * time.Millisecond, 0}, // over already
		} {
			ctx, cancel := context.WithTimeout(context.Background(), tt.timeout)
			b.want(fmt.Sprintf("with a timeout of %v", tt.timeout), b.span(ctx, "a", 10*time.Millisecond), tt.want)
			cancel()
		}
		b.withheld(map[string]uint64{"deadline": 2})
	})
}

func TestDelayHealthChecks(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t, wide, []Option{WithHealthChecks("probe*"), WithHealthChecks("GET /up")}, `regions: [{span: "GET*"}]`)
		dilate(b.run, 1, experiment.SparesNone)
		exempt := []string{
			"GET /health", "GET /healthz", "GET /api/health/db", "GET /livez", "GET /readyz?verbose", "HEAD /ready", "GET /live",
			"GET /ping", "grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch", "probe", "probe 7", "GET /up",
		}
		for _, name := range exempt {
			b.want(name, b.span(context.Background(), name, time.Millisecond), 0)
		}
		for _, name := range []string{"GET /wealth", "GET /uploads", "GET /shopping", "a probe", "GET /live/tv"} {
			b.want(name, b.span(context.Background(), name, time.Millisecond), time.Millisecond)
		}
		b.withheld(map[string]uint64{"health_check": uint64(len(exempt))})
		if got := b.run.Guard.Counts().Distorting(); got != 0 {
			t.Errorf("%d delays distort, want 0: health checks are not what is measured", got)
		}
	})
}

func TestDelayConsumers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t, wide, nil)
		dilate(b.run, 1, experiment.SparesNone)
		for kind, want := range map[trace.SpanKind]time.Duration{
			trace.SpanKindConsumer: 0,
			trace.SpanKindInternal: time.Millisecond,
			trace.SpanKindServer:   time.Millisecond,
			trace.SpanKindProducer: time.Millisecond,
		} {
			b.want(kind.String(), b.span(context.Background(), kind.String(), time.Millisecond, trace.WithSpanKind(kind)), want)
		}
		b.withheld(map[string]uint64{})
	})
}

func TestDelayTotal(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		caps := wide
		caps.Total = plan.Duration(25 * time.Millisecond)
		b := newBench(t, caps, nil)
		dilate(b.run, 1, experiment.SparesNone)
		for range 2 {
			b.want("within", b.span(context.Background(), "a", 10*time.Millisecond), 10*time.Millisecond)
		}
		b.want("beyond", b.span(context.Background(), "a", 10*time.Millisecond), 0)
		b.want("later, though there is room", b.span(context.Background(), "a", time.Millisecond), 0)
		<-b.run.Done
		time.Sleep(time.Millisecond)
		s := b.c.Status()
		if s.State != StateSpent || s.Reason != "limits.total is used up" || s.Spent != 20*time.Millisecond {
			t.Errorf("Status() = %s, %q, spent %v", s.State, s.Reason, s.Spent)
		}
		b.withheld(map[string]uint64{"limits.total": 1})
	})
}

// A delay that its limit cuts short, by StopPlan say, is booked as long as it was.
func TestSpentIsWhatWasInserted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t, wide, nil)
		dilate(b.run, 1, experiment.SparesNone)
		b.run.Spin = func(_ int64, d time.Duration, valid func() bool) time.Duration {
			for spent := time.Duration(0); spent < d; spent += time.Millisecond {
				if !valid() {
					return spent
				}
				time.Sleep(time.Millisecond)
			}
			return d
		}
		time.AfterFunc(729500*time.Microsecond, func() { b.c.StopPlan("enough") })
		b.want("stopped on the way", b.span(context.Background(), "a", 700*time.Millisecond), 30*time.Millisecond)
		if got := b.c.Status().Spent; got != 30*time.Millisecond {
			t.Errorf("Status().Spent = %v, want 30ms", got)
		}
	})
}

func TestProgressCounts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t, wide, nil, `progress: [{span: "job *", type: throughput}, {span: "job b", type: throughput}, {span: item, type: throughput}]`)
		ctx := context.Background()
		b.span(ctx, "job a", time.Millisecond)
		b.span(ctx, "job b", time.Millisecond)
		b.span(ctx, "job", time.Millisecond)
		for range 5 {
			Progress(ctx, "item")
		}
		Progress(ctx, "job b")
		Progress(ctx, "nothing")
		want := []uint64{3, 2, 5}
		if diff := cmp.Diff(want, counts(b.run)); diff != "" {
			t.Errorf("visits differ, -want +got:\n%s", diff)
		}
		if err := b.c.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
		Progress(ctx, "item")
		b.span(ctx, "job a", time.Millisecond)
		if diff := cmp.Diff(want, counts(b.run)); diff != "" {
			t.Errorf("visits after the end differ, -want +got:\n%s", diff)
		}
	})
}

func TestProgressAllocs(t *testing.T) {
	c := newController(t)
	if err := c.Apply(mustParse(t, idle, "progress: [{span: item, type: throughput}]")); err != nil {
		t.Fatal(err)
	}
	if got := testing.AllocsPerRun(100, func() { Progress(t.Context(), "item") }); got != 0 {
		t.Errorf("Progress allocates %v times, want 0", got)
	}
}

// The number of regions is bounded, and so is the number of names that are looked up.
func TestRegionsAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t, wide, nil)
		dilate(b.run, 1, experiment.SparesNone)
		for i := range engine.MostVerdicts + 10 {
			b.want("any", b.span(context.Background(), fmt.Sprint("name", i), time.Microsecond), time.Microsecond)
		}
		if got := len(b.run.Seen()); got != design.MaxRegions {
			t.Errorf("%d regions, want %d", got, design.MaxRegions)
		}
		notes := strings.Join(b.c.Profile().Notes, "\n")
		if want := "only the first 64 regions that match are examined"; !strings.Contains(notes, want) {
			t.Errorf("Profile().Notes = %q, want %q", notes, want)
		}
	})
}

func counts(run *engine.Run) (n []uint64) {
	for _, v := range run.Visits() {
		n = append(n, v.Count)
	}
	return n
}
