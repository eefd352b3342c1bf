package spans_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/spans"
)

// discard is a span processor that does nothing.
type discard struct{}

func (discard) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (discard) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (discard) Shutdown(context.Context) error                  { return nil }
func (discard) ForceFlush(context.Context) error                { return nil }

func newSDK(s sdktrace.Sampler) *sdktrace.TracerProvider {
	return sdktrace.NewTracerProvider(sdktrace.WithSampler(s), sdktrace.WithSpanProcessor(discard{}))
}

// perSession is the number of spans below each root in the benchmarks.
const perSession = 64

// span starts and ends the n-th span of a loop: a child of *root, which is renewed.
func span(tr trace.Tracer, root *trace.Span, ctx *context.Context, n int) {
	if n%perSession == 0 {
		if *root != nil {
			(*root).End()
		}
		*ctx, *root = tr.Start(context.Background(), "root")
	}
	_, s := tr.Start(*ctx, "op")
	s.End()
}

func BenchmarkSpan(b *testing.B) {
	for _, sampler := range []sdktrace.Sampler{sdktrace.AlwaysSample(), sdktrace.NeverSample()} {
		sdk := newSDK(sampler)
		idle := spans.WrapTracerProvider(newSDK(sampler), spans.WithoutRecording())
		full := spans.WrapTracerProvider(newSDK(sampler))
		defer func() { _ = idle.Shutdown(context.Background()); _ = full.Shutdown(context.Background()) }()
		for _, c := range []struct {
			name string
			tp   trace.TracerProvider
		}{{"sdk", sdk}, {"idle", idle}, {"full", full}} {
			for _, goroutines := range []int{1, 2} {
				b.Run(fmt.Sprintf("sampler=%s/%s/goroutines=%d", sampler.Description(), c.name, goroutines), func(b *testing.B) {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(goroutines))
					tr := c.tp.Tracer("bench")
					b.ReportAllocs()
					b.RunParallel(func(pb *testing.PB) {
						var (
							root trace.Span
							ctx  context.Context
						)
						for n := 0; pb.Next(); n++ {
							span(tr, &root, &ctx, n)
						}
					})
				})
			}
		}
	}
}

// TestSpanAllocs holds the price of a wrapped span: one allocation more than the SDK's own.
func TestSpanAllocs(t *testing.T) {
	measure := func(tp trace.TracerProvider) float64 {
		tr := tp.Tracer("allocs")
		ctx, root := tr.Start(context.Background(), "root")
		defer root.End()
		return testing.AllocsPerRun(500, func() {
			_, s := tr.Start(ctx, "op")
			s.End()
		})
	}
	for _, sampler := range []sdktrace.Sampler{sdktrace.AlwaysSample(), sdktrace.NeverSample()} {
		bare := measure(newSDK(sampler))
		for _, recording := range []bool{false, true} {
			tp := spans.WrapTracerProvider(newSDK(sampler))
			tp.SetRecording(recording)
			if got := measure(tp) - bare; got > 1 {
				t.Errorf("%s, recording %t: %v allocations more than the SDK, want at most 1", sampler.Description(), recording, got)
			}
			if err := tp.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		}
	}
}
