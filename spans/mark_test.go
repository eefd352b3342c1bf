package spans_test

import (
	"context"
	"encoding/binary"
	"io"
	rtrace "runtime/trace"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	xtrace "golang.org/x/exp/trace"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/mark/marktest"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/spans"
)

// marked is a mark, and the scope and the goroutine that it is of.
type marked struct {
	mark.Mark
	scope     string
	goroutine xtrace.GoID
}

// marks returns the marks in a trace that is on while f runs.
func marks(t *testing.T, f func()) (all []marked) {
	t.Helper()
	for _, e := range marktest.Logs(t, f) {
		l := e.Log()
		m, ok := mark.Parse(l.Category, l.Message, uint64(l.Task))
		if !ok {
			t.Fatalf("not a mark: %+v", l)
		}
		all = append(all, marked{m, l.Category, e.Goroutine()})
	}
	return all
}

// elsewhere is the context of a span in another process.
var elsewhere = trace.NewSpanContext(trace.SpanContextConfig{
	TraceID: trace.TraceID{1}, SpanID: trace.SpanID{0xfe, 7: 1}, TraceFlags: trace.FlagsSampled, Remote: true,
})

func spanID(s trace.Span) uint64 {
	id := s.SpanContext().SpanID()
	return binary.BigEndian.Uint64(id[:])
}

func TestMarksInTrace(t *testing.T) {
	const far = 0xfe00000000000001
	for name, c := range map[string]struct {
		base trace.TracerProvider
		ids  bool // whether spans have IDs of their own
	}{
		"sampled":     {newSDK(sdktrace.AlwaysSample()), true},
		"not sampled": {newSDK(sdktrace.NeverSample()), true},
		"noop":        {noop.NewTracerProvider(), false},
	} {
		t.Run(name, func(t *testing.T) {
			tr := wrap(t, c.base).Tracer("scope")
			var root, child, fresh trace.Span
			got := marks(t, func() {
				var ctx context.Context
				ctx, root = tr.Start(trace.ContextWithRemoteSpanContext(t.Context(), elsewhere), "root name")
				_, child = tr.Start(ctx, "child")
				_, fresh = tr.Start(trace.ContextWithRemoteSpanContext(t.Context(), elsewhere), "fresh", trace.WithNewRoot())
				fresh.End()
				child.SetName("")
				child.SetName("renamed")
				ended := make(chan struct{})
				go func() { child.End(); close(ended) }()
				<-ended
				child.SetName("too late")
				child.End()
				root.End()
			})
			if len(got) != 6 {
				t.Fatalf("marks %+v: want three starts and three ends", got)
			}
			own := func(s trace.Span) uint64 {
				if !c.ids {
					return 0
				}
				return spanID(s)
			}
			traceOf := func(s trace.Span) [16]byte {
				if !c.ids || !s.SpanContext().IsSampled() {
					return [16]byte{}
				}
				return s.SpanContext().TraceID()
			}
			ids := [3]uint64{got[0].Span.ID, got[1].Span.ID, got[2].Span.ID}
			freshRemote := uint64(0)
			if !c.ids {
				freshRemote = far // a provider that makes no spans knows no new roots either
			}
			want := []mark.Mark{
				{Kind: mark.Start, Span: mark.Span{ID: ids[0], SpanID: own(root), Trace: traceOf(root), Remote: far, Name: "root name"}},
				{Kind: mark.Start, Span: mark.Span{ID: ids[1], Parent: ids[0], SpanID: own(child), Trace: traceOf(child), Name: "child"}},
				{Kind: mark.Start, Span: mark.Span{ID: ids[2], SpanID: own(fresh), Trace: traceOf(fresh), Remote: freshRemote, Name: "fresh"}},
				{Kind: mark.End, Span: mark.Span{ID: ids[2]}},
				{Kind: mark.End, Span: mark.Span{ID: ids[1], Name: "renamed"}},
				{Kind: mark.End, Span: mark.Span{ID: ids[0]}},
			}
			for i, m := range got {
				if diff := cmp.Diff(want[i], m.Mark); diff != "" {
					t.Errorf("mark %d (-want +got):\n%s", i, diff)
				}
				scope := "scope"
				if m.Kind == mark.End && m.Span.Name == "" {
					scope = "otelprof-"
				}
				if moved := m.goroutine != got[0].goroutine; m.scope != scope || moved != (i == 4) {
					t.Errorf("mark %d: scope %q, on another goroutine: %t", i, m.scope, moved)
				}
			}
			if ids[0] == 0 || ids[0] == ids[1] || ids[1] == ids[2] {
				t.Errorf("IDs %x: must be different, and not 0", ids)
			}
		})
	}
}

