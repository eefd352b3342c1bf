package pmuattrs_test

import (
	"context"
	"fmt"
	"runtime"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelprof/otelprof/pmuattrs"
	"github.com/otelprof/otelprof/spans"
)

func ExampleNewHook() {
	hook, err := pmuattrs.NewHook(
		pmuattrs.WithEvents(pmuattrs.Cycles, pmuattrs.Instructions, pmuattrs.BranchMisses),
		pmuattrs.WithRegions("price *", 1), // all of these
		pmuattrs.WithRegions("poll", 0),    // none of these
		pmuattrs.WithSampling(1000),        // 1 in 1000 of the others
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = hook.Shutdown(context.Background()) }()
	tp := spans.WrapTracerProvider(sdktrace.NewTracerProvider(), spans.WithHook(hook))
	defer func() { _ = tp.Shutdown(context.Background()) }()

	for range 3 {
		_, span := tp.Tracer("shop").Start(context.Background(), "price cart")
		span.End() // sets pmu.cycles, or pmu.cpu_time where there is no PMU
	}
	for _, r := range hook.Regions() {
		fmt.Println(r.Name, r.Spans, "spans counted,", r.Invalid, "not")
	}
	// Output: price cart 3 spans counted, 0 not
}

func ExampleNewSession() {
	runtime.LockOSThread() // counters belong to a thread
	defer runtime.UnlockOSThread()
	session, err := pmuattrs.NewSession(pmuattrs.Cycles, pmuattrs.Instructions)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = session.Close() }()

	work := func(n int) []pmuattrs.EventSummary {
		session.Reset()
		for range 100 {
			_ = session.Begin()
			_ = make([]byte, n)
			_ = session.End()
		}
		return session.Summaries()
	}
	small, large := work(1<<10), work(1<<20)
	// pmuattrs.WriteDiff(os.Stdout, small, large, "1 KB", "1 MB") prints them side by side.
	fmt.Println(small[0].Count, large[0].Count)
	// Output: 100 100
}
