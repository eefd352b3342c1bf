package schedtimes_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/schedule/schedtimes"
)

func TestNew(t *testing.T) {
	for _, tt := range []struct {
		patterns []string
		err      error
		want     string
	}{
		{nil, schedtimes.ErrConfig, `regions []: must be patterns`},
		{[]string{"GET *", ""}, schedtimes.ErrConfig, `regions ["GET *" ""]: must be patterns, none of them empty`},
		{[]string{"GET *"}, schedtimes.ErrNotSupported, `must be built by "otelprof build"`},
	} {
		h, err := schedtimes.NewHook(nil, schedtimes.WithRegions(tt.patterns...))
		if sched.Present && errors.Is(tt.err, schedtimes.ErrNotSupported) {
			if h == nil || err != nil {
				t.Errorf("NewHook(%q) = %v, %v, want a hook", tt.patterns, h, err)
			}
			continue
		}
		if h != nil || !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("NewHook(%q) = %v, %v, want %v and %q", tt.patterns, h, err, tt.err, tt.want)
		}
	}
}

// own keeps a number with each span.
type own struct{ t *testing.T }

var numbers = spans.NewSlot[int]()

func (o own) OnStart(ctx context.Context, r *spans.Span) context.Context {
	if numbers.Get(r) != nil {
		o.t.Error("a slot has a value at the start of a span")
	}
	numbers.Set(r, new(int))
	return ctx
}

func (o own) OnEnd(r *spans.Span) {
	if n := numbers.Get(r); n == nil || *n != 0 {
		o.t.Error("a slot has lost its value")
	}
}

// A Hook that is not from NewHook leaves the slots of others alone.
func TestZeroHook(t *testing.T) {
	tp := spans.WrapTracerProvider(sdktrace.NewTracerProvider(), spans.WithHook(&schedtimes.Hook{}), spans.WithHook(own{t}))
	defer tp.Shutdown(t.Context())
	for range 3 {
		_, span := tp.Tracer("").Start(t.Context(), "op")
		span.End()
	}
	if d := tp.Dropped(); d.HookPanics != 0 {
		t.Errorf("%d panics in hooks", d.HookPanics)
	}
}
