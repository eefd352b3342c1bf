package otelprof

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/internal/asynclog"
	"github.com/otelprof/otelprof/internal/exporter/otlp"
	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/pmuattrs"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/schedule"
	"github.com/otelprof/otelprof/spans/schedule/schedtimes"
	"github.com/otelprof/otelprof/spans/stacks"
	"github.com/otelprof/otelprof/viewer"
)

// ErrConfig is wrapped by errors about options and about our own environment variables.
var ErrConfig = errors.New("otelprof: configuration")

// Our environment variables.
const (
	envViewer      = "OTELPROF_VIEWER"
	envViewerToken = "OTELPROF_VIEWER_TOKEN_FILE"
	envPrometheus  = "OTELPROF_PROMETHEUS"
	envDataDir     = "OTELPROF_DATA_DIR"
	envPlanFile    = "OTELPROF_PLAN_FILE"
	envPlanURL     = "OTELPROF_PLAN_URL"
	envOpAMP       = "OTELPROF_OPAMP_ENDPOINT"
	envPlanToken   = "OTELPROF_PLAN_TOKEN_FILE"
	envPlanKey     = "OTELPROF_PLAN_PUBLIC_KEY"
	envExperiments = naming.EnvExperiments
	envReplay      = naming.EnvReplay
	envCounters    = "OTELPROF_COUNTERS"
	envStacks      = "OTELPROF_STACKS"
	envSchedule    = "OTELPROF_SCHEDULE"
	envMarks       = "OTELPROF_MARKS"
	envTimes       = "OTELPROF_TIMES"
	// envProcessContext publishes the resource for readers outside.
	envProcessContext = "OTELPROF_PROCESS_CONTEXT"
	envDisabled       = "OTELPROF_DISABLED"
)

// An Option sets what [Setup] and [Wrap] start.
type Option interface{ apply(config) config }

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	base            trace.TracerProvider // that Wrap is given, nil for Setup
	baseResource    *resource.Resource   // its resource, nil if that is not known
	serviceName     string
	resource        *resource.Resource
	viewer          string // "" for none
	viewerAsked     bool   // by an option, not by the environment
	viewerOptions   []viewer.Option
	dataDir         string // "" for none
	plans           planSources
	experiments     *plan.Limits  // nil for none
	breaker         *plan.Abort   // nil for the default
	allowed         *plan.Allowed // nil for the default
	replay          bool
	counters        bool
	counterOptions  []pmuattrs.HookOption
	stacks          bool
	stackOptions    []stacks.Option
	schedule        bool
	scheduleOptions []schedule.Option
	marks           bool
	processContext  bool
	labels          bool // of spans, where no samples are taken
	times           timesConfig
	logger          *slog.Logger
	store           spans.Store   // nil for the default
	profiles        otlp.Pipeline // of stacks and schedule
	withoutGlobals  bool
	disabled        bool

	errs     []error // of options
	warnings []error // of the environment
}

// warn is for what the environment has and cannot be understood: it is left out. The program has
// not written it, and must start.
func (c *config) warn(err error) {
	if err != nil {
		c.warnings = append(c.warnings, err)
	}
}

func (c config) reject(format string, args ...any) config {
	c.errs = append(c.errs, fmt.Errorf("%w: %w", ErrConfig, fmt.Errorf(format, args...)))
	return c
}

func newConfig(opts []Option) (config, error) {
	c := config{
		viewer:  os.Getenv(envViewer),
		dataDir: os.Getenv(envDataDir),
		plans:   plansFromEnv(),
		logger:  asynclog.Contained(slog.Default()),
	}
	// causal.NewController reads these two as well, and reports what it does not understand.
	experiments, _ := naming.SwitchFromEnv(envExperiments)
	replay, _ := naming.SwitchFromEnv(envReplay)
	if experiments == naming.SwitchOn {
		limits := plan.DefaultLimits()
		c.experiments = &limits
	}
	c.replay = replay != naming.SwitchOff
	c.times = c.timesFromEnv()
	off := map[string]bool{}
	for _, f := range features {
		state := f.state(&c)
		*f.on(&c) = *f.on(&c) || state == naming.SwitchOn
		off[f.env] = state == naming.SwitchOff
	}
	c.disabled = c.disabledByEnv()
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	if experiments == naming.SwitchOff {
		c.experiments = nil
	}
	c.times.on = c.times.on && !c.times.never
	for _, f := range features {
		*f.on(&c) = *f.on(&c) && !off[f.env]
	}
	c.labels = c.processContext && !off[envStacks]
	if viewer, _ := naming.ParseSwitch(os.Getenv(envViewer)); viewer == naming.SwitchOff {
		c.viewer = ""
	}
	return c, errors.Join(c.errs...)
}

