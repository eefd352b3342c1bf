package stacks

import (
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/goroutine"
	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/spans"
)

// testHook labels as if samples were taken.
func testHook(t testing.TB, unsampled bool) *hook {
	t.Helper()
	h := newHook(unsampled, false)
	h.on.Store(true)
	return h
}

func testTracer(t testing.TB, h spans.Hook, opts ...sdktrace.TracerProviderOption) trace.Tracer {
	t.Helper()
	p := spans.WrapTracerProvider(sdktrace.NewTracerProvider(opts...), spans.WithHook(h))
	t.Cleanup(func() { _ = p.Shutdown(context.Background()) })
	return p.Tracer("test")
}

// current returns the labels of the calling goroutine, with the name of the region in place of
// its number.
func current(h *hook) map[string]string {
	out := map[string]string{}
	pprof.ForLabels(withLabels(context.Background(), profLabels()), func(key, value string) bool {
		if key == naming.RegionLabel {
			n, _ := strconv.Atoi(value)
			r, _ := h.labels.region(n)
			key, value = "region", r.Name
		}
		out[key] = value
		return true
	})
	return out
}

func check(t *testing.T, h *hook, when string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, current(h)); diff != "" {
		t.Errorf("%s: labels (-want +got):\n%s", when, diff)
	}
}

type set = map[string]string

func TestLabelFollowsSpans(t *testing.T) {
	h := testHook(t, false)
	tr := testTracer(t, h)
	check(t, h, "before", set{})
	ctx, outer := tr.Start(context.Background(), "outer")
	check(t, h, "in outer", set{"region": "outer"})
	_, inner := tr.Start(ctx, "inner")
	check(t, h, "in inner", set{"region": "inner"})
	inherited := make(chan set)
	go func() { inherited <- current(h) }()
	if got := <-inherited; got["region"] != "inner" {
		t.Errorf("a goroutine started in inner has %v", got)
	}
	inner.End()
	check(t, h, "back in outer", set{"region": "outer"})
	outer.End()
	outer.End()
	check(t, h, "after", set{})
}

func TestLabelIsANumber(t *testing.T) {
	h := testHook(t, false)
	_, span := testTracer(t, h).Start(context.Background(), "GET /users/{name}")
	defer span.End()
	pprof.ForLabels(withLabels(context.Background(), profLabels()), func(key, value string) bool {
		if _, err := strconv.Atoi(value); err != nil || key != naming.RegionLabel {
			t.Errorf("label %s = %q, want %s with a number", key, value, naming.RegionLabel)
		}
		return true
	})
}

func TestApplicationLabelsStay(t *testing.T) {
	h := testHook(t, false)
	tr := testTracer(t, h)
	app := pprof.Labels("tenant", "t1", "zone", "z")
	pprof.Do(context.Background(), app, func(ctx context.Context) {
		ctx, outer := tr.Start(ctx, "outer")
		check(t, h, "in outer", set{"tenant": "t1", "zone": "z", "region": "outer"})
		_, inner := tr.Start(ctx, "inner")
		check(t, h, "in inner", set{"tenant": "t1", "zone": "z", "region": "inner"})
		inner.End()
		check(t, h, "back in outer", set{"tenant": "t1", "zone": "z", "region": "outer"})
		pprof.Do(ctx, pprof.Labels("step", "3"), func(context.Context) {
			check(t, h, "labels inside outer", set{"tenant": "t1", "zone": "z", "step": "3", "region": "outer"})
		})
		check(t, h, "after Do in outer", set{"tenant": "t1", "zone": "z", "region": "outer"})
		outer.End()
		check(t, h, "after outer", set{"tenant": "t1", "zone": "z"})
	})
	check(t, h, "after", set{})
}

// Labels that are not in the context, but on the goroutine only, stay too.
func TestInheritedLabelsStay(t *testing.T) {
	h := testHook(t, false)
	tr := testTracer(t, h)
	done := make(chan struct{})
	pprof.Do(context.Background(), pprof.Labels("tenant", "t1"), func(context.Context) {
		go func() {
			defer close(done)
			_, span := tr.Start(context.Background(), "op")
			check(t, h, "in op", set{"tenant": "t1", "region": "op"})
			span.End()
			check(t, h, "after op", set{"tenant": "t1"})
		}()
	})
	<-done
}

