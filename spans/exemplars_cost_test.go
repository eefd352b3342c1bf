package spans

import (
	"context"
	"strconv"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// spansInList is how many spans [endedSpans] returns.
const spansInList = 64

// endedSpans returns a session's list of spans that have ended, as the worker takes it, and the
// provider, with readers readers.
func endedSpans(t testing.TB, readers int) (*TracerProvider, *Span) {
	t.Helper()
	tp := WrapTracerProvider(sdktrace.NewTracerProvider())
	for range readers {
		NewProducer(tp, metricdata.CumulativeTemporality)
	}
	tr := tp.Tracer("shop")
	ctx, root := tr.Start(context.Background(), "root")
	for range spansInList {
		_, s := tr.Start(ctx, "op")
		s.End()
	}
	t.Cleanup(func() {
		root.End() // until now the list is the session's
		_ = tp.Shutdown(context.Background())
	})
	return tp, SessionFromContext(ctx).finished.Load()
}

// TestExemplarAllocs holds what the worker pays for a region that it knows.
func TestExemplarAllocs(t *testing.T) {
	_, list := endedSpans(t, 2)
	offerExemplars(list)
	if n := testing.AllocsPerRun(100, func() { offerExemplars(list) }); n != 0 {
		t.Errorf("%v allocations for %d spans, want none", n, spansInList)
	}
}

// BenchmarkExemplars is what a span costs the worker more, by the number of readers.
func BenchmarkExemplars(b *testing.B) {
	for _, readers := range []int{0, 1, 2} {
		b.Run(strconv.Itoa(readers)+" readers", func(b *testing.B) {
			_, list := endedSpans(b, readers)
			for b.Loop() {
				offerExemplars(list)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/spansInList, "ns/span")
		})
	}
}
