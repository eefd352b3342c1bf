package spans_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/spans"
)

// blockingStore returns a store whose Append waits until release is closed, and a channel
// that gets the session's name when an Append begins.
func blockingStore() (store *mapStore, appending chan string, release chan struct{}) {
	appending, release = make(chan string, 100), make(chan struct{})
	store = &mapStore{before: func(rec *spans.SessionRecord) error {
		appending <- rec.Name
		<-release
		return nil
	}}
	return store, appending, release
}

// inStore is the number of sessions in the provider's store, without waiting for any.
func inStore(tp *spans.TracerProvider) int { return len(tp.Store().Sessions(spans.Query{})) }

// lost is the number of sessions that were left out.
func lost(d spans.Dropped) int { return int(d.QueueFull + d.Unwanted + d.StoreError + d.Discarded) }

func TestFullQueueIsCountedAndNeverWaitsFor(t *testing.T) {
	store, appending, release := blockingStore()
	tp := wrap(t, noop.NewTracerProvider(), spans.WithQueueSize(2), spans.WithStore(store))
	tr := tp.Tracer("")
	timed(tr, "first", ms)
	<-appending // the worker hangs in the first one
	for range 5 {
		timed(tr, "more", ms)
	}
	if got := tp.Dropped().QueueFull; got != 3 || tp.Queued() != 2 {
		t.Errorf("QueueFull = %d, Queued() = %d; want 3, 2", got, tp.Queued())
	}
	close(release)
	if got := len(stored(t, tp)); got != 3 || tp.Queued() != 0 {
		t.Errorf("%d sessions stored, %d queued; want 3, 0", got, tp.Queued())
	}
	if got := regionOf(t, tp, "more").Count; got != 5 {
		t.Errorf("%d spans measured, want 5", got)
	}
}

// hangingFlush flushes when it is let go, whatever its context.
type hangingFlush struct {
	noop.TracerProvider
	released chan struct{}
}

func (p hangingFlush) ForceFlush(context.Context) error {
	<-p.released
	return nil
}

func TestForceFlushDoesNotHangWithTheWrappedProvider(t *testing.T) {
	base := hangingFlush{released: make(chan struct{})}
	release := sync.OnceFunc(func() { close(base.released) })
	t.Cleanup(release)
	time.AfterFunc(5*time.Second, release)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := wrap(t, base).ForceFlush(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ForceFlush = %v, want that the context has ended", err)
	}
}

func TestLateChildOfAStoredSessionIsNotASecondDrop(t *testing.T) {
	store, appending, release := blockingStore()
	tp := wrap(t, noop.NewTracerProvider(), spans.WithQueueSize(1), spans.WithStore(store))
	tr := tp.Tracer("")
	ctx, root := tr.Start(t.Context(), "root")
	_, late := tr.Start(ctx, "late")
	root.End()
	<-appending
	timed(tr, "fills the queue", ms)
	late.End() // no room
	close(release)
	stored(t, tp)
	_, late = tr.Start(ctx, "later")
	late.End() // and no other record
	if got, want := tp.Dropped(), (spans.Dropped{Revisions: 2}); got != want || inStore(tp) != 2 {
		t.Errorf("Dropped() = %+v with %d sessions stored, want %+v with 2", got, inStore(tp), want)
	}
}

func TestDiscardAfterTheRecordIsMade(t *testing.T) {
	tp := wrapSDK(t)
	ctx, root := tp.Tracer("").Start(t.Context(), "root")
	_, late := tp.Tracer("").Start(ctx, "late")
	root.End()
	storedOne(t, tp)
	spans.SessionFromContext(ctx).Discard()
	late.End()
	storedOne(t, tp)
	if got, want := tp.Dropped(), (spans.Dropped{Revisions: 1}); got != want {
		t.Errorf("Dropped() = %+v, want %+v", got, want)
	}
}