// The first pprof.Do inside a span that has no labels takes the label away; from then on spans of
// that name have it in their context.
func TestDoInsideASpan(t *testing.T) {
	needGoroutines(t)
	h := testHook(t, false)
	tr := testTracer(t, h)
	ctx, outer := tr.Start(context.Background(), "outer")
	defer outer.End()
	for i := range 2 {
		ctx, span := tr.Start(ctx, "op")
		want := set{"step": "3"}
		if i > 0 {
			want["region"] = "op"
		}
		pprof.Do(ctx, pprof.Labels("step", "3"), func(context.Context) { check(t, h, "inside", want) })
		span.End()
		check(t, h, "after op", set{"region": "outer"})
	}
}

// A program that sets labels in a span to stay keeps them.
func TestLabelsSetToStay(t *testing.T) {
	needGoroutines(t)
	h := testHook(t, false)
	_, span := testTracer(t, h).Start(context.Background(), "op")
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("worker", "7")))
	defer pprof.SetGoroutineLabels(context.Background())
	span.End()
	check(t, h, "after op", set{"worker": "7"})
	if h.foreign.Load() != 1 {
		t.Errorf("foreign = %d, want 1", h.foreign.Load())
	}
}

func needGoroutines(t *testing.T) {
	t.Helper()
	if !goroutine.Known() {
		testutil.Lacks(t, "GOROUTINE", "goroutines cannot be told apart on this machine")
	}
}

// A span that ends elsewhere leaves the other goroutine alone, and the first one is healed by its
// next span.
func TestEndElsewhere(t *testing.T) {
	needGoroutines(t)
	h := testHook(t, false)
	tr := testTracer(t, h)
	_, moving := tr.Start(context.Background(), "moving")
	ended := make(chan set)
	go func() {
		_, own := tr.Start(context.Background(), "own")
		moving.End()
		ended <- current(h)
		own.End()
	}()
	if got := <-ended; got["region"] != "own" {
		t.Errorf("where moving ended the labels are %v, want own's", got)
	}
	check(t, h, "where it began", set{"region": "moving"})
	_, next := tr.Start(context.Background(), "next")
	check(t, h, "in next", set{"region": "next"})
	next.End()
	check(t, h, "after next", set{})
	if h.elsewhere.Load() != 1 {
		t.Errorf("elsewhere = %d, want 1", h.elsewhere.Load())
	}
}

// Debts of other goroutines at the same place leave a goroutine's own alone, and have their limit.
func TestDebtsOfOnePlace(t *testing.T) {
	needGoroutines(t)
	h := testHook(t, false)
	tr := testTracer(t, h)
	_, moving := tr.Start(context.Background(), "moving")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		moving.End()
	}()
	<-ended
	id, labels := goroutine.Current(), unsafe.Pointer(new(int))
	owe := func(n int) {
		for range n {
			h.owed.push(id+goroutine.ID(len(h.owed.places)), labels, nil)
		}
	}
	owe(mostDebts - 1)
	_, next := tr.Start(context.Background(), "next")
	next.End()
	check(t, h, "after next", set{})
	if left := len(*h.owed.place(id).Load()); left != mostDebts-1 {
		t.Errorf("%d debts left, want the %d of another goroutine", left, mostDebts-1)
	}
	owe(3)
	if left := len(*h.owed.place(id).Load()); left != mostDebts {
		t.Errorf("%d debts at one place, want %d", left, mostDebts)
	}
}

// A loop that hands its spans over does not keep a label, in whichever order they end.
func TestAcceptLoop(t *testing.T) {
	needGoroutines(t)
	h := testHook(t, false)
	tr := testTracer(t, h)
	var open []trace.Span
	for range 5 {
		_, span := tr.Start(context.Background(), "conn")
		open = append(open, span)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, i := range []int{3, 0, 4, 1, 2} {
			open[i].End()
		}
	}()
	<-done
	_, span := tr.Start(context.Background(), "other")
	span.End()
	check(t, h, "after the loop", set{})
}

