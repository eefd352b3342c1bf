package otlp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelprof/otelprof/internal/exporter/delivery"
)

var (
	_ sdktrace.SpanExporter = (*delivery.SpanExporter)(nil)
	_ sdkmetric.Exporter    = (*delivery.MetricExporter)(nil)
	_ sdklog.Exporter       = (*delivery.LogExporter)(nil)
)

// ErrNotConfigured is returned for a pipeline that the environment does not enable.
var ErrNotConfigured = errors.New("otlp: not configured")

// NewSpanExporter returns an exporter for spans. It does not wait for the endpoint: that none
// listens is logged at the first export. The exporter has no queue; give it to
// [delivery.NewBatcher] or to one of the SDK's processors. An error wraps [ErrNotConfigured]
// unless p, from [FromEnv], is enabled. The logger gets an endpoint that cannot be reached or
// refuses data, and its return; nil stands for otel.Handle.
//
// An export over gRPC, and each try of one over HTTP, takes OTEL_EXPORTER_OTLP_TIMEOUT at most, by
// default 10 s. Over HTTP it is tried again for a minute while the endpoint is busy. It ends with
// its context. Any goroutine may call the exporter's methods.
func NewSpanExporter(ctx context.Context, p Pipeline, logger *slog.Logger) (*delivery.SpanExporter, error) {
	t, _ := transportFromEnv(traces, p.target) // FromEnv has returned the error
	var client *http.Client
	var inner *otlptrace.Exporter
	var err error
	switch {
	case !p.Enabled:
		return nil, fmt.Errorf("%w: traces", ErrNotConfigured)
	case p.Protocol == ProtocolGRPC:
		inner, err = otlptracegrpc.New(ctx, grpcOptions(p, t, grpcMakers[otlptracegrpc.Option]{
			otlptracegrpc.WithEndpointURL, otlptracegrpc.WithEndpoint, otlptracegrpc.WithCompressor,
			otlptracegrpc.WithHeaders, otlptracegrpc.WithTimeout, otlptracegrpc.WithTLSCredentials,
		})...)
	default:
		client = newHTTPClient(t) // has the certificates; beside http:// the SDK refuses any
		inner, err = otlptracehttp.New(ctx, otlptracehttp.WithHTTPClient(client), otlptracehttp.WithEndpointURL(p.target), otlptracehttp.WithTLSClientConfig(nil),
			otlptracehttp.WithEncoding(otlptracehttp.EncodingProtobuf), otlptracehttp.WithHeaders(t.headers),
			otlptracehttp.WithCompression(either(t.gzip, otlptracehttp.GzipCompression, otlptracehttp.NoCompression)))
	}
	if err != nil {
		return nil, fmt.Errorf("otlp: traces to %s: %w", p.Endpoint, err)
	}
	m := newMonitor("traces", "spans", p, logger)
	return delivery.WrapSpans(utf8Spans{inner, pipe{client, m}}, m), nil
}

// NewMetricExporter is [NewSpanExporter] for metrics. Give the exporter to a
// [sdkmetric.PeriodicReader].
func NewMetricExporter(ctx context.Context, p Pipeline, logger *slog.Logger) (*delivery.MetricExporter, error) {
	t, _ := transportFromEnv(metrics, p.target) // FromEnv has returned the error
	var client *http.Client
	var inner sdkmetric.Exporter
	var err error
	switch {
	case !p.Enabled:
		return nil, fmt.Errorf("%w: metrics", ErrNotConfigured)
	case p.Protocol == ProtocolGRPC:
		inner, err = otlpmetricgrpc.New(ctx, grpcOptions(p, t, grpcMakers[otlpmetricgrpc.Option]{
			otlpmetricgrpc.WithEndpointURL, otlpmetricgrpc.WithEndpoint, otlpmetricgrpc.WithCompressor,
			otlpmetricgrpc.WithHeaders, otlpmetricgrpc.WithTimeout, otlpmetricgrpc.WithTLSCredentials,
		})...)
	default:
		client = newHTTPClient(t)
		inner, err = otlpmetrichttp.New(ctx, otlpmetrichttp.WithHTTPClient(client), otlpmetrichttp.WithEndpointURL(p.target), otlpmetrichttp.WithTLSClientConfig(nil),
			otlpmetrichttp.WithHeaders(t.headers), otlpmetrichttp.WithCompression(either(t.gzip, otlpmetrichttp.GzipCompression, otlpmetrichttp.NoCompression)))
	}
	if err != nil {
		return nil, fmt.Errorf("otlp: metrics to %s: %w", p.Endpoint, err)
	}
	m := newMonitor("metrics", "data points", p, logger)
	return delivery.WrapMetrics(utf8Metrics{inner, pipe{client, m}}, m), nil
}

