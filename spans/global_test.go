package spans_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/spans"
)

// scenarioVariable names the scenario that this binary runs instead of its tests: the
// global tracer provider can be set for good only once in a process.
const scenarioVariable = "OTELPROF_SPANS_SCENARIO"

// A world is what a scenario works with.
type world struct {
	wrapped *spans.TracerProvider
	sdk     *sdktrace.TracerProvider
	ended   *tracetest.SpanRecorder
}

func span1(tr trace.Tracer, name string) {
	ctx, parent := tr.Start(context.Background(), name, at(0))
	_, child := tr.Start(ctx, name+" child", at(0))
	child.End(at(ms))
	parent.End(at(3 * ms))
}

// expect stops the process unless the region has been measured, and exported spans exported.
func (w *world) expect(name string, count uint64, exported int) {
	var got spans.RegionStats
	for _, r := range w.wrapped.Regions() {
		if r.Name == name {
			got = r
		}
	}
	if got.Count != count || got.Total != time.Duration(count)*3*ms || got.Self != time.Duration(count)*2*ms {
		fail("region %q: %d spans, total %v, self %v; want %d spans of 3ms, 2ms self", name, got.Count, got.Total, got.Self, count)
	}
	if n := len(w.ended.Ended()); n != exported {
		fail("after %q %d spans have reached the SDK, want %d", name, n, exported)
	}
}

func fail(format string, args ...any) {
	fmt.Printf(format+"\n", args...)
	os.Exit(1)
}

// scenarios start with a wrapper around the untouched global provider.
var scenarios = map[string]func(w *world){
	"nothing is set": func(w *world) {
		span1(w.wrapped.Tracer("a"), "early")
		w.expect("early", 1, 0)
	},
	"then the sdk is set": func(w *world) {
		early := w.wrapped.Tracer("early")
		span1(early, "before")
		w.expect("before", 1, 0)
		otel.SetTracerProvider(w.sdk)
		span1(early, "known")
		w.expect("known", 1, 2)
		span1(w.wrapped.Tracer("late"), "new")
		w.expect("new", 1, 4)
		span1(otel.Tracer("direct"), "unmeasured")
		w.expect("new", 1, 6)
	},
	"then the wrapper is set": func(w *world) {
		global, own := otel.Tracer("before"), w.wrapped.Tracer("before")
		otel.SetTracerProvider(w.wrapped)
		for _, tr := range []trace.Tracer{global, own, otel.Tracer("after"), w.wrapped.Tracer("after"), otel.GetTracerProvider().Tracer("before")} {
			span1(tr, "circle")
		}
		var n uint64
		for _, r := range w.wrapped.Regions() {
			if r.Name == "circle" {
				n += r.Count
			}
		}
		if n != 5 {
			fail("%d spans measured in a circle, want 5", n)
		}
	},
	"then the wrapper and later the sdk are set": func(w *world) {
		global, own := otel.Tracer("x"), w.wrapped.Tracer("x")
		otel.SetTracerProvider(w.wrapped)
		span1(global, "first")
		span1(own, "first")
		w.expect("first", 2, 0)
		otel.SetTracerProvider(w.sdk)
		span1(global, "second")
		span1(own, "second")
		w.expect("second", 2, 0) // both were bound before
		span1(otel.Tracer("x"), "third")
		w.expect("second", 2, 2) // the wrapper is not asked any more
	},
	"the wrapper of the sdk is set": func(w *world) {
		global := otel.Tracer("x")
		w.wrapped = spans.WrapTracerProvider(w.sdk)
		otel.SetTracerProvider(w.wrapped)
		span1(global, "a")
		span1(otel.Tracer("x"), "a")
		w.expect("a", 2, 4)
	},
	"everything at once": func(w *world) {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for j := range 200 {
					if i == 0 && j == 100 {
						otel.SetTracerProvider(w.wrapped)
					}
					if i == 1 && j == 150 {
						otel.SetTracerProvider(w.sdk)
					}
					span1(otel.Tracer(fmt.Sprint("scope ", j)), "a")
					span1(w.wrapped.Tracer(fmt.Sprint("scope ", j)), "b")
				}
			})
		}
		wg.Wait()
		var n uint64
		for _, r := range w.wrapped.Regions() {
			if r.Name == "b" {
				n += r.Count
			}
		}
		if n != 8*200 {
			fail("%d spans measured, want %d", n, 8*200)
		}
	},
}

// runScenario ends the process with status 1 if what it holds is not so, and with a dump of
// all goroutines if it hangs.
func runScenario(name string) {
	time.AfterFunc(20*time.Second, func() { panic("the scenario hangs") })
	w := &world{wrapped: spans.WrapTracerProvider(otel.GetTracerProvider())}
	w.sdk, w.ended = newRecorded()
	scenarios[name](w)
	if err := w.wrapped.Shutdown(context.Background()); err != nil {
		fail("Shutdown: %v", err)
	}
}

func TestWrapTheGlobalPlaceholder(t *testing.T) {
	for name := range scenarios {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), scenarioVariable+"="+name, "GORACE=atexit_sleep_ms=0")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
