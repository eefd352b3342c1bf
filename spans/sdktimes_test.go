package spans

import (
	"context"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// TestSDKTimesAreKnown fails when the SDK's spans have changed, so that each time costs a lock again.
func TestSDKTimesAreKnown(t *testing.T) {
	if learnTimes() == nil {
		t.Fatal("the times of this SDK's spans are not where they are looked for")
	}
}

// What is read past the SDK's lock is what its methods return, and spans of other types are asked by theirs.
func TestSDKTimesAreThoseOfTheMethods(t *testing.T) {
	type wrapped struct{ sdktrace.ReadWriteSpan }
	tr := sdktrace.NewTracerProvider().Tracer("times")
	given := time.Date(2001, 2, 3, 4, 5, 6, 7, time.FixedZone("zone", 3600))
	for _, times := range []*sdkTimes{learnTimes(), nil} {
		for _, c := range []struct {
			start []trace.SpanStartOption
			end   []trace.SpanEndOption
		}{
			{},
			{start: []trace.SpanStartOption{trace.WithTimestamp(given)}},
			{end: []trace.SpanEndOption{trace.WithTimestamp(given)}},
		} {
			_, span := tr.Start(context.Background(), "span", c.start...)
			recording := span.(sdktrace.ReadWriteSpan)
			for range 2 { // open and ended
				for _, s := range []sdktrace.ReadWriteSpan{recording, wrapped{recording}} {
					if got, want := times.startOf(s), s.StartTime(); got != want {
						t.Errorf("%T starts at %v, want %v", s, got, want)
					}
					if got, want := times.endOf(s), s.EndTime(); got != want {
						t.Errorf("%T ends at %v, want %v", s, got, want)
					}
				}
				span.End(c.end...)
			}
		}
	}
}
