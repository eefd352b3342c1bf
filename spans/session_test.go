package spans_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/spans"
)

// remote returns a context as a server has it after extracting the headers of a caller.
func remote(ctx context.Context, n byte) context.Context {
	return trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{n}, SpanID: trace.SpanID{n}, TraceFlags: trace.FlagsSampled, Remote: true,
	}))
}

func TestSessionRecordIsTheTree(t *testing.T) {
	tp := wrapSDK(t)
	tr := tp.Tracer("scope", trace.WithInstrumentationVersion("v1"))
	ctx, root := tr.Start(context.Background(), "root", at(0), trace.WithSpanKind(trace.SpanKindServer))
	spans.SessionFromContext(ctx).SetAttributes(attribute.String("user", "x"))
	spans.SessionFromContext(ctx).SetAttributes(attribute.Int("n", 1))
	ctxA, a := tr.Start(ctx, "a", at(10*ms))
	_, aa := tr.Start(ctxA, "aa", at(10*ms), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attribute.Int("k", 1)))
	aa.AddEvent("event", at(12*ms), trace.WithAttributes(attribute.Bool("e", true)))
	aa.AddLink(trace.Link{SpanContext: root.SpanContext(), Attributes: []attribute.KeyValue{attribute.Bool("l", true)}})
	aa.SetStatus(codes.Error, "bad")
	aa.End(at(15 * ms))
	a.End(at(20 * ms))
	_, b := tr.Start(ctx, "b", at(30*ms))
	b.End(at(40 * ms))
	root.End(at(100 * ms))

	rec := storedOne(t, tp)
	id := func(s trace.Span) trace.SpanID { return s.SpanContext().SpanID() }
	want := &spans.SessionRecord{
		Name:       "root",
		TraceID:    root.SpanContext().TraceID(),
		Attributes: []attribute.KeyValue{attribute.String("user", "x"), attribute.Int("n", 1)},
		Duration:   100 * ms,
		Errors:     1,
		Spans: []spans.SpanRecord{
			{Name: "root", Kind: trace.SpanKindServer, SpanID: id(root), Parent: -1, Duration: 100 * ms, SelfTime: 80 * ms, Sampled: true},
			{Name: "a", Kind: trace.SpanKindInternal, SpanID: id(a), Parent: 0, Depth: 1, Start: 10 * ms, Duration: 10 * ms, SelfTime: 5 * ms, Sampled: true},
			{
				Name: "aa", Kind: trace.SpanKindClient, SpanID: id(aa), Parent: 1, Depth: 2, Start: 10 * ms, Duration: 5 * ms, SelfTime: 5 * ms, Sampled: true,
				Status: codes.Error, StatusText: "bad", Attributes: []attribute.KeyValue{attribute.Int("k", 1)},
				Events: []spans.EventRecord{{Name: "event", Time: 12 * ms, Attributes: []attribute.KeyValue{attribute.Bool("e", true)}}},
				Links:  []spans.LinkRecord{{TraceID: root.SpanContext().TraceID(), SpanID: id(root), Attributes: []attribute.KeyValue{attribute.Bool("l", true)}}},
			},
			{Name: "b", Kind: trace.SpanKindInternal, SpanID: id(b), Parent: 0, Depth: 1, Start: 30 * ms, Duration: 10 * ms, SelfTime: 10 * ms, Sampled: true},
		},
	}
	if diff := cmp.Diff(want, rec, byValue, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(spans.SessionRecord{}),
		cmpopts.IgnoreFields(spans.SessionRecord{}, "ID", "Origin", "Start"), cmpopts.IgnoreFields(spans.SpanRecord{}, "Scope")); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if !rec.ID.IsValid() || rec.Origin != rec.ID || !rec.Start.Equal(begin) {
		t.Errorf("id %v, origin %v, start %v", rec.ID, rec.Origin, rec.Start)
	}
	if s := rec.Spans[1].Scope; s.Name != "scope" || s.Version != "v1" {
		t.Errorf("scope %+v", s)
	}
	if rec.SizeBytes() < 1000 || rec.SizeBytes() > 10000 {
		t.Errorf("SizeBytes() = %d of 4 spans", rec.SizeBytes())
	}
	if byID, ok := tp.Store().Session(rec.ID); !ok || byID != rec {
		t.Errorf("Session(%v) = %p, %t, want %p", rec.ID, byID, ok, rec)
	}
}

