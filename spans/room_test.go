package spans

import (
	"context"
	"runtime"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// children starts and ends spans below a root that is open, and returns how many its session keeps.
func children(ctx context.Context, tr trace.Tracer, n int) (kept int) {
	for range n {
		_, s := tr.Start(ctx, "message")
		s.End()
	}
	for r := SessionFromContext(ctx).finished.Load(); r != nil; r = r.next {
		kept++
	}
	return kept
}

// Sessions that stay open keep a bounded number of spans together, the rest is counted, and what
// they kept is free again when they have ended or are collected.
func TestOpenSessionsAreBounded(t *testing.T) {
	tp := WrapTracerProvider(nil)
	defer tp.Shutdown(t.Context())
	tr := tp.Tracer("streams")
	const streams, each = 300, 1000
	for _, forgets := range []bool{false, true} {
		var roots []trace.Span
		kept := 0
		dropped := tp.Dropped().SessionFull
		for range streams {
			ctx, root := tr.Start(context.Background(), "stream")
			if !forgets {
				roots = append(roots, root)
			}
			kept += children(ctx, tr, each)
		}
		if !forgets {
			if most := mostRoom + (streams+1)*roomPart; kept > most || kept < mostRoom {
				t.Errorf("%d spans are kept, want at most %d and about as many", kept, most)
			}
			if got, want := tp.Dropped().SessionFull-dropped, uint64(streams*each-kept); got != want {
				t.Errorf("SessionFull = %d, want the %d others", got, want)
			}
		}
		for _, root := range roots {
			root.End()
		}
		deadline := time.Now().Add(10 * time.Second)
		for tp.room.Load() != 0 && time.Now().Before(deadline) {
			runtime.GC()
			_ = tp.ForceFlush(t.Context())
			time.Sleep(time.Millisecond)
		}
		if got := tp.room.Load(); got != 0 {
			t.Errorf("room for %d spans is taken when no session is left (ended: %v)", got, !forgets)
		}
	}
	ctx, root := tr.Start(context.Background(), "after")
	if got := children(ctx, tr, each); got != each {
		t.Errorf("a session afterwards keeps %d spans, want all %d", got, each)
	}
	root.End()
}

// TestSessionAllocs holds that a session that takes room allocates no more than its spans.
func TestSessionAllocs(t *testing.T) {
	tp := WrapTracerProvider(nil)
	defer tp.Shutdown(t.Context())
	tr := tp.Tracer("allocs")
	session := func(children int) float64 {
		return testing.AllocsPerRun(500, func() {
			ctx, root := tr.Start(context.Background(), "root")
			SessionFromContext(ctx).Discard() // at once, while the worker would keep some
			for range children {
				_, s := tr.Start(ctx, "message")
				s.End()
			}
			root.End()
		})
	}
	few := session(roomPart / 2)
	each := few / (roomPart/2 + 1)
	// The pool of rooms may be emptied, and forgets some with the race detector.
	if got, want := session(100), 101*each; got > want+2 {
		t.Errorf("%v allocations for a session of 101 spans, want the %v of each, %v", got, each, want)
	}
}