func TestStorePanicsAreCountedAndHandledOnce(t *testing.T) {
	handled.take()
	store := &mapStore{before: func(*spans.SessionRecord) error { panic("broken") }}
	tp := wrapSDK(t, spans.WithStore(store))
	for range 3 {
		timed(tp.Tracer(""), "bad", ms)
		if err := tp.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if got, want := tp.Dropped(), (spans.Dropped{StoreError: 3}); got != want {
		t.Errorf("Dropped() = %+v, want %+v", got, want)
	}
	if got := handled.take(); len(got) != 1 || !strings.Contains(got[0].Error(), "panic: broken") {
		t.Errorf("handled %q, want the panic once", got)
	}
}

func TestStoreErrorsAreCountedAndHandledOnce(t *testing.T) {
	handled.take()
	refused := errors.New("refused")
	store := &mapStore{before: func(rec *spans.SessionRecord) error {
		if rec.Name == "good" {
			return nil
		}
		return refused
	}}
	tp := wrapSDK(t, spans.WithStore(store))
	tr := tp.Tracer("")
	for range 3 {
		ctx, root := tr.Start(t.Context(), "bad")
		_, late := tr.Start(ctx, "late")
		root.End()
		stored(t, tp)
		late.End() // nothing is tried again
		timed(tr, "good", ms)
		stored(t, tp)
	}
	if got, want := tp.Dropped(), (spans.Dropped{StoreError: 3}); got != want {
		t.Errorf("Dropped() = %+v, want %+v", got, want)
	}
	if got := len(stored(t, tp)); got != 3 {
		t.Errorf("%d sessions stored, want 3", got)
	}
	if errs := handled.take(); len(errs) != 1 || !errors.Is(errs[0], refused) {
		t.Errorf("handled %v, want the error once", errs)
	}
}

func TestSessionsReachTheStoreByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := wrapSDK(t, spans.WithQueueSize(1))
		for i := range 3 {
			timed(tp.Tracer(""), "a", ms)
			time.Sleep(time.Second)
			if got := inStore(tp); got != i+1 {
				t.Errorf("%d sessions in the store, want %d", got, i+1)
			}
		}
	})
}

func TestForceFlushWaitsForTheStoreAndItsContext(t *testing.T) {
	store, appending, release := blockingStore()
	tp := wrap(t, noop.NewTracerProvider(), spans.WithStore(store))
	timed(tp.Tracer(""), "a", ms)
	<-appending
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tp.ForceFlush(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("ForceFlush with a cancelled context = %v", err)
	}
	close(release)
	if got := len(stored(t, tp)); got != 1 {
		t.Errorf("%d sessions after ForceFlush, want 1", got)
	}
}

func TestShutdownDrainsAndIsIdempotent(t *testing.T) {
	sdk, _ := newRecorded()
	tp := spans.WrapTracerProvider(sdk)
	tr := tp.Tracer("")
	const n = 500
	for range n {
		timed(tr, "a", ms)
	}
	ctx, root := tr.Start(t.Context(), "late root")
	for range 3 {
		if err := tp.Shutdown(context.Background()); err != nil {
			t.Fatalf("Shutdown: %v", err)
		}
	}
	if got := inStore(tp); got != n || tp.Queued() != 0 {
		t.Errorf("%d sessions stored, %d queued; want %d, 0", got, tp.Queued(), n)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 { // nothing is left to wait for
		if err := tp.Shutdown(over); err != nil {
			t.Fatalf("Shutdown again, with a cancelled context: %v", err)
		}
	}
	// Nothing hangs afterwards: spans are measured, their sessions counted.
	_, child := tr.Start(ctx, "child")
	child.End()
	root.End()
	timed(tr, "after", ms)
	timed(tp.Tracer("a new one"), "after", ms) // without spans, as the SDK's
	if err := tp.ForceFlush(context.Background()); err != nil {
		t.Errorf("ForceFlush after Shutdown: %v", err)
	}
	if got := tp.Dropped().QueueFull; got != 2 || inStore(tp) != n {
		t.Errorf("QueueFull = %d with %d stored, want 2 with %d", got, inStore(tp), n)
	}
	if got := regionOf(t, tp, "after").Count; got == 0 {
		t.Error("spans after Shutdown are not measured")
	}
}

func TestShutdownRespectsItsContext(t *testing.T) {
	store, appending, release := blockingStore()
	tp := spans.WrapTracerProvider(noop.NewTracerProvider(), spans.WithStore(store))
	timed(tp.Tracer(""), "a", ms)
	<-appending
	timed(tp.Tracer(""), "b", ms)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tp.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown with a cancelled context = %v", err)
	}
	if got := tp.Queued(); got != 1 {
		t.Errorf("Queued() = %d, want 1", got)
	}
	close(release)
	if err := tp.Shutdown(t.Context()); err != nil || inStore(tp) != 2 {
		t.Errorf("Shutdown = %v with %d sessions stored, want 2", err, inStore(tp))
	}
}

// failing is a provider whose shutdown fails.
type failing struct {
	trace.TracerProvider
	err error
}

func (f failing) ForceFlush(context.Context) error { return f.err }
func (f failing) Shutdown(context.Context) error   { return f.err }

