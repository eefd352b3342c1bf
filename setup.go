package otelprof

import (
	"context"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/log/global"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/internal/exporter/otlp"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/viewer"
)

// Setup makes the providers of traces, metrics and logs, as the environment and the options say,
// and sets OpenTelemetry's globals to them. It does not wait for endpoints: ctx is for what
// exporters do when they are made.
//
// The error joins all options that are wrong, and nothing is left running. A bad value in the
// environment is logged and left out. See the package's documentation for what else is not an
// error.
func Setup(ctx context.Context, opts ...Option) (*Profiler, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	env, errEnv := otlp.FromEnv()
	c.warn(errEnv)
	propagator, errPropagators := propagatorFromEnv()
	if !c.withoutGlobals {
		c.warn(errPropagators)
	}
	p, err := start(ctx, c, env)
	if err != nil {
		return nil, err
	}
	if !c.withoutGlobals {
		otel.SetMeterProvider(p.meters)
		global.SetLoggerProvider(p.logs) // package otel has it since v1.47 only
		if propagator != nil {
			otel.SetTextMapPropagator(propagator)
		}
	}
	return p, nil
}

// start starts what the configuration asks for, and has OpenTelemetry's global tracers measured,
// unless the configuration leaves globals alone. After an error nothing is left running.
func start(ctx context.Context, c config, env otlp.Env) (*Profiler, error) {
	for _, warning := range c.warnings {
		c.logger.Warn("otelprof: left out", slog.Any("cause", warning))
	}
	ours := !c.disabled && !env.Disabled
	if !ours {
		c.disabled = true
		c.viewer, c.dataDir, c.plans, c.experiments = "", "", planSources{}, nil
		c.replay, c.labels = false, false
		for _, f := range features {
			*f.on(&c) = false
		}
	}

	p := &Profiler{done: make(chan struct{})}
	if err := p.wire(ctx, c, env, ours); err != nil {
		ended, cancel := context.WithCancel(ctx)
		cancel() // nothing has been measured that would be worth waiting for
		p.detach = c.base != nil
		_ = p.Shutdown(ended)
		return nil, err
	}
	if !c.withoutGlobals {
		otel.SetTracerProvider(p.tracers)
	}
	if ours {
		p.watch(c)
	}
	return p, nil
}

// wire makes the parts from the inside out. After an error, those made so far are in p.
func (p *Profiler) wire(ctx context.Context, c config, env otlp.Env, ours bool) error {
	var err error
	if c.resource, err = newResource(c); err != nil {
		return err
	}
	p.service = text(c.resource, semconv.ServiceNameKey)
	// Files come first: the SDK shuts its processors down one after the other, and a file
	// does not wait for endpoints.
	files := p.openFiles(c)
	p.addLogExporters(ctx, c, env, files.logs)
	p.addSpanExporters(ctx, c, env, files.spans)
	base := p.baseTracers(c, env)
	if p.causal, err = causal.NewController(p.causalOptions(c, base)...); err != nil {
		return err
	}
	c.profiles = c.profilesFromEnv()
	wrapOptions, err := p.openFeatures(c, ours)
	if err != nil {
		return err
	}
	p.openProfiles(ctx, c)
	if c.store != nil {
		wrapOptions = append(wrapOptions, spans.WithStore(c.store))
	}
	p.tracers = spans.WrapTracerProvider(base, wrapOptions...)

	p.openForetold(ctx, c)
	p.addMetricExporters(ctx, c, env, ours, files.metrics)
	if err := c.plans.readKey(); err != nil {
		leftOut(c, "all plans", err)
	}
	if c.plans.signed {
		p.viewerOptions = []viewer.Option{viewer.WithPlanKeys(c.plans.keys...)}
	}
	if err := p.serve(c); err != nil {
		return err
	}
	return p.follow(c)
}

// baseTracers returns the provider to wrap: the program's own, or one that exports spans in
// batches, or one that does nothing where the SDK is disabled.
func (p *Profiler) baseTracers(c config, env otlp.Env) trace.TracerProvider {
	switch {
	case c.base != nil:
		p.base = c.base
		for _, b := range p.batchers {
			if !register(c.base, b) {
				c.logger.Warn("otelprof: data folder: traces: left out", slog.String("cause", fmt.Sprintf("provider %T: takes no span processors: must have RegisterSpanProcessor, as the SDK's has", c.base)))
			}
		}
		return c.base
	case env.Disabled:
		return noop.NewTracerProvider()
	}
	options := []sdktrace.TracerProviderOption{sdktrace.WithResource(c.resource)}
	for _, b := range p.batchers {
		options = append(options, sdktrace.WithSpanProcessor(b))
	}
	return sdktrace.NewTracerProvider(options...)
}

// causalOptions returns the options of the controller of experiments, whose audit goes to the logs
// and to base.
func (p *Profiler) causalOptions(c config, base trace.TracerProvider) []causal.Option {
	options := []causal.Option{
		causal.WithResource(c.resource), causal.WithLogger(c.logger),
		causal.WithAudit(newAudit(p.logs.LoggerProvider, base).take),
	}
	if c.replay {
		options = append(options, causal.WithReplay())
	}
	if c.experiments != nil {
		options = append(options, causal.WithExperiments(*c.experiments))
	}
	if c.breaker != nil {
		options = append(options, causal.WithBreaker(*c.breaker))
	}
	if c.allowed != nil {
		options = append(options, causal.WithAllowed(*c.allowed))
	}
	return options
}

// openFeatures opens the features that are on, and returns the options that give spans the hooks of
// experiments and features.
func (p *Profiler) openFeatures(c config, ours bool) ([]spans.Option, error) {
	var options []spans.Option
	if ours {
		options = append(options, spans.WithHook(p.causal.Hook()))
	} else {
		options = append(options, spans.WithoutRecording())
	}
	for _, f := range features {
		hook, err := f.open(p, c)
		if err != nil {
			return nil, err
		}
		if hook != nil {
			options = append(options, spans.WithHook(hook))
		}
	}
	return options, nil
}

// leftOut warns of what there will not be for want of sense in the environment.
func leftOut(c config, what string, err error) {
	c.logger.Warn("otelprof: "+what+": left out", slog.Any("cause", err))
}
