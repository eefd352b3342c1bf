package spans

import (
	"context"
	"testing"
	"time"
	"unsafe"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// earlier is a time at which the wall clock showed less, by whole seconds, than it would have if it
// had not been set since.
func earlier(t time.Time, seconds uint64) time.Time {
	*(*uint64)(unsafe.Pointer(&t)) -= seconds << 30 // beside the flag of the monotonic reading and nanoseconds
	return t
}

// The wall clock is set while the program runs: what it has shown since is what spans, sessions and
// their children go by, and a time that the caller gave stays as it is.
func TestWallClockIsSet(t *testing.T) {
	before := wallBase.Load()
	t.Cleanup(func() { wallBase.Store(before) })
	unset := earlier(*before, 3600)
	wallBase.Store(&unset)
	near := func(what string, got, want time.Time) {
		t.Helper()
		if d := got.Round(0).Sub(want); d.Abs() > time.Minute { // much less than the hour
			t.Errorf("%s is %v off", what, d)
		}
	}
	near("the time now", wallTime(now()), time.Now().Round(0))
	wallBase.Store(&unset)
	near("a given time", epoch.Add(time.Duration(sinceEpoch(time.Now().Round(0)))), time.Now())

	for _, base := range []trace.TracerProvider{nil, sdktrace.NewTracerProvider()} {
		tp := WrapTracerProvider(base)
		given := time.Now().Round(0).Add(-time.Second)
		ctx, root := tp.Tracer("").Start(context.Background(), "root", trace.WithTimestamp(given))
		_, child := tp.Tracer("").Start(ctx, "child")
		near("the child's start", SpanFromContext(ctx).Start(), given)
		child.End()
		root.End()
		rec := onlyRecord(t, tp)
		if !rec.Start.Equal(given) {
			t.Errorf("the session starts at %v, want the root's %v", rec.Start, given)
		}
		if len(rec.Spans) != 2 || rec.Duration > time.Minute || rec.Spans[1].Start > time.Minute {
			t.Errorf("a session of %v with spans %+v, want root and child within seconds", rec.Duration, rec.Spans)
		}
		tp.Shutdown(t.Context())
	}
}
