package delivery

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// fake is an exporter that does what its functions do.
type fake struct {
	export  func(ctx context.Context, n int) error
	spans   atomic.Int64
	batches atomic.Int64
	closed  atomic.Int64
	flushed atomic.Int64
	hurts   bool // to end
}

func (f *fake) ExportSpans(ctx context.Context, s []sdktrace.ReadOnlySpan) error {
	if f.export != nil {
		if err := f.export(ctx, len(s)); err != nil {
			return err
		}
	}
	f.spans.Add(int64(len(s)))
	f.batches.Add(1)
	return nil
}

func (f *fake) Shutdown(context.Context) error { return f.end(&f.closed) }

func (f *fake) ForceFlush(context.Context) error { return f.end(&f.flushed) }

func (f *fake) end(counted *atomic.Int64) error {
	if f.hurts {
		panic("broken")
	}
	counted.Add(1)
	return nil
}

func newBatcher(t *testing.T, f *fake) *Batcher {
	t.Helper()
	logger, _ := newLogger()
	return NewBatcher(WrapSpans(f, NewMonitor(Config{Name: "x", Unit: "spans", Logger: logger})))
}

func snapshot(sampled bool) sdktrace.ReadOnlySpan {
	c := trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}}
	if sampled {
		c.TraceFlags = trace.FlagsSampled
	}
	return tracetest.SpanStub{SpanContext: trace.NewSpanContext(c)}.Snapshot()
}

func TestBatcherBatchesByCountAndTime(t *testing.T) {
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "10")
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		b := newBatcher(t, f)
		for range 25 {
			b.OnEnd(snapshot(true))
			b.OnEnd(snapshot(false))
		}
		synctest.Wait()
		if got := f.spans.Load(); got != 20 {
			t.Errorf("%d spans exported before the delay, want two batches of 10", got)
		}
		if got := b.Stats().Queued; got != 5 {
			t.Errorf("Queued = %d, want 5", got)
		}
		time.Sleep(sdktrace.DefaultScheduleDelay*time.Millisecond + time.Second)
		if got := f.spans.Load(); got != 25 {
			t.Errorf("%d spans exported after the delay, want 25", got)
		}
		if err := b.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

func TestBatcherForceFlush(t *testing.T) {
	f := &fake{}
	b := newBatcher(t, f)
	for range 700 {
		b.OnEnd(snapshot(true))
	}
	if err := b.ForceFlush(t.Context()); err != nil {
		t.Fatalf("ForceFlush: %v", err)
	}
	if got := f.spans.Load(); got != 700 {
		t.Errorf("%d spans exported, want 700", got)
	}
	if got := f.flushed.Load(); got != 1 {
		t.Errorf("exporter flushed %d times, want 1", got)
	}
	f.export = func(context.Context, int) error { return errors.New("refused") }
	b.OnEnd(snapshot(true))
	if err := b.ForceFlush(t.Context()); err == nil || !strings.Contains(err.Error(), "1 spans not delivered: refused") {
		t.Errorf("ForceFlush = %v, want the failure", err)
	}
	if err := b.Shutdown(t.Context()); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Shutdown = %v, want the failure", err)
	}
	if err := b.ForceFlush(t.Context()); err != nil {
		t.Errorf("ForceFlush after Shutdown: %v", err)
	}
}

// A dead endpoint that lets every export run into its timeout holds Shutdown no longer than
// its context, and leaves no goroutine.
func TestBatcherShutdownIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{export: func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }}
		b := newBatcher(t, f)
		for range 2000 {
			b.OnEnd(snapshot(true))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		err := b.Shutdown(ctx)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown = %v, want the context's end", err)
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("Shutdown took %v, want at most 3 s", took)
		}
		synctest.Wait()
		if got := f.closed.Load(); got != 1 {
			t.Errorf("exporter shut down %d times, want once", got)
		}
		s := b.Stats()
		if s.Failed+s.Unfinished != 2000 || s.Queued != 0 {
			t.Errorf("Stats = %+v, want 2000 failed or unfinished", s)
		}
		if err := b.Shutdown(t.Context()); err != nil {
			t.Errorf("second Shutdown: %v", err)
		}
	})
}

// Every span is in exactly one counter.
func TestBatcherStatsConcurrentSafe(t *testing.T) {
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "64")
	var calls atomic.Int64
	f := &fake{export: func(context.Context, int) error {
		if calls.Add(1)%3 == 0 {
			return errors.New("refused")
		}
		return nil
	}}
	b := newBatcher(t, f)
	const goroutines, each = 4, 2000
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for i := range each {
				b.OnEnd(snapshot(true))
				if i%100 == 0 {
					if s := b.Stats(); s.Ended() > goroutines*each {
						t.Errorf("Stats = %+v, more than ended", s)
					}
				}
				if i == each*3/4 {
					_ = b.Shutdown(context.Background())
				}
			}
		})
	}
	wg.Wait()
	s := b.Stats()
	if s.Ended() != goroutines*each || s.Queued != 0 {
		t.Errorf("Stats = %+v: %d in all, want %d and none queued", s, s.Ended(), goroutines*each)
	}
	if int64(s.Exported) != f.spans.Load() {
		t.Errorf("Exported = %d, the exporter has %d", s.Exported, f.spans.Load())
	}
}

func TestBatcherOnEndAllocs(t *testing.T) {
	f := &fake{}
	b := newBatcher(t, f)
	s := snapshot(true)
	if got := testing.AllocsPerRun(100, func() { b.OnEnd(s) }); got != 0 {
		t.Errorf("OnEnd allocates %v times, want 0", got)
	}
	if err := b.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// An invalid value is logged and left out; the service starts.
func TestNewBatcherBadEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"OTEL_BSP_MAX_QUEUE_SIZE":        "0",
		"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "-1",
		"OTEL_BSP_SCHEDULE_DELAY":        "5s",
		"OTEL_BSP_EXPORT_TIMEOUT":        "1e3",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			logger, lines := newLogger()
			m := NewMonitor(Config{Name: "x", Logger: logger})
			b := NewBatcher(WrapSpans(&fake{}, m))
			b.OnEnd(snapshot(true))
			if err := b.Shutdown(t.Context()); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
			if s := b.Stats(); s.Exported != 1 {
				t.Errorf("Stats = %+v, want the span exported with the defaults", s)
			}
			if got := strings.Join(lines(), ""); !strings.Contains(got, name) || !strings.Contains(got, value) {
				t.Errorf("said %q, want it to name %s and %q", got, name, value)
			}
		})
	}
}

// The end of Shutdown's context cancels the export in flight even if Shutdown returns at
// the same moment.
func TestBatcherShutdownAlwaysCancels(t *testing.T) {
	for i := range 2000 {
		inFlight := make(chan struct{})
		f := &fake{export: func(ctx context.Context, _ int) error { close(inFlight); <-ctx.Done(); return ctx.Err() }}
		b := newBatcher(t, f)
		b.OnEnd(snapshot(true))
		go func() { _ = b.ForceFlush(context.Background()) }()
		<-inFlight
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for !b.stopped.Load() {
				runtime.Gosched()
			}
			cancel()
		}()
		_ = b.Shutdown(ctx)
		select {
		case <-b.done:
		case <-time.After(5 * time.Second):
			t.Fatalf("round %d: the export goes on after Shutdown", i)
		}
	}
}
