package otelprof

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/semconv/v1.43.0/otelconv"

	"github.com/otelprof/otelprof/internal/exporter/delivery"
	"github.com/otelprof/otelprof/internal/exporter/otlp"
	"github.com/otelprof/otelprof/otelhdr/hdrmetric"
)

// The names, units and kinds are those that OpenTelemetry generates from its conventions.
func TestPipelinesHaveConventionalMetrics(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	p := Profiler{meters: hdrmetric.WrapMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))}
	stats := func() delivery.Stats {
		return delivery.Stats{Exported: 100, Failed: 20, Rejected: 3, QueueFull: 4, Unfinished: 5, Queued: 6}
	}
	p.addPipeline(pipeline{signal: "span", exporter: otlpComponent(otlp.ProtocolGRPC, "span"), processor: "b", stats: stats})
	p.addPipeline(pipeline{signal: "log", exporter: fileComponent + "LogExporter", processor: "l", stats: func() delivery.Stats {
		return delivery.Stats{Exported: 7}
	}})
	p.addPipeline(pipeline{signal: "metric_data_point", exporter: otlpComponent(otlp.ProtocolHTTPProtobuf, "metric"), stats: stats})
	p.observePipelines()

	var rm metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &rm); err != nil {
		t.Fatal(err)
	}
	got, units := map[string]int64{}, map[string]string{}
	for _, m := range rm.ScopeMetrics[0].Metrics {
		units[m.Name] = m.Unit
		sum := m.Data.(metricdata.Sum[int64])
		if want := m.Name != (otelconv.SDKProcessorSpanQueueSize{}).Name() && m.Name != (otelconv.SDKProcessorLogQueueSize{}).Name(); sum.IsMonotonic != want {
			t.Errorf("%s: monotonic = %v, want %v", m.Name, sum.IsMonotonic, want)
		}
		for _, point := range sum.DataPoints {
			errorType, _ := point.Attributes.Value(attribute.Key("error.type"))
			component, _ := point.Attributes.Value(attribute.Key("otel.component.name"))
			got[fmt.Sprintf("%s %s %s", m.Name, component.AsString(), errorType.AsString())] = point.Value
		}
	}
	want := map[string]int64{
		"otel.sdk.exporter.span.exported otlp_grpc_span_exporter/0 ":                                   100,
		"otel.sdk.exporter.span.exported otlp_grpc_span_exporter/0 _OTHER":                             20,
		"otel.sdk.exporter.span.exported otlp_grpc_span_exporter/0 rejected":                           3,
		"otel.sdk.processor.span.processed b/0 ":                                                       123,
		"otel.sdk.processor.span.processed b/0 queue_full":                                             4,
		"otel.sdk.processor.span.processed b/0 already_shutdown":                                       5,
		"otel.sdk.processor.span.queue.size b/0 ":                                                      6,
		"otel.sdk.exporter.log.exported github.com/otelprof/otelprof/exporter/otlpfile.LogExporter/1 ": 7,
		"otel.sdk.processor.log.processed l/1 ":                                                        7,
		"otel.sdk.processor.log.queue.size l/1 ":                                                       0,
		"otel.sdk.exporter.metric_data_point.exported otlp_http_metric_exporter/2 ":                    100,
		"otel.sdk.exporter.metric_data_point.exported otlp_http_metric_exporter/2 _OTHER":              20,
		"otel.sdk.exporter.metric_data_point.exported otlp_http_metric_exporter/2 rejected":            3,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
	conventional := map[string]string{}
	for _, m := range []interface {
		Name() string
		Unit() string
	}{
		otelconv.SDKExporterSpanExported{},
		otelconv.SDKExporterLogExported{},
		otelconv.SDKExporterMetricDataPointExported{},
		otelconv.SDKProcessorSpanProcessed{},
		otelconv.SDKProcessorLogProcessed{},
		otelconv.SDKProcessorSpanQueueSize{},
		otelconv.SDKProcessorLogQueueSize{},
	} {
		conventional[m.Name()] = m.Unit()
	}
	if diff := cmp.Diff(conventional, units); diff != "" {
		t.Errorf("names and units (-convention +ours):\n%s", diff)
	}
}
