package exporter_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	otellog "go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/otelprof/otelprof/exporter"
	"github.com/otelprof/otelprof/internal/testutil"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	ctx := context.Background()
	processor := exporter.NewSpanProcessor(tracetest.NewInMemoryExporter()) // any exporter
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(processor))
	_, span := tp.Tracer("shop").Start(ctx, "checkout")
	span.End()
	if err := tp.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
	stats := processor.Stats()
	fmt.Println(stats.Ended(), stats.Exported, stats.QueueFull)
	// Output: 1 1 0
}

func ExampleFiles() {
	dir, err := os.MkdirTemp("", "otelprof")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	processor, err := exporter.Files{Dir: dir}.Spans()
	if err != nil {
		log.Fatal(err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(processor))
	_, span := tp.Tracer("shop").Start(context.Background(), "checkout")
	span.End()
	if err := tp.Shutdown(context.Background()); err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "traces.jsonl"))
	fmt.Println(strings.Count(string(text), "\n"), strings.Contains(string(text), `"checkout"`), err)
	// Output: 1 true <nil>
}

// refusing fails each export.
type refusing struct{ sdktrace.SpanExporter }

func (refusing) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	return errors.New("connection refused")
}

// An exporter that fails loses spans, which are counted, and is logged once.
func TestFailuresAreCounted(t *testing.T) {
	var said testutil.Log
	processor := exporter.NewSpanProcessor(refusing{tracetest.NewInMemoryExporter()}, exporter.WithName("to the moon"), exporter.WithLogger(said.Logger()))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(processor))
	for range 3 {
		_, span := tp.Tracer("test").Start(t.Context(), "lost")
		span.End()
		_ = tp.ForceFlush(t.Context())
	}
	if s := processor.Stats(); s.Name != "to the moon" || s.Failed != 3 || s.Ended() != 3 || s.Outage == "" {
		t.Errorf("Stats = %+v, want 3 failed of 3 and why", s)
	}
	_ = tp.Shutdown(t.Context())
	if n := strings.Count(said.String(), "level=WARN"); n != 1 {
		t.Errorf("logged %d warnings, want one:\n%s", n, said.String())
	}
}

// partly has one item of each export refused, as the SDK's exporters say that.
type partly struct{ sdktrace.SpanExporter }

type partialError struct {
	RejectedItems int64
	RejectedKind  string
}

func (partialError) Error() string { return "OTLP partial success" }

func (partly) ExportSpans(_ context.Context, all []sdktrace.ReadOnlySpan) error {
	for _, s := range all {
		if !utf8.ValidString(s.Name()) {
			return errors.New("string field contains invalid UTF-8")
		}
	}
	return fmt.Errorf("traces export: %w", partialError{1, "spans"})
}

// What the other side, or the encoding, refuses is counted for itself, and none with it.
func TestRefusedInPart(t *testing.T) {
	for name, want := range map[string]exporter.Stats{"good": {Exported: 7, Rejected: 1}, "caf\xe9": {Failed: 0, Rejected: 8}} {
		processor := exporter.NewSpanProcessor(partly{tracetest.NewInMemoryExporter()}, exporter.WithName("p"))
		tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(processor))
		for range 8 {
			_, span := tp.Tracer("test").Start(t.Context(), name)
			span.End()
		}
		_ = tp.Shutdown(t.Context())
		if s := processor.Stats(); s.Exported != want.Exported || s.Rejected+s.Failed != want.Rejected+want.Failed || s.Ended() != 8 {
			t.Errorf("%q: Stats = %+v, want %+v", name, s, want)
		}
	}
}

// Without an exporter all is lost, and counted. A nil option is left out.
func TestNilExporters(t *testing.T) {
	spans, logs := exporter.NewSpanProcessor(nil, nil), exporter.NewLogProcessor(nil)
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	_, span := tp.Tracer("test").Start(t.Context(), "lost")
	span.End()
	lp := sdklog.NewLoggerProvider(sdklog.WithProcessor(logs))
	lp.Logger("test").Emit(t.Context(), otellog.Record{})
	mp := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter.NewMetricExporter(nil))))
	_, _, _ = tp.Shutdown(t.Context()), lp.Shutdown(t.Context()), mp.Shutdown(t.Context())
	if s, l := spans.Stats(), logs.Stats(); s.Failed != 1 || l.Failed != 1 {
		t.Errorf("Stats = %+v and %+v, want one lost each", s, l)
	}
}

func TestFilesOfAllSignals(t *testing.T) {
	files := exporter.Files{Dir: t.TempDir(), MaxBytes: 1 << 20, Backups: 1}
	logs, err := files.Logs()
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := files.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	lp := sdklog.NewLoggerProvider(sdklog.WithProcessor(logs))
	mp := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metrics)))
	var record otellog.Record
	record.SetBody(attribute.StringValue("paid"))
	lp.Logger("test").Emit(t.Context(), record)
	counter, err := mp.Meter("test").Int64Counter("orders")
	if err != nil {
		t.Fatal(err)
	}
	counter.Add(t.Context(), 1)
	if err := errors.Join(lp.Shutdown(t.Context()), mp.Shutdown(t.Context())); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	for name, text := range map[string]string{"logs.jsonl": "paid", "metrics.jsonl": "orders"} {
		if got, err := os.ReadFile(filepath.Join(files.Dir, name)); err != nil || !strings.Contains(string(got), text) {
			t.Errorf("%s: %v, %q, want %s", name, err, got, text)
		}
	}
	if l, m := logs.Stats(), metrics.Stats(); l.Exported != 1 || m.Exported != 1 {
		t.Errorf("Stats = %+v and %+v, want one item each", l, m)
	}
}

func TestFilesRefused(t *testing.T) {
	for _, files := range []exporter.Files{{Dir: filepath.Join(t.TempDir(), "missing")}, {Dir: t.TempDir(), MaxBytes: -1}, {Dir: t.TempDir(), Backups: -1}} {
		if _, err := files.Spans(); err == nil {
			t.Errorf("%+v: no error", files)
		}
	}
}
