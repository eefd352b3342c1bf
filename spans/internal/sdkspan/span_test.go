package sdkspan

import (
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// TestSDKSpanIsKnown fails when the SDK's spans have changed, so that each look costs a lock again.
func TestSDKSpanIsKnown(t *testing.T) {
	if Learn() == nil {
		t.Fatal("what is read of this SDK's spans is not where it is looked for")
	}
}

// What is read past the SDK's lock is what its methods return, and spans of other types are asked
// by theirs.
func TestSDKSpanIsWhatItsMethodsSay(t *testing.T) {
	type wrapped struct{ sdktrace.ReadWriteSpan }
	tr := sdktrace.NewTracerProvider().Tracer("times")
	given := time.Date(2001, 2, 3, 4, 5, 6, 7, time.FixedZone("zone", 3600))
	for _, sdk := range []*Layout{Learn(), nil} {
		for _, c := range []struct {
			start []trace.SpanStartOption
			set   func(trace.Span)
			end   []trace.SpanEndOption
		}{
			{},
			{start: []trace.SpanStartOption{trace.WithTimestamp(given)}},
			{end: []trace.SpanEndOption{trace.WithTimestamp(given)}},
			{start: []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer), trace.WithLinks(trace.Link{})}},
			{set: func(s trace.Span) { s.SetStatus(codes.Error, "why") }},
			{set: func(s trace.Span) { s.AddEvent("event") }},
		} {
			_, span := tr.Start(context.Background(), "span", c.start...)
			recording := span.(sdktrace.ReadWriteSpan)
			if c.set != nil {
				c.set(span)
			}
			for range 2 { // open and ended
				for _, s := range []sdktrace.ReadWriteSpan{recording, wrapped{recording}} {
					if got, want := sdk.Start(s), s.StartTime(); got != want {
						t.Errorf("%T starts at %v, want %v", s, got, want)
					}
					if got, want := sdk.End(s), s.EndTime(); got != want {
						t.Errorf("%T ends at %v, want %v", s, got, want)
					}
					if got, want := sdk.Kind(s), s.SpanKind(); got != want {
						t.Errorf("%T is of kind %v, want %v", s, got, want)
					}
					if got, want := sdk.Status(s), s.Status(); got != want {
						t.Errorf("%T has status %v, want %v", s, got, want)
					}
					if got, want := sdk.HasEvents(s), len(s.Events()) != 0; got != want && (!got || sdk != nil && s == recording) {
						t.Errorf("%T may have events: %t, want %t", s, got, want)
					}
					if got, want := sdk.HasLinks(s), len(s.Links()) != 0; got != want && (!got || sdk != nil && s == recording) {
						t.Errorf("%T may have links: %t, want %t", s, got, want)
					}
				}
				span.End(c.end...)
			}
		}
	}
}
