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

// Spans that find no room are left out, and not open.
func TestCrowdedSession(t *testing.T) {
	tp := WrapTracerProvider(nil)
	defer tp.Shutdown(t.Context())
	tr := tp.Tracer("crowded")
	ctx, root := tr.Start(context.Background(), "root")
	tp.room.Add(mostRoom)
	children(ctx, tr, 50)
	tp.room.Add(-mostRoom)
	kept := children(ctx, tr, 50) // it gets no more
	root.End()
	rec := onlyRecord(t, tp)
	if want := roomPart - 1; kept != want || len(rec.Spans) != want+1 || rec.Dropped != 100-want || rec.Open != 0 {
		t.Errorf("%d children kept, %d spans in the record, %d dropped, %d open, want the first %d, and no others open",
			kept, len(rec.Spans), rec.Dropped, rec.Open, want)
	}
}

// A child that begins after its session's room was given back makes a record as any other.
func TestLateChildOfALargeSession(t *testing.T) {
	tp := WrapTracerProvider(nil)
	defer tp.Shutdown(t.Context())
	tr := tp.Tracer("late")
	ctx, root := tr.Start(context.Background(), "root")
	children(ctx, tr, 5*roomPart)
	root.End()
	first := onlyRecord(t, tp)
	_, late := tr.Start(ctx, "late")
	late.End()
	rec := onlyRecord(t, tp)
	if rec.Revision != first.Revision+1 || len(rec.Spans) != len(first.Spans)+1 || tp.Dropped() != (Dropped{}) {
		t.Errorf("revision %d of %d spans, %+v, want one more than revision %d of %d", rec.Revision, len(rec.Spans), tp.Dropped(), first.Revision, len(first.Spans))
	}
	if got := tp.room.Load(); got != 0 {
		t.Errorf("room for %d spans is taken when none is open", got)
	}
}

func onlyRecord(t *testing.T, tp *TracerProvider) *SessionRecord {
	t.Helper()
	if err := tp.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := tp.Store().Sessions(Query{})
	if len(all) != 1 {
		t.Fatalf("%d sessions in the store, want 1", len(all))
	}
	return all[0]
}

// Spans take room in any order.
func TestRoomIsTakenInAnyOrder(t *testing.T) {
	tp := WrapTracerProvider(nil)
	defer tp.Shutdown(t.Context())
	s := new(Session)
	for _, n := range []int64{100, 17, 33, 101, 16} {
		if !s.hold(tp, n) {
			t.Errorf("span %d found no room in an empty provider", n)
		}
	}
	if got := tp.room.Load(); got != 96 {
		t.Errorf("room for %d spans is taken, want 96 beside the first %d", got, roomPart)
	}
	s.leave()
}

// A span of another provider takes the room of its session's provider, which gets it back, and
// counts by its limits.
func TestSessionOfTwoProviders(t *testing.T) {
	a, b := WrapTracerProvider(nil), WrapTracerProvider(nil, WithMaxSessionSpans(2))
	defer a.Shutdown(t.Context())
	defer b.Shutdown(t.Context())
	ctx, root := a.Tracer("a").Start(t.Context(), "root")
	children(ctx, a.Tracer("a"), 20)
	children(ctx, b.Tracer("b"), 20)
	root.End()
	if r := onlyRecord(t, a); r.Open != 0 || len(r.Spans) != 41 || r.Dropped != 0 {
		t.Errorf("%d open, %d spans, %d dropped, want 41 spans", r.Open, len(r.Spans), r.Dropped)
	}
	if a.room.Load() != 0 || b.room.Load() != 0 {
		t.Errorf("room taken: %d and %d, want none", a.room.Load(), b.room.Load())
	}
}