func TestParentStandsBeforeItsChildrenWhateverTheTimestamps(t *testing.T) {
	tp := wrapSDK(t)
	tr := tp.Tracer("")
	ctx, root := tr.Start(context.Background(), "root", at(0))
	ctxP, p := tr.Start(ctx, "p", at(10*ms))
	ctxQ, q := tr.Start(ctxP, "queued", at(-5*ms)) // began before its parent
	_, d := tr.Start(ctxQ, "deep", at(-4*ms))
	_, o := tr.Start(ctx, "other", at(5*ms))
	for _, s := range []trace.Span{o, d, q, p, root} {
		s.End(at(20 * ms))
	}
	rec := storedOne(t, tp)
	var got []string
	for i, s := range rec.Spans {
		got = append(got, fmt.Sprintf("%s %d %d %v", s.Name, s.Parent, s.Depth, s.Start))
		if s.Parent >= i {
			t.Errorf("span %d has its parent at %d", i, s.Parent)
		}
	}
	want := []string{"root -1 0 0s", "other 0 1 5ms", "p 0 1 10ms", "queued 2 2 -5ms", "deep 3 3 -4ms"}
	if !slices.Equal(got, want) {
		t.Errorf("spans %v, want %v", got, want)
	}
}

// A filter that panics takes neither the application along nor the session.
func TestPanicOfAFilter(t *testing.T) {
	tp := wrapSDK(t, spans.WithSessionFilter(func(context.Context, string) bool { panic("filter") }))
	timed(tp.Tracer(""), "root", ms)
	storedOne(t, tp)
	if got, want := tp.Dropped(), (spans.Dropped{HookPanics: 1}); got != want {
		t.Errorf("Dropped() = %+v, want %+v", got, want)
	}
}

func TestLocalRootPerRemoteRequest(t *testing.T) {
	tp := wrapSDK(t)
	tr := tp.Tracer("")
	ctx, caller := tr.Start(context.Background(), "caller")
	for i := range byte(3) {
		sctx, server := tr.Start(remote(ctx, i+1), "server")
		if spans.SpanFromContext(sctx).Parent() != nil {
			t.Error("a remote request has a local parent")
		}
		_, s := tr.Start(sctx, "work")
		s.End()
		server.End()
	}
	caller.End()
	all := stored(t, tp)
	if len(all) != 4 {
		t.Fatalf("%d sessions, want one for each of 3 requests and the caller's", len(all))
	}
	ids := map[spans.SessionID]bool{}
	for _, rec := range all {
		ids[rec.ID] = true
		if want := map[string]int{"caller": 1, "server": 2}[rec.Name]; len(rec.Spans) != want {
			t.Errorf("session %q has %d spans, want %d", rec.Name, len(rec.Spans), want)
		}
	}
	if len(ids) != 4 {
		t.Errorf("%d different IDs, want 4", len(ids))
	}
}

func TestNewRootBeginsASession(t *testing.T) {
	tp := wrapSDK(t)
	tr := tp.Tracer("")
	ctx, a := tr.Start(context.Background(), "a")
	_, b := tr.Start(ctx, "b", trace.WithNewRoot())
	b.End()
	a.End()
	if all := stored(t, tp); len(all) != 2 || len(all[0].Spans) != 1 {
		t.Errorf("%d sessions, want 2 of one span each", len(all))
	}
}

