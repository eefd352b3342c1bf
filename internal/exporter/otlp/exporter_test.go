package otlp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	otellog "go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelprof/otelprof/internal/exporter/delivery"
	"github.com/otelprof/otelprof/internal/testutil"
)

var protocols = []Protocol{ProtocolGRPC, ProtocolHTTPProtobuf}

// newTraces returns a provider that exports as the environment says.
func newTraces(t *testing.T, l *testutil.Log) (*sdktrace.TracerProvider, *delivery.Batcher) {
	t.Helper()
	env, err := FromEnv()
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewSpanExporter(t.Context(), env.Traces, l.Logger())
	if err != nil {
		t.Fatal(err)
	}
	b := delivery.NewBatcher(e)
	return sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(b)), b
}

func newMetrics(t *testing.T, l *testutil.Log) (*sdkmetric.MeterProvider, *delivery.MetricExporter) {
	t.Helper()
	env, err := FromEnv()
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewMetricExporter(t.Context(), env.Metrics, l.Logger())
	if err != nil {
		t.Fatal(err)
	}
	return sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(e))), e
}

func newLogs(t *testing.T, l *testutil.Log) (*sdklog.LoggerProvider, *delivery.LogExporter) {
	t.Helper()
	env, err := FromEnv()
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewLogExporter(t.Context(), env.Logs, l.Logger())
	if err != nil {
		t.Fatal(err)
	}
	return sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(e))), e
}

func emit(lp *sdklog.LoggerProvider, body string) {
	var r otellog.Record
	r.SetBody(attribute.StringValue(body))
	lp.Logger("test").Emit(context.Background(), r)
}

func span(tp *sdktrace.TracerProvider, name string) {
	_, s := tp.Tracer("test").Start(context.Background(), name)
	s.End()
}

