package otelprof

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/otelprof/otelprof/internal/exporter/processcontext"
	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/pmuattrs"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/schedule"
	"github.com/otelprof/otelprof/spans/schedule/schedtimes"
	"github.com/otelprof/otelprof/spans/stacks"
)

// A feature is what a variable switches on and off: "on" stands for its option, "off" counts above
// that.
type feature struct {
	env string
	// on is where the configuration has it.
	on func(*config) *bool
	// open makes what it needs, if it is on, and the hook of spans, if it has one. A machine that
	// lacks something is no error.
	open func(*Profiler, config) (hook spans.Hook, err error)
	// patterns are values of the variable, too.
	patterns bool
}

// features are opened in this order, and their hooks are called in it, after that of experiments.
var features = []feature{
	{env: envCounters, on: func(c *config) *bool { return &c.counters }, open: (*Profiler).openCounters},
	{env: envTimes, on: func(c *config) *bool { return &c.times.on }, open: (*Profiler).openTimes, patterns: true},
	{env: envStacks, on: func(c *config) *bool { return &c.stacks }, open: (*Profiler).openStacks},
	{env: envSchedule, on: func(c *config) *bool { return &c.schedule }, open: (*Profiler).openSchedule},
	{env: envMarks, on: func(c *config) *bool { return &c.marks }, open: (*Profiler).openMarks},
	{env: envProcessContext, on: func(c *config) *bool { return &c.processContext }, open: (*Profiler).publish},
}

// state returns the value of the variable.
func (f feature) state(c *config) naming.Switch {
	if f.patterns {
		state, _ := naming.ParseSwitch(os.Getenv(f.env))
		return state
	}
	state, warning := naming.SwitchFromEnv(f.env)
	c.warn(warning)
	return state
}

// openCounters makes the hook that counts. Only a wrong option is an error.
func (p *Profiler) openCounters(c config) (spans.Hook, error) {
	if !c.counters {
		return nil, nil
	}
	h, err := pmuattrs.NewHook(c.counterOptions...)
	switch {
	case errors.Is(err, pmuattrs.ErrConfig):
		return nil, err
	case err != nil:
		c.logger.Warn("otelprof: counters: none on this system", slog.Any("cause", err))
		return nil, nil
	case h.Reason() != nil && h.Source() == pmuattrs.SourceUsage:
		c.logger.Warn("otelprof: counters: CPU time and page faults in their place; otelprof doctor says more", slog.Any("cause", h.Reason()))
	case h.Reason() != nil:
		c.logger.Warn("otelprof: counters: some are missing; otelprof doctor says more", slog.Any("cause", h.Reason()))
	}
	p.counters = h
	return h, nil
}

// openTimes makes the hook that times, if the scheduler keeps account.
func (p *Profiler) openTimes(c config) (spans.Hook, error) {
	if !c.times.on {
		return nil, nil
	}
	h, err := schedtimes.NewHook(c.times.options...)
	switch {
	case errors.Is(err, schedtimes.ErrNotSupported):
		if c.times.asked {
			c.logger.Warn("otelprof: times: none in this program", slog.Any("cause", err))
		}
		return nil, nil
	case err != nil && c.times.fromEnv:
		leftOut(c, "times", err)
		return nil, nil
	case err != nil:
		return nil, err
	}
	p.times = h
	return h, nil
}

// openStacks makes the profiler, which only labels where samples are not asked for. Its labels are
// those of spans if profiles are exported or the process context is published.
func (p *Profiler) openStacks(c config) (hook spans.Hook, err error) {
	var options []stacks.Option
	switch {
	case c.stacks:
		options = c.stackOptions
	case c.labels:
		options = []stacks.Option{stacks.WithPaused()}
	default:
		return nil, nil
	}
	if c.profiles.Enabled || c.labels {
		options = append([]stacks.Option{stacks.WithSpanLabels()}, options...)
	}
	p.stacks, err = stacks.NewProfiler(append([]stacks.Option{stacks.WithService(p.service)}, options...)...)
	if err != nil {
		return nil, err
	}
	return p.stacks.Hook(), nil
}

// publish publishes the process context. A system that does not allow it is no error.
func (p *Profiler) publish(c config) (spans.Hook, error) {
	if !c.processContext {
		return nil, nil
	}
	published, err := processcontext.Publish(c.resource, c.labels)
	if err != nil {
		leftOut(c, "process context", err)
		return nil, nil
	}
	p.release = append(p.release, func(context.Context) error { return published.Close() })
	return nil, nil
}

// openMarks has marks written into the program's own traces.
func (p *Profiler) openMarks(c config) (spans.Hook, error) {
	if c.marks {
		release := mark.Want()
		p.release = append(p.release, func(context.Context) error { release(); return nil })
	}
	return nil, nil
}

// openSchedule makes the recorder. Another flight recorder that is on is no error.
func (p *Profiler) openSchedule(c config) (hook spans.Hook, err error) {
	if !c.schedule {
		return nil, nil
	}
	if p.schedule, err = schedule.NewRecorder(c.scheduleOptions...); err != nil {
		return nil, err
	}
	if err := p.schedule.Start(); err != nil {
		c.logger.Warn("otelprof: schedule: not recorded", slog.Any("cause", err))
	}
	return p.schedule.Hook(), nil
}
