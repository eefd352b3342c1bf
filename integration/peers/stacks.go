package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/google/pprof/profile"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/stacks"
)

// stacksFigures compare spans that label their goroutine with spans that do not, a program whose
// stacks are sampled with the same one without, and merging of stacks with google/pprof's.
func stacksFigures() []figure {
	always, never := sdktrace.AlwaysSample(), sdktrace.NeverSample()
	return []figure{
		{
			name: "stacks_label", ours: func() *side { return labeled(always) }, peer: func() *side { return regions(always) },
			perTrace: batch, goroutines: 1, procs: 1, target: target{deltaNs: 50, deltaAllocs: 0.01},
		},
		{
			name: "stacks_label_unsampled", ours: func() *side { return labeled(never) }, peer: func() *side { return regions(never) },
			perTrace: batch, goroutines: 1, procs: 1, target: target{deltaNs: 25, deltaAllocs: 0.01},
		},
		{
			name: "stacks_overhead", ours: profiled, peer: func() *side { return &side{name: "unprofiled", record: compute} },
			records: true, goroutines: 1, procs: 1, target: target{x: 0.98},
		},
		{
			name: "stacks_merge", ours: mergeTrees, peer: mergeProfiles,
			records: true, goroutines: 1, procs: 1,
		},
	}
}

func mustProfiler(opts ...stacks.Option) *stacks.Profiler {
	p, err := stacks.NewProfiler(opts...)
	if err != nil {
		panic(err) // the options are in range
	}
	return p
}

// labeled has spans that label their goroutine. The peer's spans, which do not, are sampled at the
// same time, so that the difference is the label.
func labeled(s sdktrace.Sampler) *side {
	p := mustProfiler()
	ours := withoutSessions("otelprof-stacks", s, spans.WithHook(p.Hook()))
	return ours.then(func() error { return p.Shutdown(context.Background()) })
}

// compute takes some 7 ms, so that an arm of 64 lasts half a second and what it takes to begin and
// end sampling does not show.
func compute(float64) {
	sum := 0.0
	for i := range 1_000_000 {
		sum += math.Sin(float64(i))
	}
	runtime.KeepAlive(sum)
}

// profiled samples at 100 Hz while it computes, and not while the peer does.
func profiled() *side {
	p := mustProfiler(stacks.WithPaused())
	var errResume error
	running := false
	return &side{
		name: "otelprof-stacks-100hz",
		record: func(v float64) {
			if !running {
				running = true
				errResume = p.Resume()
			}
			compute(v)
		},
		settle: func() error {
			running = false
			p.Pause()
			return errResume
		},
		close: func() error { return p.Shutdown(context.Background()) },
	}
}

const (
	// An arm merges a million samples or more: windows times windowSamples times batch.
	windows       = 10
	windowSamples = 1_000_000 / batch / windows
)

// sampledStacks are those of windows: a trunk of ten calls, and branches.
func sampledStacks() [][][]stacks.Frame {
	r := rand.New(rand.NewPCG(3, 4))
	var known [][]stacks.Frame
	for range 400 {
		var stack []stacks.Frame
		for depth := 14 + r.IntN(12); depth >= 0; depth-- {
			of := 0
			if depth > 10 {
				of = r.IntN(4)
			}
			stack = append(stack, stacks.NewFrame(fmt.Sprintf("example.com/service/layer%d.(*Handler).call%d", depth, of), "handler.go", 10*depth+of))
		}
		known = append(known, stack)
	}
	all := make([][][]stacks.Frame, windows)
	for i := range all {
		for range windowSamples {
			all[i] = append(all[i], known[min(r.IntN(len(known)), r.IntN(len(known)))])
		}
	}
	return all
}

const nanosPerSample = int64(10 * time.Millisecond)

func sampledTrees() []*stacks.Tree {
	var trees []*stacks.Tree
	for _, window := range sampledStacks() {
		t := stacks.NewTree()
		for _, stack := range window {
			t.Add(stack, stacks.Weight{Samples: 1, Nanos: nanosPerSample})
		}
		trees = append(trees, t)
	}
	return trees
}

// mergeTrees makes one tree of those of the windows.
func mergeTrees() *side {
	trees := sampledTrees()
	return &side{name: "otelprof-tree", record: func(float64) {
		all := stacks.NewTree()
		for _, t := range trees {
			all.Merge(t)
		}
		if got := all.Total().Samples; got != windows*windowSamples {
			panic(fmt.Sprint("merged samples: ", got))
		}
	}}
}

// mergeProfiles does so with profiles in pprof's format that have the same samples.
func mergeProfiles() *side {
	var profiles []*profile.Profile
	for _, t := range sampledTrees() {
		var b bytes.Buffer
		r := stacks.Recording{Hz: 100, Regions: []stacks.RegionTree{{Tree: t}}}
		if err := r.WritePprof(&b); err != nil {
			panic(err) // a buffer takes everything
		}
		p, err := profile.Parse(&b)
		if err != nil {
			panic(err) // it has just been written
		}
		profiles = append(profiles, p)
	}
	return &side{name: "google/pprof-Merge", record: func(float64) {
		all, err := profile.Merge(profiles)
		if err != nil || len(all.Sample) == 0 {
			panic(fmt.Sprint("merged profiles: ", err))
		}
	}}
}
