package otelprof

import (
	"context"
	"errors"
	"log/slog"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/exporter/otlp"
	"github.com/otelprof/otelprof/exporter/viewer"
	"github.com/otelprof/otelprof/pmuattrs"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/schedtimes"
	"github.com/otelprof/otelprof/spans/stacks"
	"github.com/otelprof/otelprof/spans/stacks/schedule"
)

// Setup makes the providers of traces, metrics and logs, as the environment and the options say,
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
		c.viewer, c.dataDir, c.plans, c.experiments = "", "", planSources{}, nil
		c.replay, c.counters, c.stacks, c.schedule, c.times = false, false, false, false, timesConfig{}
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
		otel.SetLoggerProvider(p.logs)
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
	// Files come first: the SDK shuts its processors down one after the other, and a file
	// does not wait for anybody.
	files := p.openFiles(c)
	if err := p.addLogExporters(ctx, c, env, res, files.logs); err != nil {
		return err
	}
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
	controllerOptions := []causal.Option{
		causal.WithResource(res), causal.WithLogger(c.logger),
		causal.WithAudit(newAudit(p.logs, base).take), causal.WithReplay(c.replay),
	}
	if c.experiments != nil {
		controllerOptions = append(controllerOptions, causal.WithExperiments(*c.experiments))
	}
	if p.causal, err = causal.New(controllerOptions...); err != nil {
		return err
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
	if err := p.openTimes(c); err != nil {
		return err
	}
	if p.times != nil {
		wrapOptions = append(wrapOptions, spans.WithHook(p.times))
	}
	if err := p.openStacks(ctx, c, res); err != nil {
		return err
	}
	if p.stacks != nil {
		wrapOptions = append(wrapOptions, spans.WithHook(p.stacks.Hook()))
	}
	if err := p.openSchedule(c); err != nil {
		return err
	}
	if p.schedule != nil {
		wrapOptions = append(wrapOptions, spans.WithHook(p.schedule))
	}
	if c.store != nil {
		wrapOptions = append(wrapOptions, spans.WithStore(c.store))
	}
	p.tracers = spans.Wrap(base, wrapOptions...)

	if err := p.addMetricExporters(ctx, c, env, res, ours, files.metrics); err != nil {
		return err
	}
	if err := c.plans.readKey(); err != nil {
		return err
	}
	if err := p.serve(c, text(res, semconv.ServiceNameKey)); err != nil {
		return err
	}
	return p.follow(c, res)
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

// openTimes makes the hook that times, if the scheduler keeps account.
func (p *Profiler) openTimes(c config) error {
	if !c.times.on {
		return nil
	}
	h, err := schedtimes.New(c.times.options...)
	switch {
	case errors.Is(err, schedtimes.ErrNotSupported):
		if c.times.asked {
			c.logger.Warn("otelprof: times: none in this program", slog.Any("cause", err))
		}
		return nil
	case err != nil:
		return err
	}
	p.times = h
	return nil
}

// openStacks makes the profiler, and sends what it samples if the environment says so.
func (p *Profiler) openStacks(ctx context.Context, c config, res *resource.Resource) (err error) {
	if !c.stacks {
		return nil
	}
	if p.stacks, err = stacks.New(c.stackOptions...); err != nil {
		return err
	}
	pipeline, err := otlp.ProfilesFromEnv()
	if err != nil || !pipeline.Enabled {
		return err
	}
	e, err := otlp.NewProfileExporter(pipeline, res, otlp.WithLogger(c.logger))
	if err != nil {
		return err
	}
	p.exports = append(p.exports, e.Stats)
	p.release = append(p.release, e.Shutdown)
	ctx, p.endProfiles = context.WithCancel(context.WithoutCancel(ctx))
	p.profiles.Go(func() { sendProfiles(ctx, p.stacks, e) })
	return nil
}

// openSchedule makes the recorder. That somebody else records is no error.
func (p *Profiler) openSchedule(c config) (err error) {
	if !c.schedule {
		return nil
	}
	if p.schedule, err = schedule.New(c.scheduleOptions...); err != nil {
		return err
	}
	if err := p.schedule.Start(); err != nil {
		c.logger.Warn("otelprof: schedule: not recorded", slog.Any("cause", err))
	}
	return nil
}

// serve starts the viewer. Only a wrong address is an error.
func (p *Profiler) serve(c config, service string) error {
	if c.viewer == "" {
		return nil
	}
	sources := viewer.Sources{
		Regions:  p.tracers.Regions,
		Dropped:  p.tracers.Dropped,
		Store:    p.tracers.Store(),
		Causal:   p.causal,
		Stacks:   p.stacks,
		Schedule: p.schedule,
		Service:  service,
	}
	if p.counters != nil {
		sources.Counters = p.counters.Regions
	}
	options := c.viewerOptions
	if c.plans.signed {
		options = append([]viewer.Option{viewer.WithPlanKeys(c.plans.keys...)}, options...)
	}
	h, err := viewer.New(sources, options...)
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
