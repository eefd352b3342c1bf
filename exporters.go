package otelprof

import (
	"context"
	"errors"
	"log/slog"
	"os"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/otelprof/otelprof/internal/exporter/delivery"
	"github.com/otelprof/otelprof/internal/exporter/otlp"
	"github.com/otelprof/otelprof/internal/exporter/otlpfile"
	"github.com/otelprof/otelprof/otelhdr/hdrmetric"
)

// files are the exporters to the data folder, nil without one.
type files struct {
	spans   *delivery.SpanExporter
	metrics *delivery.MetricExporter
	logs    *delivery.LogExporter
}

func (p *Profiler) openFiles(c config) (f files) {
	if c.dataDir == "" {
		return f
	}
	if err := os.MkdirAll(c.dataDir, 0o700); err != nil {
		c.logger.Warn("otelprof: data folder: nothing is written", slog.String("folder", c.dataDir), slog.Any("cause", err))
		return f
	}
	var errSpans, errMetrics, errLogs error
	// The process before may still be there, in a rolling restart on one volume.
	to := otlpfile.Config{Dir: c.dataDir, Wait: true, Logger: c.logger}
	f.spans, errSpans = otlpfile.NewSpanExporter(to)
	f.metrics, errMetrics = otlpfile.NewMetricExporter(to)
	f.logs, errLogs = otlpfile.NewLogExporter(to)
	if err := errors.Join(errSpans, errMetrics, errLogs); err != nil {
		c.logger.Warn("otelprof: data folder: not everything is written", slog.Any("cause", err))
	}
	if f.spans != nil {
		p.release = append(p.release, f.spans.Shutdown)
	}
	if f.metrics != nil {
		p.release = append(p.release, f.metrics.Shutdown)
		p.addPipeline(pipeline{signal: "metric_data_point", exporter: fileComponent + "MetricExporter", stats: f.metrics.Stats})
	}
	if f.logs != nil {
		p.release = append(p.release, f.logs.Shutdown)
	}
	return f
}

func (p *Profiler) addSpanExporters(ctx context.Context, c config, env otlp.Env, file *delivery.SpanExporter) {
	if file != nil {
		p.addBatcher(file, fileComponent+"SpanExporter")
	}
	if !env.Traces.Enabled {
		return
	}
	e, err := otlp.NewSpanExporter(ctx, env.Traces, c.logger)
	if err != nil {
		leftOut(c, "traces", err)
		return
	}
	p.release = append(p.release, e.Shutdown)
	p.addBatcher(e, otlpComponent(env.Traces.Protocol, "span"))
}

func (p *Profiler) addBatcher(e *delivery.SpanExporter, component string) {
	b := delivery.NewBatcher(e)
	p.batchers = append(p.batchers, b)
	p.addPipeline(pipeline{signal: "span", exporter: component, processor: processorComponent + "Batcher", stats: b.Stats})
}

func (p *Profiler) addMetricExporters(ctx context.Context, c config, env otlp.Env, ours bool, file *delivery.MetricExporter) {
	var exporters []*delivery.MetricExporter
	if file != nil {
		exporters = append(exporters, file)
	}
	if env.Metrics.Enabled {
		if e, err := otlp.NewMetricExporter(ctx, env.Metrics, c.logger); err != nil {
			leftOut(c, "metrics", err)
		} else {
			p.release = append(p.release, e.Shutdown)
			p.addPipeline(pipeline{signal: "metric_data_point", exporter: otlpComponent(env.Metrics.Protocol, "metric"), stats: e.Stats})
			exporters = append(exporters, e)
		}
	}
	sdkOptions := []sdkmetric.Option{sdkmetric.WithResource(c.resource)}
	var histograms []hdrmetric.MeterProviderOption
	for _, e := range exporters {
		var readerOptions []sdkmetric.PeriodicReaderOption
		if ours {
			// Every reader has producers of its own, since a producer of deltas keeps what it has
			// already given away.
			temporality := e.Temporality(sdkmetric.InstrumentKindHistogram)
			options, as := []hdrmetric.ProducerOption{hdrmetric.WithTemporality(temporality)}, asTheyAre
			if env.Metrics.ExplicitHistograms && e != file {
				options, as = append(options, hdrmetric.WithExplicitBuckets(otlp.DefaultBounds...)), otlp.Explicit
			}
			h := hdrmetric.NewProducer(options...)
			histograms = append(histograms, h)
			readerOptions = append(readerOptions, sdkmetric.WithProducer(h))
			for _, of := range p.producers(temporality) {
				if r, ok := of.(interface{ SkipUnchanged(whole func() bool) }); ok {
					r.SkipUnchanged(func() bool { return p.lastMetrics.Load() || e.Stats().Outage != "" })
				}
				readerOptions = append(readerOptions, sdkmetric.WithProducer(as(of)))
			}
		}
		r := sdkmetric.NewPeriodicReader(e, readerOptions...)
		p.readers = append(p.readers, r)
		sdkOptions = append(sdkOptions, sdkmetric.WithReader(r))
	}
	p.meters = hdrmetric.WrapMeterProvider(sdkmetric.NewMeterProvider(sdkOptions...), histograms...)
	if ours {
		p.observePipelines()
	}
}

func asTheyAre(p sdkmetric.Producer) sdkmetric.Producer { return p }

// addLogExporters makes the provider of logs. A file gets each record as soon as it has the one
// before: what experiments did must be known after a crash too.
func (p *Profiler) addLogExporters(ctx context.Context, c config, env otlp.Env, file *delivery.LogExporter) {
	sdkOptions := []sdklog.LoggerProviderOption{sdklog.WithResource(c.resource)}
	if file != nil {
		sdkOptions = append(sdkOptions, sdklog.WithProcessor(p.addLogBatcher(delivery.NewLogWriter(file), fileComponent+"LogExporter")))
	}
	if env.Logs.Enabled {
		if e, err := otlp.NewLogExporter(ctx, env.Logs, c.logger); err != nil {
			leftOut(c, "logs", err)
		} else {
			p.release = append(p.release, e.Shutdown)
			sdkOptions = append(sdkOptions, sdklog.WithProcessor(p.addLogBatcher(delivery.NewLogBatcher(e), otlpComponent(env.Logs.Protocol, "log"))))
		}
	}
	p.logs = otlp.LoggerProvider{LoggerProvider: sdklog.NewLoggerProvider(sdkOptions...)}
}

func (p *Profiler) addLogBatcher(b *delivery.LogBatcher, component string) sdklog.Processor {
	p.logBatchers = append(p.logBatchers, b)
	p.addPipeline(pipeline{signal: "log", exporter: component, processor: processorComponent + "LogBatcher", stats: b.Stats})
	return b
}