func TestErrorsOfTheWrappedProviderComeBack(t *testing.T) {
	want := errors.New("broken pipe")
	tp := spans.WrapTracerProvider(failing{noop.NewTracerProvider(), want})
	for i := range 2 {
		if err := tp.ForceFlush(t.Context()); !errors.Is(err, want) {
			t.Errorf("ForceFlush = %v, want %v", err, want)
		}
		if err := tp.Shutdown(t.Context()); !errors.Is(err, want) {
			t.Errorf("Shutdown %d = %v, want %v", i, err, want)
		}
	}
}

// choosyStore wants sessions with errors only, and refuses some of them.
type choosyStore struct{ mapStore }

func (*choosyStore) Wants(_ string, _ time.Duration, errors int) bool { return errors > 0 }

// TestEverySessionIsAccountedFor ends sessions of all kinds on many goroutines, with late
// children, discards, an overflowing queue and a store that refuses, and adds up.
func TestEverySessionIsAccountedFor(t *testing.T) {
	for _, queue := range []int{1, 2, 3, 1000} {
		store := &choosyStore{mapStore{before: func(rec *spans.SessionRecord) error {
			if rec.Name == "refused" && rec.Revision == 0 {
				return errors.New("refused")
			}
			return nil
		}}}
		sdk, _ := newRecorded()
		tp := spans.WrapTracerProvider(sdk, spans.WithQueueSize(queue), spans.WithStore(store), spans.WithMaxSessionSpans(6))
		tr := tp.Tracer("")
		const goroutines, each = 8, 150
		var wg sync.WaitGroup
		for g := range goroutines {
			wg.Go(func() {
				for i := range each {
					ctx, end := context.Background(), func() {}
					name := []string{"kept", "unwanted", "refused", "discarded"}[i%4]
					if i%3 == 0 {
						var s *spans.Session
						ctx, s = spans.StartSession(ctx, name)
						end = s.End
					}
					ctx, root := tr.Start(ctx, name)
					var children []trace.Span
					for range i % 9 {
						_, s := tr.Start(ctx, "child")
						children = append(children, s)
					}
					if name != "unwanted" {
						root.SetStatus(codes.Error, "")
					}
					if name == "discarded" {
						spans.SessionFromContext(ctx).Discard()
					}
					late := func() {
						for _, s := range children {
							s.End()
						}
					}
					if g%2 == 0 {
						wg.Go(late)
					} else {
						defer late()
					}
					root.End()
					end()
					if i%25 == 0 {
						_ = tp.ForceFlush(context.Background())
					}
				}
			})
		}
		wg.Wait()
		if err := tp.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
		d := tp.Dropped()
		if got := inStore(tp) + tp.Queued() + lost(d); got != goroutines*each {
			t.Errorf("queue of %d: %d stored + %d queued + %d dropped = %d sessions, want %d (%+v)",
				queue, inStore(tp), tp.Queued(), lost(d), got, goroutines*each, d)
		}
		if queue == 1000 && (d.Discarded == 0 || d.Unwanted == 0 || d.StoreError == 0 || inStore(tp) == 0) {
			t.Errorf("not all kinds came about: %+v with %d stored", d, inStore(tp))
		}
		for _, rec := range store.Sessions(spans.Query{}) {
			if rec.Dropped+rec.Open+len(rec.Spans) > 10 || len(rec.Spans) > 6 {
				t.Errorf("record of %d spans, %d dropped, %d open", len(rec.Spans), rec.Dropped, rec.Open)
			}
		}
		if got, want := regionCount(tp), spanCount(goroutines, each); got != want {
			t.Errorf("queue of %d: %d spans measured, want %d", queue, got, want)
		}
	}
}

func spanCount(goroutines, each int) (n uint64) {
	for i := range each {
		n += uint64(1 + i%9)
	}
	return n * uint64(goroutines)
}

func regionCount(tp *spans.TracerProvider) (n uint64) {
	for _, r := range tp.Regions() {
		n += r.Count
	}
	return n
}

// TestNoSpanOfASessionIsLost holds that each span that ends around the end of its
// session is in its last record, once.
func TestNoSpanOfASessionIsLost(t *testing.T) {
	store := &mapStore{}
	tp := wrap(t, noop.NewTracerProvider(), spans.WithStore(store))
	tr := tp.Tracer("")
	var wg sync.WaitGroup
	const sessions, children = 100, 8
	for i := range sessions {
		ctx, root := tr.Start(t.Context(), fmt.Sprint("root ", i))
		for range children {
			_, s := tr.Start(ctx, "child")
			wg.Go(func() { s.End() })
		}
		wg.Go(func() { root.End() })
	}
	wg.Wait()
	all := stored(t, tp)
	if len(all) != sessions {
		t.Errorf("%d sessions, want %d", len(all), sessions)
	}
	for _, rec := range all {
		if len(rec.Spans) != children+1 || rec.Open != 0 {
			t.Errorf("%s: %d spans, %d open, revision %d; want %d, 0", rec.Name, len(rec.Spans), rec.Open, rec.Revision, children+1)
		}
	}
}

