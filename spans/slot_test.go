package spans_test

import (
	"context"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/spans"
)

// More slots than lie in a region.
var (
	slotA = spans.NewSlot[int]()
	slotB = spans.NewSlot[string]()
	slotC = spans.NewSlot[time.Duration]()
	slotD = spans.NewSlot[int]()
)

func TestSlotsKeepWhatAHookSetUntilTheEnd(t *testing.T) {
	for _, sampler := range []sdktrace.Sampler{sdktrace.AlwaysSample(), sdktrace.NeverSample()} {
		one, name, wait, two := 1, "b", time.Second, 2
		ends := 0
		check := func(when string, r *spans.Span, want *int) {
			if slotA.Get(r) != &one || slotB.Get(r) != &name || slotC.Get(r) != &wait || slotD.Get(r) != want {
				t.Errorf("%s: got %v, %v, %v, %v", when, slotA.Get(r), slotB.Get(r), slotC.Get(r), slotD.Get(r))
			}
		}
		h := &recordingHook{
			onStart: func(ctx context.Context, r *spans.Span) context.Context {
				if slotA.Get(r) != nil || slotC.Get(r) != nil {
					t.Error("a new region's slots are not empty")
				}
				slotA.Set(r, &one)
				slotB.Set(r, &name)
				slotC.Set(r, &wait)
				slotD.Set(r, &one)
				check("start", r, &one)
				slotD.Set(r, &two)
				return ctx
			},
			onEnd: func(r *spans.Span) { check("end", r, &two); slotD.Set(r, nil); ends++ },
			afterEnd: func(r *spans.Span) time.Duration {
				check("after", r, nil)
				return 0
			},
		}
		tr := wrapSDK(t, spans.WithHook(h)).Tracer("")
		ctx, parent := tr.Start(context.Background(), "parent")
		_, child := tr.Start(ctx, "child")
		child.End()
		parent.End()
		if ends != 2 {
			t.Errorf("%s: %d ends, want 2", sampler.Description(), ends)
		}
	}
	if slotA.Get(nil) != nil {
		t.Error("a slot of no region is not empty")
	}
}

func TestSlotConcurrentSafe(t *testing.T) {
	ctx, s := wrapSDK(t).Tracer("").Start(context.Background(), "x")
	defer s.End()
	r := spans.SpanFromContext(ctx)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for n := range 200 {
				v := g*1000 + n
				slotA.Set(r, &v)
				slotD.Set(r, &v)
				if slotA.Get(r) == nil || slotD.Get(r) == nil {
					t.Error("a slot that is set is empty")
				}
			}
		})
	}
	wg.Wait()
}

func TestSlotAllocs(t *testing.T) {
	ctx, s := wrapSDK(t).Tracer("").Start(context.Background(), "x")
	defer s.End()
	r, v := spans.SpanFromContext(ctx), 1
	if n := testing.AllocsPerRun(100, func() { slotA.Set(r, &v); _ = slotA.Get(r) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

var nameSlot, nameSlotB, nameSlotC = spans.NewNameSlot[int](), spans.NewNameSlot[int](), spans.NewNameSlot[int]()

func TestNameSlotIsSharedByAllSpansOfOneName(t *testing.T) {
	region := func(tp trace.TracerProvider, scope, name string) *spans.Span {
		ctx, s := tp.Tracer(scope).Start(context.Background(), name)
		s.SetName("renamed")
		s.End()
		return spans.SpanFromContext(ctx)
	}
	tp := wrapSDK(t)
	v, w := 1, 2
	for _, slot := range []spans.NameSlot[int]{nameSlot, nameSlotB, nameSlotC} {
		slot.Set(region(tp, "scope", "a"), &v)
		slot.Set(region(tp, "other scope", "a"), &w)
		for _, c := range []struct {
			scope, name string
			want        *int
		}{{"scope", "a", &v}, {"scope", "b", nil}, {"other scope", "a", &w}} {
			if got := slot.Get(region(tp, c.scope, c.name)); got != c.want {
				t.Errorf("%s %s: %v, want %v", c.scope, c.name, got, c.want)
			}
		}
		if got := slot.Get(region(wrapSDK(t), "scope", "a")); got != nil {
			t.Errorf("another provider's: %v, want nil", *got)
		}
	}
}
