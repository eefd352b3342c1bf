package stacks

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/internal/testutil/threadtime"
	"github.com/otelprof/otelprof/spans"
)

// linked returns the labels wanted in a span.
func linked(span trace.Span, name string, more ...string) set {
	c := span.SpanContext()
	out := set{"region": name, "span_name": name, "trace_id": c.TraceID().String(), "span_id": c.SpanID().String()}
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}

func TestLayoutIsKnown(t *testing.T) {
	if !layoutKnown {
		t.Errorf("labels of this Go are %v: must be a list, or labels of spans take more allocations", labelType)
	}
	type other struct{ M map[string]string }
	type short struct{ List []string }
	for _, v := range []any{&other{}, &short{}, new(int)} {
		if knowsLayout(reflect.TypeOf(v)) {
			t.Errorf("%T is taken for a list of labels", v)
		}
	}
}

func TestSpanLabels(t *testing.T) {
	h := newHook(false, true) // labels whether or not samples are taken
	tr := testTracer(t, h)
	ctx, outer := tr.Start(context.Background(), "outer")
	check(t, h, "in outer", linked(outer, "outer"))
	_, inner := tr.Start(ctx, "inner")
	check(t, h, "in inner", linked(inner, "inner"))
	inherited := make(chan set)
	go func() {
		runtime.GC()
		inherited <- current(h)
	}()
	if diff := cmp.Diff(linked(inner, "inner"), <-inherited); diff != "" {
		t.Errorf("a goroutine started in inner (-want +got):\n%s", diff)
	}
	inner.End()
	check(t, h, "back in outer", linked(outer, "outer"))
	outer.End()
	check(t, h, "after", set{})
}

