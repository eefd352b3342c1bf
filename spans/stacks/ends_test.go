package stacks

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/pprof"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
)

// Labels of the application's are left as they were, in whichever order the spans end that began
// with them.
func TestParentEndsFirstBesideLabels(t *testing.T) {
	needGoroutines(t)
	defer pprof.SetGoroutineLabels(context.Background())
	for _, ofSpans := range []bool{false, true} {
		h := newHook(false, ofSpans)
		h.on.Store(true)
		tr := testTracer(t, h)
		ctx := pprof.WithLabels(context.Background(), pprof.Labels("tenant", "7"))
		pprof.SetGoroutineLabels(ctx)
		ctx, parent := tr.Start(ctx, "parent")
		_, child := tr.Start(ctx, "child")
		parent.End()
		if got := current(h); got["region"] != "child" || got["tenant"] != "7" {
			t.Errorf("in the child, labels are %v", got)
		}
		child.End()
		check(t, h, "after both", set{"tenant": "7"})
		if h.foreign.Load() != 0 {
			t.Errorf("foreign = %d, want 0", h.foreign.Load())
		}
	}
}

// TestAnyOrderOfEnds starts and ends spans at random on one goroutine, some of them elsewhere. What
// the goroutine has in between is of a span that is open, or what it had at the start; and it has
// that again after the last.
func TestAnyOrderOfEnds(t *testing.T) {
	needGoroutines(t)
	defer pprof.SetGoroutineLabels(context.Background())
	type span struct {
		trace.Span
		ctx  context.Context
		name string
	}
	for seed := range uint64(1000) {
		random := rand.New(rand.NewPCG(seed, 0))
		ofSpans := random.IntN(2) == 0
		h := newHook(false, ofSpans)
		h.on.Store(true)
		tr := testTracer(t, h)
		before, ctx := set{}, context.Background()
		if random.IntN(3) > 0 {
			before = set{"tenant": "7"}
			ctx = pprof.WithLabels(ctx, pprof.Labels("tenant", "7"))
		}
		pprof.SetGoroutineLabels(ctx)
		// Without other labels, all spans of one name have the same ones, and are not
		// distinguished.
		unique := len(before) == 0 && !ofSpans
		elsewhere := random.IntN(4) == 0
		names := 1 + random.IntN(4)
		var open []span
		said := ""
		for left := 2 + random.IntN(8); left > 0 || len(open) > 0; {
			if left > 0 && random.IntN(2) == 0 {
				left--
				above := ctx
				i := random.IntN(len(open) + 1)
				if i < len(open) {
					above = open[i].ctx
				}
				s := span{name: string(rune('a' + random.IntN(names)))}
				for unique && slices.ContainsFunc(open, func(o span) bool { return o.name == s.name }) {
					s.name = string(rune(s.name[0] + 1))
				}
				s.ctx, s.Span = tr.Start(above, s.name)
				open = append(open, s)
				said += fmt.Sprintf("\nstart %d %s below %d", len(open)-1, s.name, i)
			} else if len(open) > 0 {
				i := random.IntN(len(open))
				s := open[i]
				open = append(open[:i:i], open[i+1:]...)
				said += fmt.Sprintf("\nend %d %s", i, s.name)
				if elsewhere && random.IntN(3) == 0 {
					said += " elsewhere"
					done := make(chan struct{})
					go func() { defer close(done); s.End() }()
					<-done
					continue
				}
				s.End()
			} else {
				continue
			}
			got := current(h)
			ok := cmp.Equal(got, before)
			for _, s := range open {
				id, has := got["span_id"]
				ok = ok || got["region"] == s.name && got["tenant"] == before["tenant"] && (!has || id == s.SpanContext().SpanID().String())
			}
			if !ok {
				t.Fatalf("seed %d: labels are %v, which is neither of an open span nor %v:%s", seed, got, before, said)
			}
		}
		_, last := tr.Start(ctx, "last")
		last.End()
		if got := current(h); !cmp.Equal(got, before) {
			t.Fatalf("seed %d: afterwards labels are %v, want %v:%s", seed, got, before, said)
		}
	}
}