// Spans that end late one after the other, each of which makes a record of the whole session, make
// few of them, and all are in the last.
func TestManyLateChildrenMakeFewRecords(t *testing.T) {
	const late = 200
	synctest.Test(t, func(t *testing.T) {
		records := 0
		store := &mapStore{before: func(*spans.SessionRecord) error { records++; return nil }}
		tp := wrap(t, noop.NewTracerProvider(), spans.WithStore(store))
		tr := tp.Tracer("")
		ctx, root := tr.Start(context.Background(), "root")
		var all []trace.Span
		for range late {
			_, s := tr.Start(ctx, "child")
			all = append(all, s)
		}
		root.End()
		for _, s := range all {
			time.Sleep(10 * ms)
			s.End()
		}
		time.Sleep(2 * time.Second)
		recs := tp.Store().Sessions(spans.Query{})
		if len(recs) != 1 || len(recs[0].Spans) != late+1 || recs[0].Open != 0 {
			t.Errorf("%d sessions, want one with all spans", len(recs))
		}
		if records > 8+4 {
			t.Errorf("%d late spans in 2 s made %d records, want 8 at once and one in a second after that", late, records)
		}
	})
}

// refusing is a store that wants nothing.
type refusing struct{ spans.Store }

func (refusing) Wants(string, time.Duration, int) bool { return false }

// weakly keeps the regions that start, without keeping them.
type weakly struct{ regions []weak.Pointer[spans.Span] }

func (w *weakly) OnStart(ctx context.Context, r *spans.Span) context.Context {
	w.regions = append(w.regions, weak.Make(r))
	return ctx
}

func (*weakly) OnEnd(*spans.Span) {}

// A context that outlives its request keeps its own span, and not the others of a session that no
// record is made of.
func TestSessionWithoutRecordKeepsNoSpans(t *testing.T) {
	hook := &weakly{}
	tp := wrapSDK(t, spans.WithStore(refusing{&mapStore{}}), spans.WithHook(hook))
	tr := tp.Tracer("")
	ctx, root := tr.Start(context.Background(), "root")
	children := func() {
		for range 20 {
			_, s := tr.Start(ctx, "child")
			s.End()
		}
	}
	children()
	root.End()
	if err := tp.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	children() // late
	if err := tp.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := 0
	testutil.Eventually(func() bool {
		runtime.GC()
		left = 0
		for _, r := range hook.regions {
			if r.Value() != nil {
				left++
			}
		}
		return left <= 2
	})
	runtime.KeepAlive(ctx)
	if left > 2 {
		t.Errorf("%d of %d spans are kept by the context of one, want that one, and the last at most", left, len(hook.regions))
	}
}

// TestCompleteSessionLetsSpansGo has work that goes on in a request's context, as background
// goroutines do, after the request's record.
func TestCompleteSessionLetsSpansGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hook := &weakly{}
		tp := wrapSDK(t, spans.WithStore(&mapStore{}), spans.WithHook(hook))
		tr := tp.Tracer("")
		ctx, root := tr.Start(t.Context(), "root")
		child := func() {
			_, s := tr.Start(ctx, "child")
			s.End()
		}
		left := func() (n int) {
			synctest.Wait()
			runtime.GC()
			runtime.GC()
			for _, r := range hook.regions {
				if r.Value() != nil {
					n++
				}
			}
			return n
		}
		for range 20 {
			child()
		}
		root.End()
		time.Sleep(50 * time.Second)
		child() // late, and in the record
		time.Sleep(50 * time.Second)
		if n := left(); n != 22 {
			t.Errorf("%d spans are kept 50 s after the last one, want all 22", n)
		}
		if n := len(stored(t, tp)[0].Spans); n != 22 {
			t.Errorf("%d spans are in the record, want 22", n)
		}
		time.Sleep(2 * time.Minute)
		if n := left(); n > 2 {
			t.Errorf("%d spans are kept minutes after the last one, want the one in the context, and the last at most", n)
		}
		child()
		time.Sleep(10 * time.Second)
		if n := tp.Dropped().Revisions; n != 1 {
			t.Errorf("Dropped().Revisions = %d after a child that began too late, want 1", n)
		}
		if n := len(stored(t, tp)[0].Spans); n != 22 {
			t.Errorf("%d spans are in the record after a child that began too late, want 22 still", n)
		}
		runtime.KeepAlive(ctx)
	})
}