// NewLogExporter is [NewSpanExporter] for log records. Give the exporter to a
// [sdklog.BatchProcessor].
func NewLogExporter(ctx context.Context, p Pipeline, logger *slog.Logger) (*delivery.LogExporter, error) {
	t, _ := transportFromEnv(logs, p.target) // FromEnv has returned the error
	var client *http.Client
	var inner sdklog.Exporter
	var err error
	switch {
	case !p.Enabled:
		return nil, fmt.Errorf("%w: logs", ErrNotConfigured)
	case p.Protocol == ProtocolGRPC:
		inner, err = otlploggrpc.New(ctx, grpcOptions(p, t, grpcMakers[otlploggrpc.Option]{
			otlploggrpc.WithEndpointURL, otlploggrpc.WithEndpoint, otlploggrpc.WithCompressor,
			otlploggrpc.WithHeaders, otlploggrpc.WithTimeout, otlploggrpc.WithTLSCredentials,
		})...)
	default:
		client = newHTTPClient(t)
		inner, err = otlploghttp.New(ctx, otlploghttp.WithHTTPClient(client), otlploghttp.WithEndpointURL(p.target), otlploghttp.WithTLSClientConfig(nil),
			otlploghttp.WithHeaders(t.headers), otlploghttp.WithCompression(either(t.gzip, otlploghttp.GzipCompression, otlploghttp.NoCompression)))
	}
	if err != nil {
		return nil, fmt.Errorf("otlp: logs to %s: %w", p.Endpoint, err)
	}
	m := newMonitor("logs", "log records", p, logger)
	return delivery.WrapLogs(utf8Logs{inner, pipe{client, m}}, m), nil
}

// grpcMakers make the options of one signal's exporter over gRPC.
type grpcMakers[O any] struct {
	url, name, compressor func(string) O
	headers               func(map[string]string) O
	timeout               func(time.Duration) O
	security              func(credentials.TransportCredentials) O
}

// grpcOptions are what exporters over gRPC are given. It is all that [FromEnv] has read and
// reported: the SDK's read the variables by rules of their own.
func grpcOptions[O any](p Pipeline, t transport, with grpcMakers[O]) []O {
	o := []O{with.url(p.target), with.headers(t.headers), with.timeout(t.timeout)}
	if !p.isURL() {
		o[0] = with.name(p.target)
	}
	if t.gzip {
		o = append(o, with.compressor("gzip"))
	}
	if t.plain { // also beside certificates, for which the SDK would take TLS
		return append(o, with.security(insecure.NewCredentials()))
	}
	return append(o, with.security(credentials.NewTLS(t.tls)))
}

// either returns yes or no.
func either[T any](is bool, yes, no T) T {
	if is {
		return yes
	}
	return no
}

func newMonitor(signal, unit string, p Pipeline, logger *slog.Logger) *delivery.Monitor {
	return delivery.NewMonitor(delivery.Config{
		Name:     fmt.Sprintf("otlp: %s to %s", signal, p.Endpoint),
		Unit:     unit,
		Cause:    cause,
		Rejected: delivery.Rejected,
		Refused:  refused,
		Explain:  explain,
		Logger:   logger,
	})
}
