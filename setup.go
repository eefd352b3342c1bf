package otelprof

import (
	"context"
	"errors"
	"log/slog"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/remote"
	"github.com/otelprof/otelprof/exporter/delivery"
	"github.com/otelprof/otelprof/exporter/otlp"
	"github.com/otelprof/otelprof/exporter/otlpfile"
	"github.com/otelprof/otelprof/exporter/viewer"
	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/pmuattrs"
	"github.com/otelprof/otelprof/spans"
)

// Setup makes the providers of traces and metrics, as the environment and the options say,
// and sets OpenTelemetry's globals to them. It waits for nobody: ctx is for what exporters
// do when they are made.
//
// The error joins all settings that are wrong, and nothing is left running. See the
// package's documentation for what is not an error.
func Setup(ctx context.Context, opts ...Option) (*Profiler, error) {
	c, errConfig := newConfig(opts)
	env, errEnv := otlp.FromEnv()
	if err := errors.Join(errConfig, errEnv); err != nil {
		return nil, err
	}
	ours := !c.disabled && !env.Disabled
	if !ours {
		c.viewer, c.dataDir, c.planFile, c.experiments = "", "", "", nil
		c.virtual, c.counters = false, false
	}

	p := &Profiler{done: make(chan struct{})}
	if err := p.wire(ctx, c, env, ours); err != nil {
		ended, cancel := context.WithCancel(ctx)
		cancel() // nothing has been measured that would be worth waiting for
		_ = p.Shutdown(ended)
		return nil, err
	}
	if !c.withoutGlobals {
		otel.SetTracerProvider(p.tracers)
		otel.SetMeterProvider(p.meters)
		otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(
			propagation.TraceContext{}, propagation.Baggage{}))
	}
	return p, nil
}

// wire makes the parts from the inside out. After an error, those made so far are in p.
func (p *Profiler) wire(ctx context.Context, c config, env otlp.Env, ours bool) error {
	res, err := newResource(c)
	if err != nil {
		return err
	}
	controllerOptions := []causal.Option{causal.WithResource(res), causal.WithLogger(c.logger)}
	if c.experiments != nil {
		controllerOptions = append(controllerOptions, causal.WithExperiments(*c.experiments))
	}
	controllerOptions = append(controllerOptions, causal.WithVirtual(c.virtual))
	if p.causal, err = causal.New(controllerOptions...); err != nil {
		return err
	}

	// Files come first: the SDK shuts its processors down one after the other, and a file
	// does not wait for anybody.
	files := p.openFiles(c)
	if err := p.addSpanExporters(ctx, c, env, files.spans); err != nil {
		return err
	}
	var base trace.TracerProvider = noop.NewTracerProvider()
	if !env.Disabled {
		sdkOptions := []sdktrace.TracerProviderOption{sdktrace.WithResource(res)}
		for _, b := range p.batchers {
			sdkOptions = append(sdkOptions, sdktrace.WithSpanProcessor(b))
		}
		base = sdktrace.NewTracerProvider(sdkOptions...)
	}
	wrapOptions := []spans.Option{spans.WithRecording(ours)}
	if ours {
		wrapOptions = append(wrapOptions, spans.WithHook(p.causal.Hook()))
	}
	if err := p.openCounters(c); err != nil {
		return err
	}
	if p.counters != nil {
		wrapOptions = append(wrapOptions, spans.WithHook(p.counters))
	}
	if c.store != nil {
		wrapOptions = append(wrapOptions, spans.WithStore(c.store))
	}
	p.tracers = spans.Wrap(base, wrapOptions...)

	if err := p.addMetricExporters(ctx, c, env, res, ours, files.metrics); err != nil {
		return err
	}
	if err := p.serve(c, text(res, semconv.ServiceNameKey)); err != nil {
		return err
	}
	if c.planFile != "" {
		p.poll(remote.NewFile(c.planFile, p.causal))
	}
	return nil
}

// openCounters makes the hook that counts. Only a wrong option is an error.
func (p *Profiler) openCounters(c config) error {
	if !c.counters {
		return nil
	}
	h, err := pmuattrs.NewHook(c.counterOptions...)
	switch {
	case errors.Is(err, pmuattrs.ErrConfig):
		return err
	case err != nil:
		c.logger.Warn("otelprof: counters: none on this system", slog.Any("cause", err))
		return nil
	case h.Reason() != nil && h.Source() == pmuattrs.SourceUsage:
		c.logger.Warn("otelprof: counters: CPU time and page faults in their place; otelprof doctor says more", slog.Any("cause", h.Reason()))
	case h.Reason() != nil:
		c.logger.Warn("otelprof: counters: some are missing; otelprof doctor says more", slog.Any("cause", h.Reason()))
	}
	p.counters = h
	return nil
}

// files are the exporters to the data folder, nil without one.
type files struct {
	spans   *otlpfile.SpanExporter
	metrics *otlpfile.MetricExporter
}

func (p *Profiler) openFiles(c config) files {
	if c.dataDir == "" {
		return files{}
	}
	s, errSpans := otlpfile.NewSpanExporter(c.dataDir, otlpfile.WithLogger(c.logger))
	if errSpans != nil {
		c.logger.Warn("otelprof: data folder: no files are written", slog.Any("cause", errSpans))
		return files{}
	}
	m, errMetrics := otlpfile.NewMetricExporter(c.dataDir, otlpfile.WithLogger(c.logger))
	if errMetrics != nil {
		c.logger.Warn("otelprof: data folder: no metrics are written", slog.Any("cause", errMetrics))
	} else {
		p.release = append(p.release, m.Shutdown)
		p.exports = append(p.exports, m.Stats)
	}
	p.release = append(p.release, s.Shutdown)
	return files{s, m}
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

// serve starts the viewer. Only a wrong address is an error.
func (p *Profiler) serve(c config, service string) error {
	if c.viewer == "" {
		return nil
	}
	sources := viewer.Sources{
		Regions: p.tracers.Regions,
		Dropped: p.tracers.Dropped,
		Store:   p.tracers.Store(),
		Causal:  p.causal,
		Service: service,
	}
	if p.counters != nil {
		sources.Counters = p.counters.Regions
	}
	h, err := viewer.New(sources, c.viewerOptions...)
	if err != nil {
		return err
	}
	switch p.server, err = viewer.Listen(c.viewer, h); {
	case errors.Is(err, viewer.ErrConfig):
		return err
	case err != nil:
		c.logger.Warn("otelprof: viewer: not served", slog.String("address", c.viewer), slog.Any("cause", err))
	default:
		c.logger.Info("otelprof: viewer", slog.String("url", p.server.URL()))
	}
	return nil
}
