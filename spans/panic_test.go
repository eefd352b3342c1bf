package spans_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/spans"
)

type failure struct{ code int }

func (f *failure) Error() string { return fmt.Sprint("failure ", f.code) }

type plain struct{ a, b int }

func TestEndRecordsPanicAsTheSDKDoes(t *testing.T) {
	start := func(tp trace.TracerProvider, name string) (context.Context, trace.Span) {
		return tp.Tracer("").Start(context.Background(), name)
	}
	unwound := func(do func(), opts ...trace.SpanEndOption) program {
		return func(tp trace.TracerProvider) []any {
			_, s := start(tp, "unwound")
			return []any{fmt.Sprint(caught(func() {
				defer s.End(opts...)
				do()
			}))}
		}
	}
	panicking := func(value any) program { return unwound(func() { panic(value) }) }
	var none map[string]int
	compareBoth(t, map[string]program{
		"string":        panicking("boom"),
		"number":        panicking(7),
		"error":         panicking(errors.New("no")),
		"wrapped error": panicking(fmt.Errorf("outer: %w", errors.New("no"))),
		"pointer":       panicking(&failure{3}),
		"struct":        panicking(plain{1, 2}),
		"slice":         panicking([]int{1, 2}),
		"nil":           panicking(nil),
		"runtime error": unwound(func() { none["a"] = 1 }),
		"stack trace":   unwound(func() { panic("deep") }, trace.WithStackTrace(true)),
		"timestamp":     unwound(func() { panic("timed") }, at(ms)),
		"no panic":      unwound(func() {}),
		"after an explicit end": func(tp trace.TracerProvider) []any {
			_, s := start(tp, "ended")
			return []any{caught(func() {
				defer s.End()
				s.End()
				panic("late")
			})}
		},
		"end inside a deferred closure": func(tp trace.TracerProvider) []any {
			_, s := start(tp, "closure")
			return []any{caught(func() {
				defer func() { s.End() }()
				panic("unseen")
			})}
		},
		"end through the context": func(tp trace.TracerProvider) []any {
			ctx, _ := start(tp, "context")
			return []any{caught(func() {
				defer trace.SpanFromContext(ctx).End()
				panic("boom")
			})}
		},
		"nested spans": func(tp trace.TracerProvider) []any {
			ctx, outer := start(tp, "outer")
			_, inner := tp.Tracer("").Start(ctx, "inner")
			return []any{caught(func() {
				defer outer.End()
				defer inner.End()
				panic("through both")
			})}
		},
		"recovered below": func(tp trace.TracerProvider) []any {
			_, s := start(tp, "calm")
			func() {
				defer s.End()
				_ = caught(func() { panic("inside") })
			}()
			return nil
		},
		"panic in a deferred call after it": func(tp trace.TracerProvider) []any {
			_, s := start(tp, "second")
			return []any{caught(func() {
				defer s.End()
				defer func() { panic("second") }()
				panic("first")
			})}
		},
		"goexit": func(tp trace.TracerProvider) []any {
			_, s := start(tp, "exit")
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer s.End()
				runtime.Goexit()
			}()
			<-done
			return nil
		},
		"unsampled":   func(tp trace.TracerProvider) []any { return endPanicking(tp, "unsampled") },
		"record only": func(tp trace.TracerProvider) []any { return endPanicking(tp, "record-only") },
	})
}

func endPanicking(tp trace.TracerProvider, name string) []any {
	_, s := tp.Tracer("").Start(context.Background(), name)
	return []any{caught(func() {
		defer s.End()
		panic("boom")
	})}
}

func TestPanicValueGoesOnUnchanged(t *testing.T) {
	for _, sampler := range []sdktrace.Sampler{sdktrace.AlwaysSample(), sdktrace.NeverSample()} {
		sdk, _ := newRecorded(sdktrace.WithSampler(sampler))
		tp := wrap(t, sdk)
		want := &failure{1}
		_, s := tp.Tracer("").Start(context.Background(), "a")
		got := caught(func() { defer s.End(); panic(want) })
		if got != any(want) {
			t.Errorf("%s: recovered %v, want the very value of the panic", sampler.Description(), got)
		}
		if n := regionOf(t, tp, "a").Count; n != 1 {
			t.Errorf("%s: the region has %d spans, want 1", sampler.Description(), n)
		}
	}
}

//go:noinline
func whereItBegan() { panic("deep") }

func TestStackTraceShowsWhereThePanicBegan(t *testing.T) {
	sdk, ended := newRecorded()
	_, s := wrap(t, sdk).Tracer("").Start(context.Background(), "a")
	caught(func() { defer s.End(trace.WithStackTrace(true)); whereItBegan() })
	for _, kv := range ended.Ended()[0].Events()[0].Attributes {
		if kv.Key == "exception.stacktrace" && strings.Contains(kv.Value.AsString(), "whereItBegan") {
			return
		}
	}
	t.Errorf("no exception.stacktrace with the panicking function in %v", ended.Ended()[0].Events())
}

func TestWithoutPanicRecordingLeavesTheEventOut(t *testing.T) {
	sdk, ended := newRecorded()
	tp := wrap(t, sdk, spans.WithoutPanicRecording())
	if got := endPanicking(tp, "a"); got[0] != "boom" {
		t.Errorf("recovered %v, want boom", got)
	}
	if got := ended.Ended(); len(got) != 1 || len(got[0].Events()) != 0 {
		t.Errorf("%d spans with events %v, want one without", len(got), got[0].Events())
	}
}

func TestPanicsAreRecordedWhileRecordingIsOff(t *testing.T) {
	sdk, ended := newRecorded()
	tp := wrap(t, sdk, spans.WithoutRecording())
	if got := endPanicking(tp, "a"); got[0] != "boom" {
		t.Errorf("recovered %v, want boom", got)
	}
	events := ended.Ended()[0].Events()
	if len(events) != 1 || events[0].Name != "exception" || events[0].Attributes[1] != attribute.String("exception.message", "boom") {
		t.Errorf("events %v, want one exception", events)
	}
}
