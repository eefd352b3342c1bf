package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/spans"
)

// causalFigures compare spans, and a lock, with causal's to those without, or while it delays to
// those while it does not. Spans are neither recorded nor in sessions, since what the hook costs
// drowns in that.
func causalFigures() []figure {
	without := func() *side { return cycling(withoutSessions("otelprof-regions", sdktrace.NeverSample())) }
	return []figure{
		{
			name: "causal_idle", ours: func() *side { return cycling(withCausal("otelprof-causal-idle")) }, peer: without,
			perTrace: batch, goroutines: 1, procs: 1, target: target{deltaNs: 40},
		},
		{
			name: "causal_mutex_idle", ours: func() *side { return lockSide("causal.Mutex", new(causal.Mutex)) },
			peer: func() *side { return lockSide("sync.Mutex", new(sync.Mutex)) }, records: true, goroutines: 1, procs: 1,
		},
		{
			name: "causal_overlap", ours: overlapping, peer: func() *side { return working(withCausal("otelprof-causal-idle")) },
			records: true, goroutines: 1, procs: 1, target: target{x: 0.95},
		},
	}
}

// names are those of the children.
var names = [4]string{"parse", "price", "store", "reply"}

// cycler is a tracer that gives each span but roots one of the names in turn.
type cycler struct {
	trace.Tracer
	n *int
}

func (c cycler) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if name != "root" {
		name = names[*c.n%len(names)]
		*c.n++
	}
	return c.Tracer.Start(ctx, name, opts...)
}

func cycling(s *side) *side {
	s.tracer = cycler{s.tracer, new(int)}
	return s
}

// withCausal is our wrapper with the hook of a controller.
func withCausal(name string, opts ...causal.Option) *side {
	s, _ := controlled(name, opts...)
	return s
}

func controlled(name string, opts ...causal.Option) (*side, *causal.Controller) {
	c, err := causal.NewController(opts...)
	if err != nil {
		panic(err) // the options are constants in range
	}
	s := withoutSessions(name, sdktrace.NeverSample(), spans.WithHook(c.Hook()))
	return s.then(func() error { return c.Shutdown(context.Background()) }), c
}

// lockSide locks and unlocks.
func lockSide(name string, l sync.Locker) *side {
	return &side{name: name, record: func(float64) { l.Lock(); l.Unlock() }} //nolint:staticcheck // That is what is measured.
}

// work is how long a span takes whose throughput an experiment may lower.
const work = 50 * time.Microsecond

// working has an operation that is a span with some work in it.
func working(s *side) *side {
	tracer := s.tracer
	s.record = func(float64) {
		_, span := tracer.Start(context.Background(), "work")
		clock.Spin(clock.Now(), work, func() bool { return true })
		span.End()
	}
	return s
}

// overlapping is in an experiment about a region that never runs, so that there is nothing to
// delay: what it costs is the experiment itself.
func overlapping() *side {
	limits := plan.DefaultLimits()
	s, c := controlled("otelprof-causal-overlap", causal.WithExperiments(limits), causal.WithBreaker(plan.Abort{P99Ratio: 1000, ErrDelta: 1, Window: plan.Duration(time.Minute), MinSamples: 1000}))
	plan, err := plan.Parse(fmt.Appendf(nil, `{api: causal/v1, id: overlap, mode: overlap, expires_at: %q,
		regions: [{span: never}], progress: [{span: work, type: throughput}], grid: {speedups: [50], zero_weight: 0.1},
		timing: {warmup: 0s, experiment: 5m, cooloff: 0s, max_experiment: 5m}, abort: {p99_ratio: 1000, err_delta: 100%%, min_samples: 1}}`,
		time.Now().Add(30*time.Minute).UTC().Format(time.RFC3339)))
	if err == nil {
		err = c.Apply(plan)
	}
	if err != nil {
		panic(err)
	}
	working(s)
	_, span := s.tracer.Start(context.Background(), "never") // but once, to be known
	span.End()
	for deadline := time.Now().Add(20 * time.Second); len(c.Status().Experiment) < 3 || c.Status().Experiment[:3] != "all"; {
		s.record(0)
		if time.Now().After(deadline) {
			panic("no experiment: " + c.Status().Experiment + c.Status().Reason)
		}
	}
	return s
}