// renaming is a processor that gives spans the names that are exported.
type renaming struct{ sdktrace.SpanProcessor }

func (renaming) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) { s.SetName("exported") }

func TestMarksHaveTheNamesOfProcessors(t *testing.T) {
	sdk := newSDK(sdktrace.AlwaysSample())
	sdk.RegisterSpanProcessor(renaming{tracetest.NewSpanRecorder()})
	tr := wrap(t, sdk).Tracer("scope")
	got := marks(t, func() { _, s := tr.Start(t.Context(), "op"); s.End() })
	if len(got) != 2 || got[1].Span.Name != "exported" {
		t.Errorf("marks %+v, want an end with the name that is exported", got)
	}
}

func TestNoMarksWithoutRecording(t *testing.T) {
	tr := wrap(t, newSDK(sdktrace.AlwaysSample()), spans.WithoutRecording()).Tracer("scope")
	if got := marks(t, func() { _, s := tr.Start(t.Context(), "op"); s.End() }); len(got) != 0 {
		t.Errorf("marks %+v of spans that are not recorded", got)
	}
}

func TestMarksAllocs(t *testing.T) {
	tr := wrap(t, noop.NewTracerProvider()).Tracer("scope")
	ctx, root := tr.Start(t.Context(), "root")
	defer root.End()
	op := func() { _, s := tr.Start(ctx, "op"); s.End() }
	without := testing.AllocsPerRun(1000, op)
	if err := rtrace.Start(io.Discard); err != nil {
		testutil.Lacks(t, "TRACE", err.Error())
	}
	defer rtrace.Stop()
	defer mark.Want()()
	if with := testing.AllocsPerRun(1000, op); with > without {
		t.Errorf("a span allocates %v times while a trace is on, %v times otherwise", with, without)
	}
}

// BenchmarkMarkedSpan is a span while a trace is on.
func BenchmarkMarkedSpan(b *testing.B) {
	tr := wrap(b, noop.NewTracerProvider()).Tracer("scope")
	for _, on := range []bool{false, true} {
		b.Run(map[bool]string{false: "trace=off", true: "trace=on"}[on], func(b *testing.B) {
			if on {
				if err := rtrace.Start(io.Discard); err != nil {
					b.Skipf("this process is being traced: %v", err)
				}
				defer rtrace.Stop()
				defer mark.Want()()
			}
			var (
				root trace.Span
				ctx  context.Context
			)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				span(tr, &root, &ctx, n)
			}
		})
	}
}

// TestOwnTracesHaveNoMarks traces a program as it does itself: it gets marks if it asks for them.
func TestOwnTracesHaveNoMarks(t *testing.T) {
	for _, with := range []bool{false, true} {
		var opts []spans.Option
		if with {
			opts = append(opts, spans.WithMarks())
		}
		tp := spans.WrapTracerProvider(noop.NewTracerProvider(), opts...)
		op := func() { _, s := tp.Tracer("scope").Start(t.Context(), "op"); s.End() }
		if got := len(marktest.Own(t, op)) != 0; got != with {
			t.Errorf("marks in the program's own trace: %t, want %t", got, with)
		}
		if err := tp.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(marktest.Own(t, op)); n != 0 {
			t.Errorf("%d marks after Shutdown, want none", n)
		}
	}
}
