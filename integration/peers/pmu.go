package main

import (
	"context"
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelprof/otelprof/pmuattrs"
	"github.com/otelprof/otelprof/spans"
)

// pmuFigures compare reading counters to reading them one by one, and spans with a hook that reads
// them to spans without. What the machine or the user cannot have is left out: the first without
// perf_event_open, all on systems other than Linux.
func pmuFigures() []figure {
	var list []figure
	if s, err := openGroup(); err == nil {
		_ = s.close() // nothing was measured
		list = append(list, figure{
			name: "pmu_read_group4", ours: must(openGroup), peer: must(openSeparately),
			records: true, goroutines: 1, procs: 1, target: target{x: 3},
		})
	}
	h, err := pmuattrs.NewHook()
	if err != nil {
		return list
	}
	sampled := "pmu_hook_sampled"
	if h.Source() == pmuattrs.SourceUsage {
		sampled = "pmu_hook_fallback"
	}
	_ = h.Shutdown(context.Background()) // nothing was measured

	// What a hook costs that has nothing to do drowns in what recording and sessions do, so these
	// are left out.
	never := sdktrace.NeverSample()
	unsampled := func() *side {
		s := withHook(never, 1_000_000_000, noSessions)
		s.lost = nil
		return s
	}
	always := sdktrace.AlwaysSample()
	list = append(list,
		figure{
			name: "pmu_hook_unsampled", ours: unsampled, peer: func() *side { return regions(never) },
			perTrace: batch, goroutines: 1, procs: 1, target: target{deltaNs: 25},
		},
		figure{
			name: sampled, ours: func() *side { return withHook(always, 1) }, peer: func() *side { return full(always) },
			perTrace: batch, goroutines: 1, procs: 1,
		})
	return list
}

// must is for sides that could be made a moment ago.
func must(create func() (*side, error)) func() *side {
	return func() *side {
		s, err := create()
		if err != nil {
			panic(err)
		}
		return s
	}
}

// withHook is our wrapper with a hook that measures 1 in n spans.
func withHook(s sdktrace.Sampler, n int, opts ...spans.Option) *side {
	h, err := pmuattrs.NewHook(pmuattrs.WithSampling(n))
	if err != nil {
		panic(err) // a moment ago there was one
	}
	ours := withSessions(fmt.Sprintf("otelprof-%s-1in%d", h.Source(), n), s, append(opts, spans.WithHook(h))...)
	return ours.then(func() error { return h.Shutdown(context.Background()) })
}
