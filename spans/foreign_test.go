package spans_test

import (
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/otelprof/otelprof/spans"
)

// foreignProvider is a provider that has nothing to do with the SDK. Its spans record.
type foreignProvider struct {
	embedded.TracerProvider
	last *foreignSpan
}

type foreignTracer struct {
	embedded.Tracer
	provider *foreignProvider
}

type foreignSpan struct {
	trace.Span // the parts that do nothing
	attributes []attribute.KeyValue
	events     []string
	ends       int
}

func (p *foreignProvider) Tracer(string, ...trace.TracerOption) trace.Tracer {
	return foreignTracer{provider: p}
}

func (t foreignTracer) Start(ctx context.Context, _ string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	s := &foreignSpan{Span: noop.Span{}}
	t.provider.last = s
	return trace.ContextWithSpan(ctx, s), s
}

func (s *foreignSpan) IsRecording() bool { return s.ends == 0 }

// SetAttributes keeps the slice: nothing says that it must not.
func (s *foreignSpan) SetAttributes(kv ...attribute.KeyValue) {
	if s.attributes == nil {
		s.attributes = kv
		return
	}
	s.attributes = append(s.attributes, kv...)
}

func (s *foreignSpan) AddEvent(name string, _ ...trace.EventOption) {
	s.events = append(s.events, name)
}
func (s *foreignSpan) End(...trace.SpanEndOption) { s.ends++ }

// bases are providers whose spans are not the SDK's recording ones.
func bases() map[string]trace.TracerProvider {
	never, _ := newRecorded(sdktrace.WithSampler(sdktrace.NeverSample()))
	var typedNil *sdktrace.TracerProvider
	return map[string]trace.TracerProvider{
		"never sampled": never,
		"noop":          noop.NewTracerProvider(),
		"nil":           nil,
		"typed nil":     typedNil,
		"foreign":       &foreignProvider{},
	}
}

func TestForeignSpansAreMeasured(t *testing.T) {
	for name, base := range bases() {
		t.Run(name, func(t *testing.T) {
			tp := wrap(t, base)
			tr := tp.Tracer("scope")
			ctx, parent := tr.Start(context.Background(), "parent", at(0), trace.WithSpanKind(trace.SpanKindServer))
			_, child := tr.Start(ctx, "child", at(10*ms), trace.WithAttributes(attribute.Int("ignored", 1)))
			child.SetStatus(codes.Error, "bad")
			child.SetName("renamed")
			child.End(at(40 * ms))
			child.End(at(90 * ms))
			parent.End(at(100 * ms))

			p, c := regionOf(t, tp, "parent"), regionOf(t, tp, "renamed")
			if p.Count != 1 || p.Errors != 0 || p.Total != 100*ms || p.Self != 70*ms || p.Kind != trace.SpanKindServer {
				t.Errorf("parent: %d spans, %d errors, total %v, self %v, kind %v; want 1, 0, 100ms, 70ms, server", p.Count, p.Errors, p.Total, p.Self, p.Kind)
			}
			if c.Count != 1 || c.Errors != 1 || c.Total != 30*ms || c.Self != 30*ms {
				t.Errorf("child: %d spans, %d errors, total %v, self %v; want 1, 1, 30ms, 30ms", c.Count, c.Errors, c.Total, c.Self)
			}
			rec := storedOne(t, tp)
			if rec.Name != "parent" || rec.Errors != 1 || len(rec.Spans) != 2 || rec.Duration != 100*ms || !rec.Start.Equal(begin) {
				t.Errorf("record %q of %d spans and %d errors, %v from %v", rec.Name, len(rec.Spans), rec.Errors, rec.Duration, rec.Start)
			}
			span := spanOf(t, rec, "renamed")
			if span.Parent != 0 || span.Depth != 1 || span.Start != 10*ms || span.Status != codes.Error || span.Sampled || len(span.Attributes) != 0 {
				t.Errorf("child in the record: %+v", span)
			}
		})
	}
}

func TestForeignSpansGetNothingInvented(t *testing.T) {
	base := &foreignProvider{}
	tr := wrap(t, base).Tracer("")
	_, s := tr.Start(context.Background(), "quiet")
	s.End()
	if f := base.last; len(f.attributes) != 0 || len(f.events) != 0 || f.ends != 1 {
		t.Errorf("a span got attributes %v, events %v and %d ends, want one end", f.attributes, f.events, f.ends)
	}
	_, s = tr.Start(context.Background(), "panicking")
	if got := caught(func() { defer s.End(); panic("boom") }); got != "boom" {
		t.Errorf("recovered %v, want boom", got)
	}
	if f := base.last; len(f.events) != 1 || f.events[0] != "exception" || f.ends != 1 {
		t.Errorf("a panicking span got events %v and %d ends, want one exception and one end", f.events, f.ends)
	}
}