// disabledByEnv reads the one switch that is on where nothing is to run.
func (c *config) disabledByEnv() bool {
	value := os.Getenv(envDisabled)
	state, known := naming.ParseSwitch(value)
	if !known {
		c.warn(fmt.Errorf("%s %q: must be true or false, true is taken", envDisabled, value))
	}
	return !known || state == naming.SwitchOn
}

// A timesConfig is which spans are timed by the scheduler. Field asked is true where the option
// or the variable asks for it, field never where [WithoutTimes] forbids it.
type timesConfig struct {
	on, asked, never bool
	fromEnv          bool // the options are not the program's
	options          []schedtimes.Option
}

// timesFromEnv reads on, off or patterns.
func (c *config) timesFromEnv() timesConfig {
	value := os.Getenv(envTimes)
	state, _ := naming.ParseSwitch(value)
	t := timesConfig{on: state != naming.SwitchOff, asked: value != "" && state != naming.SwitchOff}
	if state != naming.SwitchUnset || !t.asked {
		return t
	}
	var patterns []string
	for p := range strings.SplitSeq(value, ",") {
		if p = strings.TrimSpace(p); p != "" {
			patterns = append(patterns, p)
		}
	}
	if len(patterns) == 0 {
		c.warn(fmt.Errorf("%s %q: must be on, off or patterns separated by commas, on is taken", envTimes, value))
		return t
	}
	t.fromEnv, t.options = true, []schedtimes.Option{schedtimes.WithRegions(patterns...)}
	return t
}

// WithServiceName sets the resource's service.name. Default: OTEL_SERVICE_NAME, or service.name in
// OTEL_RESOURCE_ATTRIBUTES, or what the SDK makes of the program's name.
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
// of the same key. Default: none but a random service.instance.id, where there is none.
func WithResource(r *resource.Resource) Option {
	return optionFunc(func(c config) config {
		if r == nil {
			return c.reject("resource nil: must be set")
		}
		c.resource = r
		return c
	})
}

// WithViewer serves the viewer at addr, "host:port" with a loopback host; port 0 takes a free one,
// see [Profiler.ViewerURL]. An address that is not loopback is an error. A port in use is logged,
// and there is no viewer. The token in the file that OTELPROF_VIEWER_TOKEN_FILE names is that of
// [viewer.WithToken], and OTELPROF_PROMETHEUS the address of [viewer.WithPrometheus], unless an
// option gives another. OTELPROF_VIEWER=off overrules this option. Default: OTELPROF_VIEWER; if
// that is not set, no viewer.
func WithViewer(addr string, opts ...viewer.Option) Option {
	return optionFunc(func(c config) config {
		if addr == "" {
			return c.reject("viewer address \"\": must be host:port")
		}
		c.viewer, c.viewerAsked, c.viewerOptions = addr, true, opts
		return c
	})
}

// WithDataDir writes traces, metrics and logs to files in this folder, see package exporter, of 320
// MiB each at most: the oldest go. A folder that is missing is made, for the owner alone. One that
// cannot be made or written to is logged, and there are no files. Default: OTELPROF_DATA_DIR; if
// that is not set, no files.
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
// option. Default: no delay is ever inserted, unless OTELPROF_EXPERIMENTS is on; then the caps
// are [plan.DefaultLimits].
func WithExperiments(caps plan.Limits) Option {
	return optionFunc(func(c config) config { c.experiments = &caps; return c })
}

// WithBreaker sets caps on the rules by which the circuit breaker ends a plan, see
// [causal.WithBreaker]. Default: [plan.DefaultBreaker].
func WithBreaker(caps plan.Abort) Option {
	return optionFunc(func(c config) config { c.breaker = &caps; return c })
}

// WithAllowed bounds what plans may ask for: modes, speed-ups and how long they are in force.
// Default: [plan.DefaultAllowed], all.
func WithAllowed(a plan.Allowed) Option {
	return optionFunc(func(c config) config { c.allowed = &a; return c })
}

// WithoutReplay switches recordings off: up to 3 s of the scheduler's events, each 1 to 5 minutes,
// from which replay computes what a faster span would change, see [causal.WithReplay].
// [causal.Controller.Record] still makes one. Default: on, unless OTELPROF_REPLAY is off.
func WithoutReplay() Option {
	return optionFunc(func(c config) config { c.replay = false; return c })
}