// Spans that end before those below them, on one goroutine, leave no label behind.
func TestParentEndsFirst(t *testing.T) {
	needGoroutines(t)
	for _, names := range [][3]string{{"a", "b", "c"}, {"a", "a", "a"}} {
		for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			h := testHook(t, false)
			tr := testTracer(t, h)
			ctx := context.Background()
			var open [3]trace.Span
			for i, name := range names {
				ctx, open[i] = tr.Start(ctx, name)
			}
			for _, i := range order {
				open[i].End()
			}
			check(t, h, fmt.Sprint(names, " ended in the order ", order), set{})
			for _, name := range names {
				_, span := tr.Start(context.Background(), name)
				check(t, h, "in "+name, set{"region": name})
				span.End()
			}
			check(t, h, "afterwards", set{})
			for _, l := range h.labels.regions.All() {
				if names[0] != names[1] && l.reset.Load() {
					t.Errorf("%v ended in the order %v: taken for a pprof.Do", names, order)
				}
			}
		}
	}
}

func TestUnsampledSpans(t *testing.T) {
	never := sdktrace.WithSampler(sdktrace.NeverSample())
	for _, unsampled := range []bool{false, true} {
		h := testHook(t, unsampled)
		_, span := testTracer(t, h, never).Start(context.Background(), "op")
		want := set{}
		if unsampled {
			want["region"] = "op"
		}
		check(t, h, fmt.Sprintf("WithUnsampled %v", unsampled), want)
		span.End()
		check(t, h, "after", set{})
	}
}

// Nothing is labeled while no samples are taken, and a span that was labeled before is undone.
func TestOffInBetween(t *testing.T) {
	h := testHook(t, false)
	tr := testTracer(t, h)
	ctx, outer := tr.Start(context.Background(), "outer")
	h.on.Store(false)
	_, inner := tr.Start(ctx, "inner")
	check(t, h, "in inner", set{"region": "outer"})
	inner.End()
	outer.End()
	check(t, h, "after", set{})
}

// The provider's cardinality limit decides which names are distinguished.
func TestRegionsFollowTheProvidersLimit(t *testing.T) {
	for _, limit := range []int{1, 3000} {
		h := testHook(t, false)
		p := spans.WrapTracerProvider(nil, spans.WithHook(h), spans.WithMaxRegions(limit))
		defer p.Shutdown(context.Background())
		h.unsampled = true
		tr := p.Tracer("test")
		for i := range limit + 3 {
			name := fmt.Sprint("name ", i)
			want := name
			if i >= limit {
				want = "other"
			}
			_, span := tr.Start(context.Background(), name)
			check(t, h, name, set{"region": want})
			span.End()
		}
		if got := len(h.labels.regions.All()); got != limit+1 {
			t.Errorf("%d labels, want %d and one for the others", got, limit)
		}
	}
}