// reusing is a hook that sets attributes from one slice.
type reusing struct{ attributes []attribute.KeyValue }

func (h *reusing) OnStart(ctx context.Context, _ *spans.Span) context.Context { return ctx }
func (h *reusing) OnEnd(r *spans.Span)                                        { r.SetAttributes(h.attributes...) }

func TestForeignSpansGetAttributesOfTheirOwn(t *testing.T) {
	base, h := &foreignProvider{}, &reusing{[]attribute.KeyValue{attribute.Int("set", 1)}}
	_, s := wrap(t, base, spans.WithHook(h)).Tracer("").Start(context.Background(), "a")
	s.End()
	h.attributes[0] = attribute.Int("used again", 2)
	if got := base.last.attributes; len(got) != 1 || got[0] != attribute.Int("set", 1) {
		t.Errorf("attributes %v, want those that the hook has set", got)
	}
}

func TestUnsampledSpansLetPanicsPass(t *testing.T) {
	for name, base := range bases() {
		tp := wrap(t, base)
		if got := endPanicking(tp, "a"); got[0] != "boom" {
			t.Errorf("%s: recovered %v, want boom", name, got)
		}
		if got := regionOf(t, tp, "a").Count; got != 1 {
			t.Errorf("%s: %d spans measured, want 1", name, got)
		}
	}
}

func TestUnsampledDurationsFollowTheClock(t *testing.T) {
	sdk, _ := newRecorded(sdktrace.WithSampler(sdktrace.NeverSample()))
	tp := wrap(t, sdk)
	before := time.Now()
	_, s := tp.Tracer("").Start(context.Background(), "a")
	s.End()
	if got, most := regionOf(t, tp, "a").Total, time.Since(before); got < 0 || got > most {
		t.Errorf("Total = %v, want between 0 and %v", got, most)
	}
}

func TestForeignAttributesInRecordOnlyWhenKnown(t *testing.T) {
	sdk, _ := newRecorded(sdktrace.WithSampler(sdktrace.ParentBased(byName{})))
	tp := wrap(t, sdk)
	_, s := tp.Tracer("").Start(context.Background(), "unsampled", trace.WithAttributes(attribute.Int("k", 1)))
	s.AddEvent("e")
	s.SetStatus(codes.Error, "text")
	s.End()
	span := storedOne(t, tp).Spans[0]
	if span.Attributes != nil || span.Events != nil || span.Links != nil || span.StatusText != "" || span.Sampled {
		t.Errorf("an unsampled span is recorded as %+v", span)
	}
	if span.Status != codes.Error || !span.SpanID.IsValid() {
		t.Errorf("status %v and id %v, want Error and an id", span.Status, span.SpanID)
	}
}

func TestWrappedTwiceIsMeasuredTwice(t *testing.T) {
	inner := wrapSDK(t)
	outer := wrap(t, inner)
	ctx, a := outer.Tracer("").Start(context.Background(), "a", at(0))
	_, b := outer.Tracer("").Start(ctx, "b", at(0))
	b.End(at(ms))
	a.End(at(2 * ms))
	for _, tp := range []*spans.TracerProvider{inner, outer} {
		if got := regionOf(t, tp, "a"); got.Count != 1 || got.Total != 2*ms {
			t.Errorf("%d spans of %v, want 1 of 2ms", got.Count, got.Total)
		}
	}
}

// TestChildDoesNotEndParent is about providers that return the span above from Start if that is not
// recording, as the one of package noop does, also where sessions are started in between.
func TestChildDoesNotEndParent(t *testing.T) {
	for sessions := range 3 {
		tp := wrap(t, noop.NewTracerProvider())
		tr := tp.Tracer("scope")
		ctx, parent := tr.Start(trace.ContextWithRemoteSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1},
		})), "parent")
		below := ctx
		for range sessions {
			below, _ = spans.StartSession(below, "import")
		}
		_, child := tr.Start(below, "child")
		child.SetName("renamed")
		child.End()
		if r := spans.SpanFromContext(ctx); r.Ended() || r.Name() != "parent" {
			t.Errorf("%d sessions: parent %q: ended %t with its child", sessions, r.Name(), r.Ended())
		}
		parent.End()
		if child, parent := regionOf(t, tp, "renamed"), regionOf(t, tp, "parent"); child.Count != 1 || parent.Count != 1 {
			t.Errorf("%d sessions: %d children and %d parents, want 1 each", sessions, child.Count, parent.Count)
		}
	}
}