func TestStartSessionHoldsSeveralRoots(t *testing.T) {
	tp := wrapSDK(t)
	tr := tp.Tracer("")
	ctx, session := spans.StartSession(context.Background(), "batch", attribute.Int("size", 3))
	if spans.SessionFromContext(ctx) != session {
		t.Error("SessionFromContext is not the session that was started")
	}
	for i := range 3 {
		ctx, root := tr.Start(ctx, fmt.Sprint("root ", i))
		_, s := tr.Start(ctx, "child")
		s.End()
		root.End()
		_, shadowed := tr.Start(remote(ctx, byte(i+1)), "from far")
		shadowed.End()
	}
	if got := len(stored(t, tp)); got != 0 {
		t.Errorf("%d sessions in the store before End", got)
	}
	session.End()
	session.End()
	rec := storedOne(t, tp)
	if rec.ID != session.ID() || rec.Name != "batch" || len(rec.Spans) != 9 || len(rec.Attributes) != 1 || rec.Revision != 0 {
		t.Errorf("record %v %q revision %d of %d spans, attributes %v", rec.ID, rec.Name, rec.Revision, len(rec.Spans), rec.Attributes)
	}
	roots := 0
	for _, s := range rec.Spans {
		if s.Parent == -1 {
			roots++
		}
	}
	if roots != 6 {
		t.Errorf("%d roots, want 6", roots)
	}
}

func TestStartSessionInsideASpan(t *testing.T) {
	tp := wrapSDK(t)
	tr := tp.Tracer("")
	ctx, outer := tr.Start(context.Background(), "outer", at(0))
	outerSession := spans.SessionFromContext(ctx)
	sctx, session := spans.StartSession(ctx, "inner session")
	if trace.SpanContextFromContext(sctx).SpanID() != outer.SpanContext().SpanID() {
		t.Error("the current span has changed")
	}
	if session.Origin() != outerSession.ID() || session.ID() == outerSession.ID() {
		t.Errorf("session %v of origin %v, want another of origin %v", session.ID(), session.Origin(), outerSession.ID())
	}
	_, s := tr.Start(sctx, "inside", at(ms))
	if s.SpanContext().TraceID() != outer.SpanContext().TraceID() {
		t.Error("the trace has changed")
	}
	s.End(at(2 * ms))
	session.End()
	_, s = tr.Start(ctx, "outside", at(2*ms))
	s.End(at(3 * ms))
	outer.End(at(10 * ms))

	got := map[string]string{}
	for _, rec := range stored(t, tp) {
		for _, s := range rec.Spans {
			got[s.Name] = fmt.Sprint(rec.Name, " ", s.Parent)
		}
	}
	want := map[string]string{"inside": "inner session -1", "outer": "outer -1", "outside": "outer 0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans by session (-want +got):\n%s", diff)
	}
	if got := regionOf(t, tp, "outer").Self; got != 9*ms {
		t.Errorf("self time of outer %v, want 9ms: a session of its own is no child", got)
	}
}

func TestSessionThatNoSpanUses(t *testing.T) {
	tp := wrapSDK(t)
	ctx, session := spans.StartSession(context.Background(), "empty")
	session.End()
	if got := len(stored(t, tp)); got != 0 {
		t.Errorf("%d sessions in the store of a provider that never saw it", got)
	}
	_, s := tp.Tracer("").Start(ctx, "after the end")
	s.End()
	if rec := storedOne(t, tp); len(rec.Spans) != 1 || !rec.Spans[0].Late || rec.Name != "empty" {
		t.Errorf("record %q of spans %+v, want one late span", rec.Name, rec.Spans)
	}
}

func TestNilSessionDoesNothing(t *testing.T) {
	s := spans.SessionFromContext(context.Background())
	if s != nil {
		t.Fatal("an empty context has a session")
	}
	s.SetAttributes(attribute.Bool("a", true))
	s.Discard()
	s.End()
	if s.ID().IsValid() || s.Origin().IsValid() || s.Delay() != 0 {
		t.Errorf("id %v, origin %v, delay %v, want zeros", s.ID(), s.Origin(), s.Delay())
	}
}

func TestEndOfAnImplicitSessionIsItsRoots(t *testing.T) {
	tp := wrapSDK(t)
	ctx, root := tp.Tracer("").Start(context.Background(), "root")
	spans.SessionFromContext(ctx).End()
	if got := len(stored(t, tp)); got != 0 {
		t.Errorf("%d sessions after Session.End, want none before the root ends", got)
	}
	root.End()
	storedOne(t, tp)
}

