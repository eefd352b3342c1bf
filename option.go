package otelprof

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/exporter/viewer"
	"github.com/otelprof/otelprof/pmuattrs"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/schedtimes"
	"github.com/otelprof/otelprof/spans/stacks"
	"github.com/otelprof/otelprof/spans/stacks/schedule"
)

// ErrConfig is wrapped by errors about options and about our own environment variables.
var ErrConfig = errors.New("otelprof: config")

// Our environment variables.
const (
	EnvViewer      = "OTELPROF_VIEWER"
	EnvDataDir     = "OTELPROF_DATA_DIR"
	EnvPlanFile    = "OTELPROF_PLAN_FILE"
	EnvPlanURL     = "OTELPROF_PLAN_URL"
	EnvOpAMP       = "OTELPROF_OPAMP_ENDPOINT"
	EnvPlanToken   = "OTELPROF_PLAN_TOKEN_FILE"
	EnvPlanKey     = "OTELPROF_PLAN_PUBLIC_KEY"
	EnvExperiments = causal.EnvExperiments
	EnvReplay      = causal.EnvReplay
	EnvCounters    = "OTELPROF_COUNTERS"
	EnvStacks      = "OTELPROF_STACKS"
	EnvSchedule    = "OTELPROF_SCHEDULE"
	EnvTimes       = "OTELPROF_TIMES"
	EnvDisabled    = "OTELPROF_DISABLED"
)

// The values that switch something on, and off although an option switched it on.
const (
	on  = "on"
	off = "off"
)

// An Option sets what [Setup] wires.
type Option interface{ apply(config) config }

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	serviceName     string
	resource        *resource.Resource
	viewer          string // "" for none
	viewerOptions   []viewer.Option
	dataDir         string // "" for none
	plans           planSources
	experiments     *causal.Limits // nil for none
	replay          bool
	counters        bool
	counterOptions  []pmuattrs.HookOption
	stacks          bool
	stackOptions    []stacks.Option
	schedule        bool
	scheduleOptions []schedule.Option
	times           timesConfig
	logger          *slog.Logger
	store           spans.Store // nil for the default
	withoutGlobals  bool
	disabled        bool

	errs []error
}

func (c config) reject(format string, args ...any) config {
	c.errs = append(c.errs, fmt.Errorf("%w: %w", ErrConfig, fmt.Errorf(format, args...)))
	return c
}

func newConfig(opts []Option) (config, error) {
	c := config{
		viewer:  os.Getenv(EnvViewer),
		dataDir: os.Getenv(EnvDataDir),
		plans:   plansFromEnv(),
		logger:  slog.Default(),
	}
	if c.switched(EnvExperiments) == on {
		limits := causal.DefaultLimits()
		c.experiments = &limits
	}
	c.replay = c.switched(EnvReplay) != off
	c.counters = c.switched(EnvCounters) == on
	c.stacks = c.switched(EnvStacks) == on
	c.schedule = c.switched(EnvSchedule) == on
	c = c.timesFromEnv()
	if value := os.Getenv(EnvDisabled); value != "" {
		var err error
		if c.disabled, err = strconv.ParseBool(value); err != nil {
			c = c.reject("%s %q: must be true or false", EnvDisabled, value)
		}
	}
	for _, o := range opts {
		c = o.apply(c)
	}
	if os.Getenv(EnvExperiments) == off {
		c.experiments = nil
	}
	if os.Getenv(EnvCounters) == off {
		c.counters = false
	}
	if os.Getenv(EnvStacks) == off {
		c.stacks = false
	}
	if os.Getenv(EnvSchedule) == off {
		c.schedule = false
	}
	if os.Getenv(EnvTimes) == off {
		c.times.on = false
	}
	if os.Getenv(EnvViewer) == off {
		c.viewer = ""
	}
	return c, errors.Join(c.errs...)
}

// switched returns the value of a variable that is on, off or not set.
func (c *config) switched(name string) string {
	value := os.Getenv(name)
	if value != "" && value != on && value != off {
		*c = c.reject("%s %q: must be on or off", name, value)
	}
	return value
}

// A timesConfig says which spans are timed by the scheduler. Asked is true if somebody wants that expressly.
type timesConfig struct {
	on, asked bool
	options   []schedtimes.Option
}

// timesFromEnv reads on, off or patterns.
func (c config) timesFromEnv() config {
	value := os.Getenv(EnvTimes)
	c.times = timesConfig{on: value != off, asked: value != "" && value != off}
	if !c.times.asked || value == on {
		return c
	}
	patterns := strings.Split(value, ",")
	if slices.Contains(patterns, "") {
		return c.reject("%s %q: must be on, off or patterns separated by commas", EnvTimes, value)
	}
	c.times.options = []schedtimes.Option{schedtimes.WithRegions(patterns...)}
	return c
}

// WithServiceName sets the resource's service.name. By default, if this option is not used,
// it is OTEL_SERVICE_NAME, or service.name in OTEL_RESOURCE_ATTRIBUTES, or what the SDK makes of the
// program's name.
func WithServiceName(name string) Option {
	return optionFunc(func(c config) config {
		if name == "" {
			return c.reject("service name \"\": must not be empty")
		}
		c.serviceName = name
		return c
	})
}

// WithResource adds attributes to those of the SDK and the environment, and replaces those
// of the same key. By default, if this option is not used, nothing is added but a random
// service.instance.id, where there is none.
func WithResource(r *resource.Resource) Option {
	return optionFunc(func(c config) config {
		if r == nil {
			return c.reject("resource nil: must be set")
		}
		c.resource = r
		return c
	})
}

