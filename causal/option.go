package causal

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/internal/validate"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// An Option sets what [NewController] makes.
type Option interface{ apply(config) config }

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	enabled bool
	// replay is set if recordings are made of their own accord, recordable unless they are
	// forbidden.
	replay, recordable bool
	newStudy           func(slowed) study
	watch              func(context.Context, *engine.Load)
	engine.Settings
	service string
	env     string
	id      string
	log     *slog.Logger
	tell    []func(AuditEvent)
	audit   *audit
}

// exemptByDefault are the names of health checks. Orchestrators kill a process that answers
// them late.
var exemptByDefault = []string{"*/health*", "*/healthz*", "*/livez*", "*/readyz*", "*/ready", "*/live", "*/ping", "*grpc.health.v1.Health/*"}

func newConfig(opts []Option) (config, error) {
	c := config{log: slog.New(slog.DiscardHandler), watch: engine.WatchLoad, recordable: true, newStudy: newReplayed, Settings: engine.Settings{
		Exempt: exemptByDefault, Breaker: plan.DefaultBreaker(), Allowed: plan.DefaultAllowed(), Waits: engine.RecordWaits, Work: engine.RecordWork, Loads: record.LoadSince,
	}}
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	v := &validate.Errors{}
	if c.enabled {
		c.Caps.Validate(v, "limits: ")
	}
	c.Breaker.Validate(v, "breaker: ")
	c.Allowed.Validate(v, "allowed: ")
	if c.switchedOff(naming.EnvExperiments) {
		c.enabled = false
	}
	if c.switchedOff(naming.EnvReplay) {
		c.replay, c.recordable = false, false
		c.Waits = func(context.Context, time.Duration) (trace.Waits, error) {
			return trace.Waits{}, fmt.Errorf("%s is off", naming.EnvReplay)
		}
		c.Work = func(context.Context, time.Duration) (engine.Workload, error) {
			return nil, fmt.Errorf("%s is off", naming.EnvReplay)
		}
	}
	c.audit = newAudit(c.log, c.tell)
	c.Panicked = c.audit.panicked
	return c, v.Err(ErrConfig)
}

// switchedOff reads a kill switch. A value that cannot be parsed means off and is logged: the
// service starts.
func (c config) switchedOff(name string) bool {
	state, warning := naming.SwitchFromEnv(name)
	if warning != nil {
		c.log.Warn("causal: " + warning.Error())
	}
	return state == naming.SwitchOff
}

// WithExperiments opts in to experiments, which delay the application, and bounds their cost: plans
// can tighten caps, never loosen them. The environment variable OTELPROF_EXPERIMENTS forbids them
// all if it is off, false, 0, no or a value that is not known. Default: every plan is refused.
func WithExperiments(caps plan.Limits) Option {
	return optionFunc(func(c config) config { c.enabled, c.Caps = true, caps; return c })
}

// WithBreaker sets caps on the rules by which the breaker opens: plans can tighten them, never
// loosen them, so that no plan can switch the breaker off. A cap of P99 of zero is none. Default:
// [plan.DefaultBreaker].
func WithBreaker(caps plan.Abort) Option {
	return optionFunc(func(c config) config { c.Breaker = caps; return c })
}

// WithAllowed bounds what plans may ask for: modes, speed-ups and how long they are in force.
// Default: [plan.DefaultAllowed], all.
func WithAllowed(a plan.Allowed) Option {
	return optionFunc(func(c config) config { c.Allowed = a; return c })
}

// WithResource names this process, for a plan's target. Default: only plans without a target run.
func WithResource(r *resource.Resource) Option {
	return optionFunc(func(c config) config {
		for _, kv := range r.Attributes() {
			switch kv.Key {
			case attribute.Key("service.name"):
				c.service = kv.Value.AsString()
			case attribute.Key("deployment.environment.name"):
				c.env = kv.Value.AsString()
			case attribute.Key("service.instance.id"):
				c.id = kv.Value.AsString()
			}
		}
		return c
	})
}

// WithLogger sets where the audit goes: plans received, rejected, started, aborted and
// ended, with hash, author, source and what was spent. Default: the audit is not logged.
func WithLogger(l *slog.Logger) Option {
	return optionFunc(func(c config) config {
		if l != nil {
			c.log = l
		}
		return c
	})
}

// WithAudit adds a listener for the audit events of plans, besides the logger; it can be used
// several times. Events are delivered one after the other, in order, on a goroutine of their own
// that delays no plan: while 256 events wait for tell, further ones are dropped and counted in
// [Status.AuditDropped]. Default: events are in [Status.Audit] and in the log only.
func WithAudit(tell func(AuditEvent)) Option {
	return optionFunc(func(c config) config {
		if tell != nil {
			c.tell = append(slices.Clip(c.tell), tell)
		}
		return c
	})
}

// WithHealthChecks names spans, by patterns as in [plan.RegionPattern], that are never delayed,
// in addition to the usual names of health checks.
func WithHealthChecks(spans ...string) Option {
	return optionFunc(func(c config) config {
		c.Exempt = append(append([]string{}, c.Exempt...), spans...)
		return c
	})
}
