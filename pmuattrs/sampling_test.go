package pmuattrs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelprof/otelprof/spans"
)

func TestHookSampling(t *testing.T) {
	const n = 20_000
	for _, tt := range []struct {
		opts  []HookOption
		every float64 // 1 in every is measured, 0 for none
	}{
		{[]HookOption{WithSampling(0)}, 0},
		{[]HookOption{WithSampling(1)}, 1},
		{[]HookOption{WithSampling(10)}, 10},
		{[]HookOption{WithSampling(0), WithRegions("price *", 5)}, 5},
		{[]HookOption{WithRegions("price cart", 0), WithRegions("*", 1)}, 0},
		{[]HookOption{WithScopes("te?t", 5), WithRegions("*", 0)}, 5},
		{[]HookOption{WithScopes("other", 1), WithSampling(10)}, 10},
	} {
		h := fakeHook(t, newFakeThreads([]Event{Cycles}, 1000), tt.opts...)
		tp := spans.WrapTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())), spans.WithHook(h))
		tr := tp.Tracer("test")
		for range n {
			span(tr, "price cart")
		}
		_ = tp.Shutdown(t.Context())
		var want, deviation float64
		if tt.every > 0 {
			want = n / tt.every
			deviation = math.Sqrt(want * (1 - 1/tt.every))
		}
		if got := float64(h.Stats().Counted); math.Abs(got-want) > 6*deviation {
			t.Errorf("%v: %g of %d spans measured, want %g ± %.0f", h.rules, got, n, want, 6*deviation)
		}
	}
}

// Names beyond the names that have a place of their own still have rules of their own.
func TestHookSamplingManyNames(t *testing.T) {
	h := fakeHook(t, newFakeThreads([]Event{Cycles}, 1000), WithRegions("odd *", 0))
	tp := spans.WrapTracerProvider(sdktrace.NewTracerProvider(), spans.WithHook(h), spans.WithMaxRegions(2))
	defer tp.Shutdown(t.Context())
	tr := tp.Tracer("test")
	for i := range 20 {
		span(tr, []string{"even ", "odd "}[i%2]+fmt.Sprint(i))
	}
	if got := h.Stats().Counted; got != 10 {
		t.Errorf("%d spans measured, want 10", got)
	}
	got := map[string]uint64{}
	for _, r := range h.Regions() {
		got[r.Name] = r.Spans
	}
	if diff := cmp.Diff(map[string]uint64{"even 0": 1, "other": 9}, got); diff != "" {
		t.Errorf("spans by region (-want +got):\n%s", diff)
	}
}

func TestNewHookRejects(t *testing.T) {
	for text, opt := range map[string]HookOption{
		"sampling: 1 in -1: must be in [0, 1e+09]":  WithSampling(-1),
		"regions: 1 in -5":                          WithRegions("*", -5),
		"scopes: 1 in 2000000000":                   WithScopes("*", 2_000_000_000),
		"0 events: must be in [1, 8]":               WithEvents(),
		"9 events: must be in [1, 8]":               WithEvents(named[:9]...),
		"cycles: must not be given twice":           WithEvents(Cycles, Cycles),
		"cpu_time: no counter counts it":            WithEvents(CPUTime),
		"number 1 of 1: must not be the zero event": WithEvents(Event{}),
	} {
		h, err := NewHook(opt)
		if err == nil {
			_ = h.Shutdown(context.Background())
		}
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), text) {
			t.Errorf("NewHook = %v, want an error that wraps ErrConfig and says %q", err, text)
		}
	}
	_, err := NewHook(WithSampling(-1), WithEvents())
	if err == nil || !strings.Contains(err.Error(), "sampling") || !strings.Contains(err.Error(), "0 events") {
		t.Errorf("NewHook = %v, want both problems", err)
	}
}

// benchmarkSpans starts and ends spans. If they are not recorded they are cheap, and what a hook
// adds is seen better.
func benchmarkSpans(b *testing.B, record sdktrace.Sampler, hooks ...*Hook) {
	var opts []spans.Option
	for _, h := range hooks {
		opts = append(opts, spans.WithHook(h))
	}
	tp := spans.WrapTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSampler(record)), opts...)
	defer tp.Shutdown(context.Background())
	tr := tp.Tracer("test")
	ctx, root := tr.Start(context.Background(), "root")
	defer root.End()
	b.ReportAllocs()
	for b.Loop() {
		_, s := tr.Start(ctx, "child")
		s.End()
	}
}

func BenchmarkHook(b *testing.B) {
	always, never := sdktrace.AlwaysSample(), sdktrace.NeverSample()
	b.Run("none", func(b *testing.B) { benchmarkSpans(b, never) })
	b.Run("unsampled", func(b *testing.B) { benchmarkSpans(b, never, realHook(b, WithSampling(1e9))) })
	b.Run("unsampled/rules=3", func(b *testing.B) {
		benchmarkSpans(b, never, realHook(b, WithRegions("POST *", 1), WithRegions("price *", 1), WithRegions("child", 1e9)))
	})
	b.Run("recorded/none", func(b *testing.B) { benchmarkSpans(b, always) })
	b.Run("recorded/sampled", func(b *testing.B) { benchmarkSpans(b, always, realHook(b)) })
	b.Run("recorded/sampled/fake", func(b *testing.B) {
		benchmarkSpans(b, always, fakeHook(b, newFakeThreads(defaultEvents(), 1, 2, 3, 4)))
	})
}

// What a span in the sample allocates is the SDK's room for the attributes.
func TestHookAllocs(t *testing.T) {
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("the race detector makes sync.Pool forget")
	}
	measure := func(record sdktrace.Sampler, opts ...spans.Option) float64 {
		tp := spans.WrapTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSampler(record)), opts...)
		defer tp.Shutdown(t.Context())
		tr := tp.Tracer("test")
		ctx, root := tr.Start(t.Context(), "root")
		defer root.End()
		return testing.AllocsPerRun(1000, func() {
			_, s := tr.Start(ctx, "child")
			s.End()
		})
	}
	for name, tt := range map[string]struct {
		record sdktrace.Sampler
		every  int
		want   float64
	}{
		"not in the sample": {sdktrace.AlwaysSample(), 1e9, 0},
		"not recorded":      {sdktrace.NeverSample(), 1, 0},
		"recorded":          {sdktrace.AlwaysSample(), 1, 1},
	} {
		h := realHook(t, WithSampling(tt.every))
		if got := measure(tt.record, spans.WithHook(h)) - measure(tt.record); got > tt.want {
			t.Errorf("%s: %v allocations more than without a hook, want %v", name, got, tt.want)
		}
	}
}