func TestDiscardLeavesTheSessionOut(t *testing.T) {
	tp := wrapSDK(t)
	ctx, root := tp.Tracer("").Start(context.Background(), "root")
	_, late := tp.Tracer("").Start(ctx, "late")
	spans.SessionFromContext(ctx).Discard()
	root.End()
	late.End()
	if got := len(stored(t, tp)); got != 0 {
		t.Errorf("%d sessions, want none", got)
	}
	if got, want := tp.Dropped(), (spans.Dropped{Discarded: 1}); got != want {
		t.Errorf("Dropped() = %+v, want %+v", got, want)
	}
	if regionOf(t, tp, "root").Count != 1 || regionOf(t, tp, "late").Count != 1 {
		t.Error("the regions of a discarded session are not measured")
	}
}

func TestWithSessionFilter(t *testing.T) {
	var asked []string
	tp := wrapSDK(t, spans.WithSessionFilter(func(_ context.Context, name string) bool {
		asked = append(asked, name)
		return name != "healthz"
	}))
	tr := tp.Tracer("")
	for _, name := range []string{"healthz", "order"} {
		ctx, root := tr.Start(context.Background(), name)
		cctx, s := tr.Start(ctx, name+" child")
		if got := spans.SessionFromContext(cctx) != nil; got != (name == "order") {
			t.Errorf("%s: has a session: %t", name, got)
		}
		if r := spans.SpanFromContext(cctx); r.SessionID().IsValid() != (name == "order") {
			t.Errorf("%s: SessionID() = %v", name, r.SessionID())
		}
		s.End()
		root.End()
	}
	if rec := storedOne(t, tp); rec.Name != "order" {
		t.Errorf("the store has %q, want order", rec.Name)
	}
	if got := fmt.Sprint(asked); got != "[healthz order]" {
		t.Errorf("the filter was asked for %s, want the local roots", got)
	}
	if regionOf(t, tp, "healthz child").Count != 1 {
		t.Error("the regions of a filtered session are not measured")
	}
	if got := tp.Dropped(); got != (spans.Dropped{}) {
		t.Errorf("Dropped() = %+v, want nothing", got)
	}
}

func TestWithMaxSessionSpans(t *testing.T) {
	tp := wrapSDK(t, spans.WithMaxSessionSpans(4))
	tr := tp.Tracer("")
	ctx, root := tr.Start(context.Background(), "root", at(0))
	session := spans.SessionFromContext(ctx)
	for i := range 8 { // 3 are admitted, 5 are not, nor are the children of those
		cctx, s := tr.Start(ctx, "child", at(0))
		if i >= 3 {
			if got := spans.SessionFromContext(cctx); got != session {
				t.Errorf("below a span without room the session is %p, want %p", got, session)
			}
			_, below := tr.Start(cctx, "below", at(0))
			below.SetStatus(codes.Error, "")
			below.End(at(ms))
		}
		s.End(at(ms))
	}
	root.End(at(10 * ms))
	rec := storedOne(t, tp)
	if len(rec.Spans) != 4 || rec.Dropped != 10 || rec.Open != 0 || rec.Errors != 5 {
		t.Errorf("%d spans, %d dropped, %d open, %d errors; want 4, 10, 0, 5", len(rec.Spans), rec.Dropped, rec.Open, rec.Errors)
	}
	if got := tp.Dropped().SessionFull; got != 10 {
		t.Errorf("SessionFull = %d, want 10", got)
	}
	if got := regionOf(t, tp, "child").Count; got != 8 {
		t.Errorf("%d children measured, want 8", got)
	}
}