func add(t *testing.T, mp *sdkmetric.MeterProvider) {
	t.Helper()
	c, err := mp.Meter("test").Int64Counter("visits")
	if err != nil {
		t.Fatal(err)
	}
	c.Add(t.Context(), 1)
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestExportersDeliver(t *testing.T) {
	for _, p := range protocols {
		t.Run(string(p), func(t *testing.T) {
			r := newReceiver(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.endpoint(p)+"/\n") // as variables made of secrets end
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", string(p))
			t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-test=yes,")
			t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
			t.Setenv("OTEL_EXPORTER_OTLP_INSECURE", "false") // the endpoint's scheme decides
			var l testutil.Log

			tp, b := newTraces(t, &l)
			span(tp, "a")
			span(tp, "b")
			if err := tp.Shutdown(within(t, 10*time.Second)); err != nil {
				t.Errorf("TracerProvider.Shutdown: %v", err)
			}
			mp, e := newMetrics(t, &l)
			add(t, mp)
			if err := mp.Shutdown(within(t, 10*time.Second)); err != nil {
				t.Errorf("MeterProvider.Shutdown: %v", err)
			}

			lp, le := newLogs(t, &l)
			emit(lp, "started")
			emit(lp, "expired")
			if err := lp.Shutdown(within(t, 10*time.Second)); err != nil {
				t.Errorf("LoggerProvider.Shutdown: %v", err)
			}

			if diff := cmp.Diff([]string{"a", "b"}, r.spanNames()); diff != "" {
				t.Errorf("spans received (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"visits"}, r.metricNames()); diff != "" {
				t.Errorf("metrics received (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"started", "expired"}, r.logBodies()); diff != "" {
				t.Errorf("log records received (-want +got):\n%s", diff)
			}
			transport, _, _ := strings.Cut(string(p), "/")
			if got := r.headers[transport]; got != "yes" {
				t.Errorf("header x-test = %q, want yes", got)
			}
			if s := b.Stats(); s.Exported != 2 || s.Ended() != 2 {
				t.Errorf("trace Stats = %+v, want 2 exported of 2", s)
			}
			if s := e.Stats(); s.Exported != 1 || s.Ended() != 1 {
				t.Errorf("metric Stats = %+v, want 1 exported of 1", s)
			}
			if s := le.Stats(); s.Exported != 2 || s.Ended() != 2 {
				t.Errorf("log Stats = %+v, want 2 exported of 2", s)
			}
			if got := l.String(); got != "" {
				t.Errorf("said %q, want nothing", got)
			}
		})
	}
}

// TestEndpointThatGRPCResolves sends to a name that is no URL of HTTP.
func TestEndpointThatGRPCResolves(t *testing.T) {
	r := newReceiver(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", strings.Replace(r.endpoint(ProtocolGRPC), "http://", "dns:///", 1))
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", string(ProtocolGRPC))
	t.Setenv("OTEL_EXPORTER_OTLP_INSECURE", "true")
	var l testutil.Log
	tp, _ := newTraces(t, &l)
	span(tp, "a")
	lp, _ := newLogs(t, &l)
	emit(lp, "started")
	if err := errors.Join(tp.Shutdown(within(t, 10*time.Second)), lp.Shutdown(within(t, 10*time.Second))); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"a", "started"}, append(r.spanNames(), r.logBodies()...)); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
}

// closedPort returns a URL on which no server listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func TestDeadEndpointIsSaidOnce(t *testing.T) {
	for _, p := range protocols {
		t.Run(string(p), func(t *testing.T) {
			url := closedPort(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", string(p))
			t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "100")
			var l testutil.Log
			tp, b := newTraces(t, &l)
			mp, e := newMetrics(t, &l)
			add(t, mp)
			const rounds = 5
			for range rounds {
				span(tp, "a")
				if err := tp.ForceFlush(within(t, 10*time.Second)); err == nil || !strings.Contains(err.Error(), "not delivered") {
					t.Errorf("TracerProvider.ForceFlush = %v, want the failure", err)
				}
				if err := mp.ForceFlush(within(t, 10*time.Second)); err == nil || !strings.Contains(err.Error(), "not delivered") {
					t.Errorf("MeterProvider.ForceFlush = %v, want the failure", err)
				}
			}
			lines := l.Await(2)
			if said := strings.Join(lines, "\n"); len(lines) != 2 || !strings.Contains(said, "otlp: traces to "+url) || !strings.Contains(said, "otlp: metrics to "+url) {
				t.Errorf("%d lines said, want one for traces and one for metrics:\n%s", len(lines), strings.Join(lines, "\n"))
			}
			if s := b.Stats(); s.Failed != rounds || s.Ended() != rounds {
				t.Errorf("trace Stats = %+v, want %d failed", s, rounds)
			}
			if s := e.Stats(); s.Failed != rounds {
				t.Errorf("metric Stats = %+v, want %d failed", s, rounds)
			}
			_ = tp.Shutdown(within(t, 5*time.Second))
			_ = mp.Shutdown(within(t, 5*time.Second))
			if got := len(l.Lines()); got != 2 {
				t.Errorf("%d lines said after Shutdown, want still 2:\n%s", got, strings.Join(l.Lines(), "\n"))
			}
		})
	}
}

// The exporters' own timeout is a minute, and they try again within it; Shutdown must not wait.
func TestShutdownWithDeadEndpointIsBounded(t *testing.T) {
	for _, p := range protocols {
		t.Run(string(p), func(t *testing.T) {
			// A server that takes connections and never answers.
			silent, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer silent.Close()
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+silent.Addr().String())
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", string(p))
			t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "60000")
			var l testutil.Log
			tp, b := newTraces(t, &l)
			mp, _ := newMetrics(t, &l)
			for range 2000 {
				span(tp, "a")
			}
			add(t, mp)
			for name, shutdown := range map[string]func(context.Context) error{"traces": tp.Shutdown, "metrics": mp.Shutdown} {
				start := time.Now()
				err := shutdown(within(t, 200*time.Millisecond))
				if err == nil {
					t.Errorf("%s: Shutdown = nil, want an error: nothing was delivered", name)
				}
				if took := time.Since(start); took > 20*time.Second { // on a busy machine
					t.Errorf("%s: Shutdown took %v with a context of 200 ms", name, took)
				}
			}
			testutil.Eventually(func() bool { return b.Stats().Queued == 0 })
			if s := b.Stats(); s.Ended() != 2000 || s.Queued != 0 || s.Exported != 0 {
				t.Errorf("Stats = %+v, want all 2000 lost and counted", s)
			}
		})
	}
}