// TestSpanLabelsInOrder reads the labels as profilers outside do: a list of pairs of strings, by
// pointers, of which they may take the first ones only and look keys up in order.
func TestSpanLabelsInOrder(t *testing.T) {
	h := newHook(false, true)
	_, span := testTracer(t, h).Start(ContextWithSession(context.Background()), "op")
	defer span.End()
	var got []string
	for _, kv := range *(*[]keyValue)(profLabels()) {
		if (len(kv.key) > 15 || len(kv.value) > 47) && kv.key != naming.SessionLabel { // which is for us alone
			t.Errorf("label %s = %s: the eBPF profiler would cut it", kv.key, kv.value)
		}
		got = append(got, kv.key+"="+kv.value)
	}
	c := span.SpanContext()
	want := []string{
		"otelprof_region=" + got[0][len("otelprof_region="):], "otelprof_session=1",
		"span_id=" + c.SpanID().String(), "span_name=op", "trace_id=" + c.TraceID().String(),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

// The application's labels survive any spans in any order.
func TestSpanLabelsBesideTheApplications(t *testing.T) {
	needGoroutines(t)
	h := newHook(false, true)
	tr := testTracer(t, h)
	app := pprof.Labels("tenant", "t1", "trace_id", "theirs")
	pprof.Do(context.Background(), app, func(ctx context.Context) {
		ctx, outer := tr.Start(ctx, "outer")
		check(t, h, "in outer", linked(outer, "outer", "tenant", "t1"))
		ctx2, inner := tr.Start(ctx, "inner")
		check(t, h, "in inner", linked(inner, "inner", "tenant", "t1"))
		pprof.Do(ctx2, pprof.Labels("step", "3"), func(ctx context.Context) {
			check(t, h, "labels inside inner", linked(inner, "inner", "tenant", "t1", "step", "3"))
			_, deep := tr.Start(ctx, "deep")
			check(t, h, "in deep", linked(deep, "deep", "tenant", "t1", "step", "3"))
			deep.End()
		})
		inner.End()
		check(t, h, "back in outer", linked(outer, "outer", "tenant", "t1"))
		outer.End()
		check(t, h, "after outer", set{"tenant": "t1", "trace_id": "theirs"})
	})
	check(t, h, "after", set{})
	// A set that the application makes of ours is the application's.
	ctx, span := tr.Start(context.Background(), "op")
	more := withLabels(ctx, profLabels())
	pprof.Do(more, pprof.Labels("a", "1"), func(context.Context) {
		if h.labels.ours(profLabels()) {
			t.Error("a set with the application's labels counts as ours")
		}
	})
	if !h.labels.ours(profLabels()) {
		t.Error("the labels of a span do not count as ours")
	}
	span.End()
}

// A span that is not sampled has no trace to be found: only its region counts.
func TestUnsampledSpansHaveNoLink(t *testing.T) {
	h := newHook(true, true)
	_, span := testTracer(t, h, sdktrace.WithSampler(sdktrace.NeverSample())).Start(context.Background(), "op")
	check(t, h, "in op", set{"region": "op"})
	span.End()
	check(t, h, "after", set{})
}

func TestSpanEndsElsewhereWithLabels(t *testing.T) {
	needGoroutines(t)
	h := newHook(false, true)
	tr := testTracer(t, h)
	_, span := tr.Start(context.Background(), "moved")
	done := make(chan struct{})
	go func() {
		defer close(done)
		span.End()
	}()
	<-done
	_, next := tr.Start(context.Background(), "next")
	check(t, h, "in next", linked(next, "next"))
	next.End()
	check(t, h, "after next", set{})
}

// TestFallback is for a Go whose labels are not a list.
func TestFallback(t *testing.T) {
	defer func(was bool) { layoutKnown = was }(layoutKnown)
	layoutKnown = false
	h := newHook(false, true)
	tr := testTracer(t, h)
	ctx, outer := tr.Start(context.Background(), "outer")
	_, inner := tr.Start(ctx, "inner")
	check(t, h, "in inner", linked(inner, "inner"))
	inner.End()
	check(t, h, "back in outer", linked(outer, "outer"))
	outer.End()
	check(t, h, "after", set{})
}

func TestSpanLabelAllocs(t *testing.T) {
	without, with := allocsOfSpan(t, newHook(false, false)), allocsOfSpan(t, newHook(false, true))
	if with != without+1 {
		t.Errorf("a span with labels of its own makes %v allocations, without %v: want one more", with, without)
	}
	if size := unsafe.Sizeof(spanLabel{}); size != 240 {
		t.Errorf("a spanLabel has %d bytes, docs say 240", size)
	}
}

func BenchmarkSpanLabels(b *testing.B) {
	ballast := make([]byte, 64<<20) // so that the garbage collector runs as rarely as in a service
	defer runtime.KeepAlive(ballast)
	for _, labels := range []bool{false, true} {
		b.Run(fmt.Sprintf("spans=%v", labels), func(b *testing.B) {
			h := newHook(false, labels)
			h.on.Store(true)
			tr := testTracer(b, h)
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

// burned keeps the compiler from leaving the work out.
var burned int

// burn uses the processor for d, which takes longer on a busy machine.
func burn(d time.Duration) (n int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for begin := threadtime.Now(); threadtime.Now()-begin < d; {
		for i := range 10_000 {
			n += i * n
		}
	}
	return n
}

// TestProfileHasLinks samples two spans of one name, and checks that each has its own samples.
func TestProfileHasLinks(t *testing.T) {
	p, err := NewProfiler(WithSpanLabels())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(context.Background())
	if s := p.Stats(); s.State == Busy {
		testutil.Lacks(t, "CPUPROFILE", s.Reason)
	}
	provider := spans.WrapTracerProvider(sdktrace.NewTracerProvider(), spans.WithHook(p.Hook()))
	defer provider.Shutdown(context.Background())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	type outcome struct {
		p   *profile.Profile
		err error
	}
	recorded := make(chan outcome)
	started := make(chan struct{})
	go func() {
		close(started)
		p, err := p.Profile(ctx, time.Minute)
		recorded <- outcome{p, err}
	}()
	<-started
	time.Sleep(50 * time.Millisecond)
	links := map[string]bool{}
	for range 2 {
		_, span := provider.Tracer("test").Start(context.Background(), "op")
		burned += burn(600 * time.Millisecond)
		c := span.SpanContext()
		links[c.TraceID().String()+" "+c.SpanID().String()] = true
		span.End()
	}
	cancel()
	got := <-recorded
	if got.p == nil || got.err == nil {
		t.Fatalf("Profile = %v, %v: want the samples up to the end of ctx, and its error", got.p, got.err)
	}
	found := map[string]int64{}
	for _, s := range got.p.Sample {
		if s.Label[naming.NameLabel] == nil || s.Label[naming.NameLabel][0] != "op" {
			continue
		}
		link := strings.Join(append(s.Label[naming.TraceIDLabel], s.Label[naming.SpanIDLabel]...), " ")
		if !links[link] {
			t.Errorf("sample with the labels %v: want the link of one of the spans %v", s.Label, links)
		}
		found[link] += s.Value[0]
	}
	if len(found) != 2 {
		t.Errorf("samples by link %v, want some of each of 2 spans", found)
	}
	// Every pprof tool can read it, and Read as well.
	var b bytes.Buffer
	if err := got.p.Write(&b); err != nil {
		t.Fatal(err)
	}
	r, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if op := r.Find("op"); len(op) != 1 || op[0].Scope.Name != "test" || op[0].Tree.Total().Samples != sumOf(found) {
		t.Errorf("read back %+v, want one region with %d samples", op, sumOf(found))
	}
}

func sumOf(m map[string]int64) (n int64) {
	for _, v := range m {
		n += v
	}
	return n
}
