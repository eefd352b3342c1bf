package otelprof

import (
	"context"
	"errors"
	"log/slog"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/exporter/delivery"
	"github.com/otelprof/otelprof/exporter/otlp"
	"github.com/otelprof/otelprof/exporter/otlpfile"
	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/pmuattrs"
	"github.com/otelprof/otelprof/spans"
)

// files are the exporters to the data folder, nil without one.
type files struct {
	spans   *otlpfile.SpanExporter
	metrics *otlpfile.MetricExporter
	logs    *otlpfile.LogExporter
}

func (p *Profiler) openFiles(c config) (f files) {
	if c.dataDir == "" {
		return f
	}
	var errSpans, errMetrics, errLogs error
	logger := otlpfile.WithLogger(c.logger)
	f.spans, errSpans = otlpfile.NewSpanExporter(c.dataDir, logger)
	f.metrics, errMetrics = otlpfile.NewMetricExporter(c.dataDir, logger)
	f.logs, errLogs = otlpfile.NewLogExporter(c.dataDir, logger)
	if err := errors.Join(errSpans, errMetrics, errLogs); err != nil {
		c.logger.Warn("otelprof: data folder: not everything is written", slog.Any("cause", err))
	}
	if f.spans != nil {
		p.release = append(p.release, f.spans.Shutdown)
	}
	if f.metrics != nil {
		p.release = append(p.release, f.metrics.Shutdown)
		p.exports = append(p.exports, f.metrics.Stats)
	}
	if f.logs != nil {
		p.release = append(p.release, f.logs.Shutdown)
		p.exports = append(p.exports, f.logs.Stats)
	}
	return f
}

func (p *Profiler) addSpanExporters(ctx context.Context, c config, env otlp.Env, file *otlpfile.SpanExporter) error {
	if file != nil {
		if err := p.addBatcher(file.SpanExporter); err != nil {
			return err
		}
	}
	if !env.Traces.Enabled {
		return nil
	}
	e, err := otlp.NewSpanExporter(ctx, env.Traces, otlp.WithLogger(c.logger))
	if err != nil {
		return err
	}
	p.release = append(p.release, e.Shutdown)
	return p.addBatcher(e)
}

func (p *Profiler) addBatcher(e *delivery.SpanExporter) error {
	b, err := delivery.NewBatcher(e)
	if err != nil {
		return err
	}
	p.batchers = append(p.batchers, b)
	p.exports = append(p.exports, b.Stats)
	return nil
}

func (p *Profiler) addMetricExporters(ctx context.Context, c config, env otlp.Env, res *resource.Resource, ours bool, file *otlpfile.MetricExporter) error {
	var exporters []sdkmetric.Exporter
	if file != nil {
		exporters = append(exporters, file)
	}
	if env.Metrics.Enabled {
		e, err := otlp.NewMetricExporter(ctx, env.Metrics, otlp.WithLogger(c.logger))
		if err != nil {
			return err
		}
		p.release = append(p.release, e.Shutdown)
		p.exports = append(p.exports, e.Stats)
		exporters = append(exporters, e)
	}
	sdkOptions := []sdkmetric.Option{sdkmetric.WithResource(res)}
	var histograms []otelhdr.MeterProviderOption
	for _, e := range exporters {
		var readerOptions []sdkmetric.PeriodicReaderOption
		if ours {
			// Every reader has producers of its own, since a producer of deltas knows what it
			// has already given away.
			temporality := e.Temporality(sdkmetric.InstrumentKindHistogram)
			h := otelhdr.NewProducer(otelhdr.WithTemporality(temporality))
			histograms = append(histograms, h)
			readerOptions = append(readerOptions, sdkmetric.WithProducer(h),
				sdkmetric.WithProducer(spans.NewProducer(p.tracers, spans.WithTemporality(temporality))))
			readerOptions = append(readerOptions, sdkmetric.WithProducer(causal.NewProducer(p.causal.Profile)))
			if p.counters != nil {
				readerOptions = append(readerOptions, sdkmetric.WithProducer(
					pmuattrs.NewProducer(p.counters, pmuattrs.WithTemporality(temporality))))
			}
		}
		sdkOptions = append(sdkOptions, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(e, readerOptions...)))
	}
	p.meters = otelhdr.WrapMeterProvider(sdkmetric.NewMeterProvider(sdkOptions...), histograms...)
	return nil
}

// addLogExporters makes the provider of logs. A file takes each record at once: what experiments
// did must be known after a crash too.
func (p *Profiler) addLogExporters(ctx context.Context, c config, env otlp.Env, res *resource.Resource, file *otlpfile.LogExporter) error {
	sdkOptions := []sdklog.LoggerProviderOption{sdklog.WithResource(res)}
	if file != nil {
		sdkOptions = append(sdkOptions, sdklog.WithProcessor(sdklog.NewSimpleProcessor(file)))
	}
	if env.Logs.Enabled {
		e, err := otlp.NewLogExporter(ctx, env.Logs, otlp.WithLogger(c.logger))
		if err != nil {
			return err
		}
		p.release = append(p.release, e.Shutdown)
		p.exports = append(p.exports, e.Stats)
		sdkOptions = append(sdkOptions, sdklog.WithProcessor(sdklog.NewBatchProcessor(e)))
	}
	p.logs = sdklog.NewLoggerProvider(sdkOptions...)
	return nil
}
