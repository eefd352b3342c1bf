package spans

import (
	"math/rand/v2"
	"testing"

	"go.opentelemetry.io/otel/trace"
)

// TestHeldIsTheUnion compares with marks on a line of time.
func TestHeldIsTheUnion(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		var h held
		line := map[int64]bool{}
		at := int64(0)
		for range 1 + rng.IntN(30) { // in the order in which they end
			at += rng.Int64N(20)
			d := interval{max(0, at-rng.Int64N(30)), at}
			h.add(d)
			for x := d.from; x < d.to; x++ {
				line[x] = true
			}
		}
		if got := h.sum(); got != int64(len(line)) {
			t.Fatalf("held up for %d, want %d", got, len(line))
		}
	}
}

// TestParallelDelaysAreTakenOffOnce: children side by side are delayed at the same time, and the
// region is longer by that once.
func TestParallelDelaysAreTakenOffOnce(t *testing.T) {
	tp := WrapTracerProvider(nil)
	defer func() { _ = tp.Shutdown(t.Context()) }()
	ctx, parent := tp.Tracer("held").Start(t.Context(), "parent")
	r := SpanFromContext(ctx)
	at := now()
	for i := range int64(10) {
		_, child := tp.Tracer("held").Start(ctx, "child")
		c := SpanFromContext(trace.ContextWithSpan(ctx, child))
		c.parent.hold(interval{at - 10_000_000 + i, at + i})
		child.End()
	}
	if got := r.heldUp(); got != 10_000_009 {
		t.Errorf("held up for %d ns, want 10000009", got)
	}
	parent.End()
	r.hold(interval{at, at + 1e9})
	if got := r.heldUp(); got != 10_000_009 {
		t.Errorf("held up for %d ns after the end, want no more", got)
	}
}