// A session that has lost a record to a full queue lets its spans go as any other.
func TestLostSessionLetsSpansGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hook := &weakly{}
		store, appending, release := blockingStore()
		tp := wrap(t, noop.NewTracerProvider(), spans.WithQueueSize(1), spans.WithStore(store), spans.WithHook(hook))
		tr := tp.Tracer("")
		ctx, root := tr.Start(t.Context(), "root")
		for range 20 {
			_, s := tr.Start(ctx, "child")
			s.End()
		}
		root.End()
		<-appending
		release <- struct{}{}
		synctest.Wait()
		timed(tr, "hangs", ms)
		<-appending
		timed(tr, "fills the queue", ms)
		_, late := tr.Start(ctx, "late")
		late.End() // no room
		close(release)
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		left := 0
		runtime.GC()
		runtime.GC()
		for _, r := range hook.regions {
			if r.Value() != nil {
				left++
			}
		}
		if left > 6 {
			t.Errorf("%d of %d spans are kept, want that of the context and the last ones at most", left, len(hook.regions))
		}
		runtime.KeepAlive(ctx)
	})
}

func TestExportedSpansDoNotDependOnTheStore(t *testing.T) {
	store, appending, release := blockingStore()
	sdk, ended := newRecorded()
	tp := wrap(t, sdk, spans.WithStore(store), spans.WithQueueSize(1))
	timed(tp.Tracer(""), "a", ms)
	<-appending
	for range 10 {
		timed(tp.Tracer(""), "a", ms)
	}
	if got := len(tracetest.SpanStubsFromReadOnlySpans(ended.Ended())); got != 11 {
		t.Errorf("%d spans exported while the store hangs, want 11", got)
	}
	close(release)
}

// TestDiscardWhileQueued discards sessions that wait for the worker: one that has no
// record yet, and one that has.
func TestDiscardWhileQueued(t *testing.T) {
	store, appending, release := blockingStore()
	tp := wrap(t, noop.NewTracerProvider(), spans.WithStore(store))
	tr := tp.Tracer("")
	ctx, root := tr.Start(t.Context(), "in the store")
	_, late := tr.Start(ctx, "late")
	root.End()
	<-appending // the worker hangs in the first record
	late.End()
	spans.SessionFromContext(ctx).Discard()
	ctx, other := tr.Start(t.Context(), "never stored")
	_, late = tr.Start(ctx, "late")
	other.End()
	spans.SessionFromContext(ctx).Discard()
	close(release)
	if all := stored(t, tp); len(all) != 1 || all[0].Name != "in the store" || all[0].Revision != 0 {
		t.Errorf("%d sessions stored, want the one that was there before", len(all))
	}
	late.End()
	stored(t, tp)
	if got, want := tp.Dropped(), (spans.Dropped{Revisions: 1, Discarded: 1}); got != want {
		t.Errorf("Dropped() = %+v, want %+v", got, want)
	}
}

func TestStoreErrorOfARevisionIsNotADroppedSession(t *testing.T) {
	store := &mapStore{before: func(rec *spans.SessionRecord) error {
		if rec.Revision > 0 {
			return errors.New("no revisions")
		}
		return nil
	}}
	tp := wrapSDK(t, spans.WithStore(store))
	ctx, root := tp.Tracer("").Start(t.Context(), "root")
	_, late := tp.Tracer("").Start(ctx, "late")
	root.End()
	stored(t, tp)
	late.End()
	storedOne(t, tp)
	if got, want := tp.Dropped(), (spans.Dropped{Revisions: 1}); got != want {
		t.Errorf("Dropped() = %+v, want %+v", got, want)
	}
	handled.take()
}

// hungProvider is one whose Shutdown takes no notice of its context.
type hungProvider struct {
	trace.TracerProvider
	release chan struct{}
}

func (p hungProvider) Shutdown(context.Context) error { <-p.release; return nil }

func TestShutdownDoesNotWaitForAHungProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := hungProvider{noop.NewTracerProvider(), make(chan struct{})}
		defer close(base.release)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		began := time.Now()
		err := spans.WrapTracerProvider(base).Shutdown(ctx)
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > time.Second+100*time.Millisecond {
			t.Errorf("Shutdown = %v after %v, want it to end with its context of 1 s", err, took)
		}
	})
}
