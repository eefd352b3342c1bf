package otelprof

import (
	"context"
	"strconv"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/otelprof/otelprof/internal/exporter/delivery"
	"github.com/otelprof/otelprof/internal/exporter/otlp"
)

// A pipeline is an exporter, with the batching processor before it if there is one.
type pipeline struct {
	signal    string // as metrics are named: span, log, metric_data_point
	exporter  string // otel.component.type
	processor string
	stats     func() delivery.Stats
}

// Types of components that the semantic conventions have no name for are Go's. They stay as they
// are wherever the packages go.
const (
	fileComponent      = "github.com/otelprof/otelprof/exporter/otlpfile."
	processorComponent = "github.com/otelprof/otelprof/exporter/delivery."
)

// otlpComponent is the conventions' name of an exporter.
func otlpComponent(protocol otlp.Protocol, kind string) string {
	if protocol == otlp.ProtocolGRPC {
		return "otlp_grpc_" + kind + "_exporter"
	}
	return "otlp_http_" + kind + "_exporter"
}

func (p *Profiler) addPipeline(l pipeline) {
	p.exports = append(p.exports, l.stats)
	p.pipelines = append(p.pipelines, l)
}

// observePipelines makes metrics of what [Profiler.Exports] counts, by the semantic conventions of
// SDKs that observe themselves. They are read when metrics are collected, and cost nothing before.
func (p *Profiler) observePipelines() {
	meter := p.meters.Meter("github.com/otelprof/otelprof")
	for i, l := range p.pipelines {
		if err := l.observe(meter, i); err != nil {
			otel.Handle(err) // a name that is not valid, which no test would have let pass
		}
	}
}

func (l pipeline) observe(meter metric.Meter, number int) error {
	unit := metric.WithUnit("{" + map[string]string{"span": "span", "log": "log_record", "metric_data_point": "data_point"}[l.signal] + "}")
	exported, err := meter.Int64ObservableCounter("otel.sdk.exporter."+l.signal+".exported", unit)
	if err != nil {
		return err
	}
	sum := func(o metric.Observer, counter metric.Int64Observable, component, errorType string, n uint64) {
		attributes := []attribute.KeyValue{
			semconv.OTelComponentTypeKey.String(component), semconv.OTelComponentName(component + "/" + strconv.Itoa(number)),
		}
		if errorType != "" {
			if n == 0 {
				return // no series for what has not happened
			}
			attributes = append(attributes, semconv.ErrorTypeKey.String(errorType))
		}
		o.ObserveInt64(counter, int64(n), metric.WithAttributes(attributes...))
	}
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := l.stats()
		sum(o, exported, l.exporter, "", s.Exported)
		sum(o, exported, l.exporter, "rejected", s.Rejected)
		sum(o, exported, l.exporter, "_OTHER", s.Failed)
		return nil
	}, exported)
	if err != nil || l.processor == "" {
		return err
	}
	processed, err := meter.Int64ObservableCounter("otel.sdk.processor."+l.signal+".processed", unit)
	if err != nil {
		return err
	}
	queued, err := meter.Int64ObservableUpDownCounter("otel.sdk.processor."+l.signal+".queue.size", unit)
	if err != nil {
		return err
	}
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := l.stats()
		sum(o, processed, l.processor, "", s.Exported+s.Rejected+s.Failed)
		sum(o, processed, l.processor, "queue_full", s.QueueFull)
		sum(o, processed, l.processor, "already_shutdown", s.Unfinished)
		sum(o, queued, l.processor, "", s.Queued)
		return nil
	}, processed, queued)
	return err
}
