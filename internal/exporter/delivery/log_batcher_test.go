package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otellog "go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/testutil"
)

// fakeLogs is an exporter that does what its functions do.
type fakeLogs struct {
	export  func(n int) error
	flush   func() error
	records atomic.Int64
}

func (f *fakeLogs) Export(_ context.Context, r []sdklog.Record) error {
	if f.export != nil {
		if err := f.export(len(r)); err != nil {
			return err
		}
	}
	f.records.Add(int64(len(r)))
	return nil
}

func (f *fakeLogs) ForceFlush(context.Context) error {
	if f.flush != nil {
		return f.flush()
	}
	return nil
}

func (f *fakeLogs) Shutdown(context.Context) error { return nil }

func emit(b *LogBatcher, n int, body string) {
	var r sdklog.Record
	r.SetBody(attribute.StringValue(body))
	for range n {
		_ = b.OnEmit(context.Background(), &r)
	}
}

// A logger that is bridged to the very pipeline whose export fails gets the failure, and no
// goroutine waits.
func TestLogBatcherBridgedLoggerDoesNotDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var to atomic.Pointer[otellog.Logger]
		logger := slog.New(testutil.Bridge{To: &to})
		full := errors.New("no space left on device")
		var down atomic.Bool
		down.Store(true)
		f := &fakeLogs{export: func(int) error {
			if down.Load() {
				return full
			}
			return nil
		}}
		b := NewLogWriter(WrapLogs(f, NewMonitor(Config{Name: "x", Unit: "log records", Logger: logger})))
		provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(b))
		l := provider.Logger("bridge")
		to.Store(&l)
		for i := range 100 {
			logger.Info(fmt.Sprint("line ", i))
		}
		synctest.Wait()
		if s := b.Stats(); s.Failed != 101 || s.Queued != 0 {
			t.Errorf("Stats = %+v, want the 100 lines and that of the failure, all failed", s)
		}
		down.Store(false)
		logger.Info("again")
		synctest.Wait()
		if s := b.Stats(); s.Exported != 2 {
			t.Errorf("Stats = %+v, want the line and that of the return exported", s)
		}
		if err := provider.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

// The monitor logs a failure on a goroutine of its own, whichever processor exports: the SDK's
// simple one, too, holds a lock then.
func TestMonitorNeverLogsOnTheExportersGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var to atomic.Pointer[otellog.Logger]
		logger := slog.New(testutil.Bridge{To: &to})
		f := &fakeLogs{export: func(int) error { return errors.New("no space left on device") }}
		e := WrapLogs(f, NewMonitor(Config{Name: "x", Unit: "log records", Logger: logger}))
		provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewSimpleProcessor(e)))
		l := provider.Logger("bridge")
		to.Store(&l)
		logger.Info("a line") // waits for itself for ever if the failure is logged while it is exported
		synctest.Wait()
		if s := e.Stats(); s.Failed != 2 {
			t.Errorf("Stats = %+v, want the line and that of the failure failed", s)
		}
	})
}

// A logger that hangs or panics keeps neither exports nor Shutdown.
func TestMonitorLoggerThatHangsOrPanics(t *testing.T) {
	for name, handle := range map[string]func(ctx context.Context){
		"hangs":  func(ctx context.Context) { <-ctx.Done() },
		"panics": func(context.Context) { panic("in a logger") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				end, cancel := context.WithCancel(context.Background())
				m := NewMonitor(Config{Name: "x", Unit: "spans", Logger: slog.New(handler(func() { handle(end) }))})
				b := NewBatcher(WrapSpans(&fake{export: func(context.Context, int) error { return errors.New("refused") }}, m))
				b.OnEnd(snapshot(true))
				start := time.Now()
				_ = b.ForceFlush(t.Context())
				if took := time.Since(start); took != 0 {
					t.Errorf("ForceFlush waits %v for the logger", took)
				}
				_ = b.Shutdown(t.Context())
				if took := time.Since(start); took > toldWithin {
					t.Errorf("Shutdown waits %v for the logger, want at most %v", took, toldWithin)
				}
				cancel()
			})
		})
	}
}

type handler func()

func (handler) Enabled(context.Context, slog.Level) bool    { return true }
func (h handler) WithAttrs([]slog.Attr) slog.Handler        { return h }
func (h handler) WithGroup(string) slog.Handler             { return h }
func (h handler) Handle(context.Context, slog.Record) error { h(); return nil }