func TestSessionLabel(t *testing.T) {
	h := testHook(t, false)
	tr := testTracer(t, h)
	ctx, root := tr.Start(ContextWithSession(context.Background()), "root")
	region, number := h.labels.find(profLabels())
	if r, _ := h.labels.region(region); number != 1 || r.Name != "root" {
		t.Errorf("root is in region %q and session %d, want root and 1", r.Name, number)
	}
	_, child := tr.Start(ctx, "child")
	if _, number := h.labels.find(profLabels()); number != 1 {
		t.Errorf("child is in session %d, want 1", number)
	}
	child.End()
	root.End()
	check(t, h, "after", set{})
	if h.sessions.open.Load() != 0 {
		t.Errorf("%d sessions open, want 0", h.sessions.open.Load())
	}
	_, other := tr.Start(context.Background(), "root")
	defer other.End()
	if _, number := h.labels.find(profLabels()); number != 0 {
		t.Errorf("a session that was not asked for has number %d", number)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	h := testHook(t, false)
	tr := testTracer(t, h)
	var open []trace.Span
	for range maxSessions + 3 {
		_, span := tr.Start(ContextWithSession(context.Background()), "root")
		open = append(open, span)
	}
	if got := h.sessions.refused.Load(); got != 3 {
		t.Errorf("refused = %d, want 3", got)
	}
	for _, span := range slices.Backward(open) {
		span.End()
	}
	for range 3 { // the oldest make room
		_, span := tr.Start(ContextWithSession(context.Background()), "root")
		span.End()
	}
	if h.sessions.numbered(3) != nil || h.sessions.numbered(4) == nil || len(h.sessions.kept) != maxSessions {
		t.Errorf("%d sessions kept, want the last %d", len(h.sessions.kept), maxSessions)
	}
}

// A session that was started by itself has any number of local roots, one after the other and at
// the same time. It is one session all along.
func TestSessionOfManyRoots(t *testing.T) {
	h := testHook(t, false)
	tr := testTracer(t, h)
	ctx, session := spans.StartSession(ContextWithSession(context.Background()), "job")
	defer session.End()
	inSession := func(want int64) {
		t.Helper()
		if _, number := h.labels.find(profLabels()); number != want {
			t.Errorf("session %d, want %d", number, want)
		}
	}
	for range 2 * maxSessions {
		_, first := tr.Start(ctx, "root")
		inSession(1)
		within, second := tr.Start(ctx, "root")
		inSession(1)
		first.End()
		_, child := tr.Start(within, "child") // of the one that is still open
		inSession(1)
		child.End()
		second.End()
	}
	if open, refused, kept := h.sessions.open.Load(), h.sessions.refused.Load(), len(h.sessions.kept); open != 0 || refused != 0 || kept != 1 {
		t.Errorf("%d open, %d refused, %d kept, want 0, 0 and 1", open, refused, kept)
	}
}

// A session that has had to make room leaves nothing behind, though its spans go on.
func TestForgottenSession(t *testing.T) {
	h := testHook(t, false)
	tr := testTracer(t, h)
	ctx, root := tr.Start(ContextWithSession(context.Background()), "root")
	for range maxSessions {
		_, span := tr.Start(ContextWithSession(context.Background()), "root")
		span.End()
	}
	_, child := tr.Start(ctx, "child")
	if l := profLabels(); h.labels.ours(l) {
		t.Error("a label that was made when the session was forgotten is kept")
	}
	child.End()
	root.End()
	if open := h.sessions.open.Load(); open != 0 {
		t.Errorf("%d open, want 0", open)
	}
}

// allocsOfSpan is how many allocations a span makes.
func allocsOfSpan(t *testing.T, h *hook) float64 {
	t.Helper()
	tr := testTracer(t, h)
	ctx, root := tr.Start(context.Background(), "root")
	defer root.End()
	return testing.AllocsPerRun(500, func() {
		_, span := tr.Start(ctx, "op")
		span.End()
	})
}

func TestHookAllocs(t *testing.T) {
	if with, without := allocsOfSpan(t, testHook(t, false)), allocsOfSpan(t, newHook(false, false)); with != without {
		t.Errorf("a labeled span makes %v allocations, one without a label %v: want as many", with, without)
	}
}

func BenchmarkHook(b *testing.B) {
	ballast := make([]byte, 64<<20) // so that the garbage collector runs as rarely as in a service
	defer runtime.KeepAlive(ballast)
	for _, on := range []bool{false, true} {
		b.Run(fmt.Sprintf("on=%v", on), func(b *testing.B) {
			h := newHook(true, false)
			h.on.Store(on)
			p := spans.WrapTracerProvider(nil, spans.WithHook(h), spans.WithSessionFilter(func(context.Context, string) bool { return false }))
			defer p.Shutdown(context.Background())
			tr := p.Tracer("bench")
			ctx, root := tr.Start(context.Background(), "root")
			defer root.End()
			b.ReportAllocs()
			for b.Loop() {
				_, span := tr.Start(ctx, "op")
				span.End()
			}
		})
	}
}