// WithViewer serves the viewer at addr, "host:port" with a loopback host; port 0 takes a
// free one, see [Profiler.ViewerURL]. An address that is not loopback is an error. A port in
// use is said to the logger, and there is no viewer. OTELPROF_VIEWER=off overrules this
// option. By default, if this option is not used, it is OTELPROF_VIEWER, and if that is not set there
// is none.
func WithViewer(addr string, opts ...viewer.Option) Option {
	return optionFunc(func(c config) config {
		if addr == "" {
			return c.reject("viewer address \"\": must be host:port")
		}
		c.viewer, c.viewerOptions = addr, opts
		return c
	})
}

// WithDataDir writes traces and metrics to files in this folder, which must exist, see
// package otlpfile. A folder that can not be written to is said to the logger, and there are no
// files. By default, if this option is not used, it is OTELPROF_DATA_DIR, and if that is not set
// there are none.
func WithDataDir(dir string) Option {
	return optionFunc(func(c config) config {
		if dir == "" {
			return c.reject("data folder \"\": must not be empty")
		}
		c.dataDir = dir
		return c
	})
}

// WithExperiments opts in to causal experiments, which delay the application, and bounds
// their cost: plans can tighten caps, never loosen them. OTELPROF_EXPERIMENTS=off overrules this
// option. By default, if this option is not used, no delay is ever inserted, unless
// OTELPROF_EXPERIMENTS is on; then the caps are [causal.DefaultLimits].
func WithExperiments(caps causal.Limits) Option {
	return optionFunc(func(c config) config { c.experiments = &caps; return c })
}

// WithoutReplay switches recordings off: 3 s of the scheduler's events, a minute apart at most, from which it is
// computed what would be if a span were faster, see [causal.WithReplay]. [causal.Controller.Record] still makes
// one. By default, if this option is not used, they are on, unless OTELPROF_REPLAY is off.
func WithoutReplay() Option {
	return optionFunc(func(c config) config { c.replay = false; return c })
}

// WithCounters counts cycles, instructions and the like in a sample of the spans, 1 in 100 by
// default, and sets them as attributes, see [pmuattrs.Hook]. What this machine or this user
// can not count is said to the logger, once; CPU time and page faults take its place.
// OTELPROF_COUNTERS=off overrules this option. By default, if this option is not used, nothing is
// counted, unless OTELPROF_COUNTERS is on.
func WithCounters(opts ...pmuattrs.HookOption) Option {
	return optionFunc(func(c config) config {
		c.counters, c.counterOptions = true, opts
		return c
	})
}

// WithStacks samples call stacks, 100 times in a second of processor time, and counts them for the
// region that they are in, see [stacks.Profiler]. It takes the process's one CPU profile: mount
// [stacks.Profiler.ServeHTTP] where net/http/pprof was. OTELPROF_STACKS=off overrules this option.
// By default, if this option is not used, no samples are taken, unless OTELPROF_STACKS is on.
func WithStacks(opts ...stacks.Option) Option {
	return optionFunc(func(c config) config {
		c.stacks, c.stackOptions = true, opts
		return c
	})
}

// WithSchedule records the events of the Go scheduler, so that it can be told how long regions
// ran, waited for a processor, and were blocked by what, see [schedule.Recorder]. That takes 1 to 3 % of
// most programs. OTELPROF_SCHEDULE=off overrules this option. By default, if this option is not used,
// nothing is recorded, unless OTELPROF_SCHEDULE is on.
func WithSchedule(opts ...schedule.Option) Option {
	return optionFunc(func(c config) config {
		c.schedule, c.scheduleOptions = true, opts
		return c
	})
}

// WithTimes chooses the spans that are told how long they ran, waited for a processor and were blocked, see
// [schedtimes.Hook]. Go's scheduler knows that in programs built by "otelprof build"; in others this is said to the logger,
// and nothing is timed. OTELPROF_TIMES=off overrules this option. By default, if this option is not used, all spans
// are timed where the scheduler knows it, or those that OTELPROF_TIMES names.
func WithTimes(opts ...schedtimes.Option) Option {
	return optionFunc(func(c config) config {
		c.times = timesConfig{on: true, asked: true, options: opts}
		return c
	})
}

// WithoutTimes switches that off. By default, if this option is not used, it is on, unless OTELPROF_TIMES is off.
func WithoutTimes() Option {
	return optionFunc(func(c config) config { c.times = timesConfig{}; return c })
}

// WithLogger sets who is told of what fails, of its return, and of causal plans and
// experiments. By default, if this option is not used, it is slog.Default.
func WithLogger(l *slog.Logger) Option {
	return optionFunc(func(c config) config {
		if l == nil {
			return c.reject("logger nil: must be set")
		}
		c.logger = l
		return c
	})
}

// WithStore sets where finished sessions go. By default, if this option is not used, it is
// memory, see [spans.NewRing].
func WithStore(s spans.Store) Option {
	return optionFunc(func(c config) config {
		if s == nil {
			return c.reject("store nil: must be set")
		}
		c.store = s
		return c
	})
}

// WithoutGlobals leaves OpenTelemetry's global providers and propagator as they are. By
// default, if this option is not used, Setup sets them.
func WithoutGlobals() Option {
	return optionFunc(func(c config) config { c.withoutGlobals = true; return c })
}