// While an export hangs, OnEmit and OnEnd return at once; what has no room is dropped and counted.
func TestLogBatcherNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		f := &fakeLogs{export: func(int) error { <-hang; return nil }}
		b := NewLogBatcher(WrapLogs(f, NewMonitor(Config{Name: "x"})))
		start := time.Now()
		emit(b, 10_000, "a line")
		synctest.Wait()
		if took := time.Since(start); took != 0 {
			t.Errorf("OnEmit waits %v", took)
		}
		if s := b.Stats(); s.QueueFull == 0 || s.Ended() != 10_000 {
			t.Errorf("Stats = %+v, want some dropped, and 10000 in all", s)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown = %v, want the context's end", err)
		}
		close(hang)
		synctest.Wait()
		if s := b.Stats(); s.Queued != 0 || s.Ended() != 10_000 {
			t.Errorf("Stats = %+v, want none queued and 10000 in all", s)
		}
	})
}

// A disk that hangs in a sync keeps ForceFlush no longer than its context.
func TestForceFlushIsBoundedByItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		b := NewLogWriter(WrapLogs(&fakeLogs{flush: func() error { <-hang; return nil }}, NewMonitor(Config{Name: "x"})))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := b.ForceFlush(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("ForceFlush = %v after %v, want the context's end after 1 s", err, time.Since(start))
		}
		close(hang)
		if err := b.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

// Large items are bounded by their size: what waits, and what comes in one export.
func TestBatcherBoundsBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		largest := 0
		f := &fake{export: func(_ context.Context, n int) error { <-hang; largest = max(largest, n); return nil }}
		b := newBatcher(t, f)
		large := tracetest.SpanStub{
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled}),
			Attributes:  []attribute.KeyValue{attribute.String("body", strings.Repeat("x", 1<<20))},
		}.Snapshot()
		for range 1000 {
			b.OnEnd(large)
		}
		if held := b.held.Load(); held > maxQueuedBytes {
			t.Errorf("%d bytes held, want at most %d", held, maxQueuedBytes)
		}
		close(hang)
		if err := b.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		s := b.Stats()
		if s.Exported != 63 || s.QueueFull != 1000-63 {
			t.Errorf("Stats = %+v, want 63 of 1 MiB exported", s)
		}
		if largest > 2 {
			t.Errorf("%d spans of 1 MiB in one export, want at most 2", largest)
		}
		if held := b.held.Load(); held != 0 {
			t.Errorf("%d bytes held in the end, want none", held)
		}
	})
}

// An item above the bound is exported alone: it is there anyway.
func TestBatcherTakesOneOfAnySize(t *testing.T) {
	f := &fakeLogs{}
	b := NewLogWriter(WrapLogs(f, NewMonitor(Config{Name: "x"})))
	emit(b, 1, strings.Repeat("x", maxQueuedBytes+1))
	if err := b.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if s := b.Stats(); s.Exported != 1 {
		t.Errorf("Stats = %+v, want it exported", s)
	}
}

// NewLogWriter exports without a delay; NewLogBatcher after a second, or a full batch.
func TestLogBatcherDelay(t *testing.T) {
	for name, tt := range map[string]struct {
		make func(*LogExporter) *LogBatcher
		want int64
	}{"writer": {NewLogWriter, 3}, "batcher": {NewLogBatcher, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeLogs{}
				b := tt.make(WrapLogs(f, NewMonitor(Config{Name: "x"})))
				emit(b, 3, "a line")
				synctest.Wait()
				if got := f.records.Load(); got != tt.want {
					t.Errorf("%d records exported at once, want %d", got, tt.want)
				}
				time.Sleep(1100 * time.Millisecond)
				if got := f.records.Load(); got != 3 {
					t.Errorf("%d records exported after a second, want 3", got)
				}
				if err := b.Shutdown(t.Context()); err != nil {
					t.Errorf("Shutdown: %v", err)
				}
			})
		})
	}
}

func BenchmarkOnEnd(b *testing.B) {
	batcher := NewBatcher(WrapSpans(&fake{}, NewMonitor(Config{Name: "x"})))
	defer batcher.Shutdown(context.Background())
	stub := tracetest.SpanStub{SpanContext: snapshot(true).SpanContext()}
	for i := range 8 {
		stub.Attributes = append(stub.Attributes, attribute.String(fmt.Sprint("key.", i), "a value"))
	}
	s := stub.Snapshot()
	b.ReportAllocs()
	for b.Loop() {
		batcher.OnEnd(s)
	}
}

func BenchmarkSpanBytes(b *testing.B) {
	stub := tracetest.SpanStub{SpanContext: snapshot(true).SpanContext()}
	for i := range 8 {
		stub.Attributes = append(stub.Attributes, attribute.String(fmt.Sprint("key.", i), "a value"))
	}
	s := stub.Snapshot()
	for b.Loop() {
		spanBytes(s)
	}
}