func TestRecoveryIsSaidOnce(t *testing.T) {
	r := newReceiver(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.endpoint(ProtocolHTTPProtobuf))
	var l testutil.Log
	tp, b := newTraces(t, &l)
	r.answer(http.StatusUnauthorized, 0)
	for range 3 {
		span(tp, "lost")
		_ = tp.ForceFlush(within(t, 10*time.Second))
	}
	r.answer(0, 0)
	for range 3 {
		span(tp, "a")
		if err := tp.ForceFlush(within(t, 10*time.Second)); err != nil {
			t.Errorf("ForceFlush: %v", err)
		}
	}
	if err := tp.Shutdown(within(t, 10*time.Second)); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	lines := l.Await(2)
	if len(lines) != 2 || !strings.Contains(lines[0], "401 Unauthorized") || !strings.Contains(lines[1], "delivering again") {
		t.Errorf("said, want the status once and the return once:\n%s", strings.Join(lines, "\n"))
	}
	if s := b.Stats(); s.Exported != 3 || s.Failed != 3 {
		t.Errorf("Stats = %+v, want 3 exported and 3 failed", s)
	}
}

func TestPartialSuccessIsCounted(t *testing.T) {
	for _, p := range protocols {
		t.Run(string(p), func(t *testing.T) {
			r := newReceiver(t)
			r.answer(0, 1)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.endpoint(p))
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", string(p))
			var l testutil.Log
			tp, b := newTraces(t, &l)
			mp, e := newMetrics(t, &l)
			add(t, mp)
			lp, le := newLogs(t, &l)
			emit(lp, "started")
			if err := lp.Shutdown(within(t, 10*time.Second)); err != nil {
				t.Errorf("LoggerProvider.Shutdown: %v", err)
			}
			for range 2 {
				span(tp, "a")
				span(tp, "b")
				if err := tp.ForceFlush(within(t, 10*time.Second)); err != nil {
					t.Errorf("TracerProvider.ForceFlush: %v", err)
				}
			}
			if err := mp.Shutdown(within(t, 10*time.Second)); err != nil {
				t.Errorf("MeterProvider.Shutdown: %v", err)
			}
			if err := tp.Shutdown(within(t, 10*time.Second)); err != nil {
				t.Errorf("TracerProvider.Shutdown: %v", err)
			}
			if s := b.Stats(); s.Exported != 2 || s.Rejected != 2 || s.Failed != 0 {
				t.Errorf("trace Stats = %+v, want 2 exported and 2 rejected", s)
			}
			if s := e.Stats(); s.Exported != 0 || s.Rejected != 1 || s.Failed != 0 {
				t.Errorf("metric Stats = %+v, want 1 rejected", s)
			}
			if s := le.Stats(); s.Exported != 0 || s.Rejected != 1 || s.Failed != 0 {
				t.Errorf("log Stats = %+v, want 1 rejected", s)
			}
			if lines := l.Await(3); len(lines) != 3 {
				t.Errorf("%d lines said, want one a signal:\n%s", len(lines), strings.Join(lines, "\n"))
			}
		})
	}
}

func TestNotConfigured(t *testing.T) {
	if _, err := NewSpanExporter(t.Context(), Pipeline{}, nil); !errors.Is(err, ErrNotConfigured) {
		t.Errorf("NewSpanExporter = %v, want ErrNotConfigured", err)
	}
	if _, err := NewMetricExporter(t.Context(), Pipeline{}, nil); !errors.Is(err, ErrNotConfigured) {
		t.Errorf("NewMetricExporter = %v, want ErrNotConfigured", err)
	}
	if _, err := NewLogExporter(t.Context(), Pipeline{}, nil); !errors.Is(err, ErrNotConfigured) {
		t.Errorf("NewLogExporter = %v, want ErrNotConfigured", err)
	}
}