func TestLateChildrenMakeRevisions(t *testing.T) {
	tp := wrapSDK(t)
	tr := tp.Tracer("")
	ctx, root := tr.Start(context.Background(), "root", at(0))
	_, intime := tr.Start(ctx, "in time", at(ms))
	_, late1 := tr.Start(ctx, "late 1", at(2*ms))
	_, late2 := tr.Start(ctx, "late 2", at(3*ms))
	intime.End(at(5 * ms))
	root.End(at(10 * ms))
	first := storedOne(t, tp)
	if first.Revision != 0 || first.Open != 2 || len(first.Spans) != 2 {
		t.Errorf("first record: revision %d, %d open, %d spans; want 0, 2, 2", first.Revision, first.Open, len(first.Spans))
	}
	late1.SetStatus(codes.Error, "late")
	late1.End(at(20 * ms))
	second := storedOne(t, tp)
	if second.Revision != 1 || second.Open != 1 || len(second.Spans) != 3 || second.ID != first.ID {
		t.Errorf("second record: revision %d, %d open, %d spans; want 1, 1, 3", second.Revision, second.Open, len(second.Spans))
	}
	late2.End(at(30 * ms))
	third := storedOne(t, tp)
	if third.Revision != 2 || third.Open != 0 || len(third.Spans) != 4 || third.Errors != 1 || third.Duration != 10*ms {
		t.Errorf("third record: revision %d, %d open, %d spans, %d errors, %v; want 2, 0, 4, 1, 10ms", third.Revision, third.Open, len(third.Spans), third.Errors, third.Duration)
	}
	for _, s := range third.Spans {
		if want := s.Name == "late 1" || s.Name == "late 2"; s.Late != want {
			t.Errorf("%s: Late = %t", s.Name, s.Late)
		}
		if want := map[string]time.Duration{"root": ms, "in time": 4 * ms, "late 1": 18 * ms, "late 2": 27 * ms}[s.Name]; s.SelfTime != want {
			t.Errorf("%s: self time %v in the last record, want %v", s.Name, s.SelfTime, want)
		}
		if s.Name != "root" && (s.Parent != 0 || s.Depth != 1) {
			t.Errorf("%s: parent %d, depth %d, want 0, 1", s.Name, s.Parent, s.Depth)
		}
	}
	if len(first.Spans) != 2 || first.Spans[1].Name != "in time" {
		t.Error("the first record has changed")
	}
}

func TestSpanThatNeverEndsIsOpen(t *testing.T) {
	tp := wrapSDK(t)
	tr := tp.Tracer("")
	ctx, root := tr.Start(context.Background(), "root")
	open, _ := tr.Start(ctx, "never ends")
	_, s := tr.Start(open, "below it")
	s.End()
	root.End()
	if rec := storedOne(t, tp); rec.Open != 1 || len(rec.Spans) != 2 || rec.Spans[1].Parent != 0 || rec.Spans[1].Depth != 1 {
		t.Errorf("%d open, spans %+v; want 1 open, and its child below the root", rec.Open, rec.Spans)
	}
}

func TestSessionWithOnlyOpenSpansIsStored(t *testing.T) {
	tp := wrapSDK(t)
	ctx, session := spans.StartSession(context.Background(), "batch")
	_, s := tp.Tracer("").Start(ctx, "slow")
	session.End()
	if rec := storedOne(t, tp); rec.Open != 1 || len(rec.Spans) != 0 || rec.Revision != 0 {
		t.Errorf("%d open, %d spans, revision %d; want 1, 0, 0", rec.Open, len(rec.Spans), rec.Revision)
	}
	s.End()
	if rec := storedOne(t, tp); rec.Open != 0 || len(rec.Spans) != 1 || rec.Revision != 1 {
		t.Errorf("%d open, %d spans, revision %d; want 0, 1, 1", rec.Open, len(rec.Spans), rec.Revision)
	}
}

// A session that lives for long and counts by an attribute does not keep all values.
func TestSessionAttributesHaveTheirLastValues(t *testing.T) {
	tp := wrapSDK(t)
	ctx, session := spans.StartSession(t.Context(), "import", attribute.Int("rows", 0), attribute.String("file", "a"))
	_, s := tp.Tracer("").Start(ctx, "row")
	for i := range 100 {
		session.SetAttributes(attribute.Int("rows", i+1))
	}
	s.End()
	session.End()
	want := []attribute.KeyValue{attribute.Int("rows", 100), attribute.String("file", "a")}
	if diff := cmp.Diff(want, storedOne(t, tp).Attributes, byValue); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}

func TestSessionAttributesConcurrentSafe(t *testing.T) {
	tp := wrapSDK(t)
	ctx, root := tp.Tracer("").Start(context.Background(), "root")
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			spans.SessionFromContext(ctx).SetAttributes(attribute.Int(fmt.Sprint(i), i), attribute.Int("k", i))
		})
	}
	wg.Wait()
	root.End()
	if got := len(storedOne(t, tp).Attributes); got != 51 {
		t.Errorf("%d attributes, want 51", got)
	}
}