// WithCounters counts cycles, instructions and the like in a sample of the spans, 1 in 100 by
// default, and sets them as attributes, see [pmuattrs.Hook]. Events that this machine or this
// user cannot count are logged once; CPU time and page faults take their place.
// OTELPROF_COUNTERS=off overrules this option. Default: off, unless OTELPROF_COUNTERS is on.
func WithCounters(opts ...pmuattrs.HookOption) Option {
	return optionFunc(func(c config) config {
		c.counters, c.counterOptions = true, opts
		return c
	})
}

// WithStacks samples call stacks, 100 times in a second of processor time, and counts them for the
// region that they are in, see [stacks.Profiler]. It takes the process's one CPU profile: mount
// [stacks.Profiler.ServeHTTP] where net/http/pprof was. OTELPROF_STACKS=off overrules this option.
// Default: off, unless OTELPROF_STACKS is on.
func WithStacks(opts ...stacks.Option) Option {
	return optionFunc(func(c config) config {
		c.stacks, c.stackOptions = true, opts
		return c
	})
}

// WithSchedule records the events of the Go scheduler, which show how long regions ran, waited for
// a processor, and were blocked, and on what, see [schedule.Recorder]. That takes 1 to 3 % of most
// programs, and the process's one flight recorder, until the end: the program's own cannot be
// started, while trace.Start can, and marks of spans stand in its traces, as with [WithMarks].
// OTELPROF_SCHEDULE=off overrules this option. Default: off, unless OTELPROF_SCHEDULE is on.
func WithSchedule(opts ...schedule.Option) Option {
	return optionFunc(func(c config) config {
		c.schedule, c.scheduleOptions = true, opts
		return c
	})
}

// WithMarks writes the starts and ends of spans, and the operations on the types of package causal,
// into the program's own execution traces too, see [spans.WithMarks]. OTELPROF_MARKS=off overrules
// this option. Default: off, unless OTELPROF_MARKS is on.
func WithMarks() Option {
	return optionFunc(func(c config) config { c.marks = true; return c })
}

// WithProcessContext publishes the resource for readers outside of the process, and labels
// goroutines in sampled spans with their trace and span, see [stacks.WithSpanLabels], so that an
// eBPF profiler of OpenTelemetry knows the service and the span of each stack. Where [WithStacks]
// is not used either, [Profiler.Stacks] is paused, and takes no samples. A system that does not
// allow it is logged. OTELPROF_PROCESS_CONTEXT=off overrules this option, and OTELPROF_STACKS=off
// keeps the labels off. Default: off, unless OTELPROF_PROCESS_CONTEXT is on.
func WithProcessContext() Option {
	return optionFunc(func(c config) config { c.processContext = true; return c })
}

// WithTimes chooses the spans whose times of running, waiting for a processor and being blocked
// become attributes, see [schedtimes.Hook]. Go's scheduler keeps these times in programs built by
// "otelprof build"; other programs log that they lack them, and nothing is timed.
// OTELPROF_TIMES=off overrules this option. Default: the spans that OTELPROF_TIMES names, or all,
// where the scheduler keeps the times.
func WithTimes(opts ...schedtimes.Option) Option {
	return optionFunc(func(c config) config {
		c.times.on, c.times.asked, c.times.fromEnv, c.times.options = true, true, false, opts
		return c
	})
}

// WithoutTimes switches scheduler times off, also if [WithTimes] is used. Default: on, unless
// OTELPROF_TIMES is off.
func WithoutTimes() Option {
	return optionFunc(func(c config) config { c.times.never = true; return c })
}

// WithLogger sets the logger of failures and recoveries, and of causal plans and experiments. A
// panic in its handler is recovered. Default: slog.Default.
func WithLogger(l *slog.Logger) Option {
	return optionFunc(func(c config) config {
		if l == nil {
			return c.reject("logger nil: must be set")
		}
		c.logger = asynclog.Contained(l)
		return c
	})
}

// WithStore sets where finished sessions go. Default: memory, see [spans.NewRing].
func WithStore(s spans.Store) Option {
	return optionFunc(func(c config) config {
		if s == nil {
			return c.reject("store nil: must be set")
		}
		c.store = s
		return c
	})
}

// WithoutGlobals leaves OpenTelemetry's global providers and propagator as they are. Default:
// Setup sets them, and Wrap the global TracerProvider.
func WithoutGlobals() Option {
	return optionFunc(func(c config) config { c.withoutGlobals = true; return c })
}
