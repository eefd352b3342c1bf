package causal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

// EnvExperiments is the environment variable whose value "off" forbids all experiments,
// whatever the program says.
const EnvExperiments = "OTELPROF_EXPERIMENTS"

// An Option sets what [New] makes.
type Option interface{ apply(config) config }

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	enabled bool
	// replay is set if recordings are made of their own accord, recordable unless they are forbidden.
	replay, recordable bool
	newStudy           func() study
	watch              func(context.Context, *load)
	wall               func(time.Time) time.Time // nil for the real one
	caps               Limits
	service            string
	env                string
	id                 string
	log                *slog.Logger
	tell               []func(AuditEvent)
	audit              *audit
	exempt             []string
}

// exemptByDefault are the names of health checks. Orchestrators kill a process that answers
// them late.
var exemptByDefault = []string{"*/health*", "*/healthz*", "*/livez*", "*/readyz*", "*/ready", "*/live", "*/ping", "*grpc.health.v1.Health/*"}

func newConfig(opts []Option) (config, error) {
	c := config{log: slog.New(slog.DiscardHandler), exempt: exemptByDefault, watch: watchLoad, recordable: true, newStudy: newReplayed}
	for _, o := range opts {
		c = o.apply(c)
	}
	var errs []error
	if c.enabled {
		v := validator{}
		c.caps.validate(&v, "")
		for _, err := range v.errs {
			errs = append(errs, fmt.Errorf("%w: limits: %s", ErrConfig, strings.TrimPrefix(err.Error(), ErrPlan.Error()+": ")))
		}
	}
	switch value := os.Getenv(EnvExperiments); value {
	case "", "on":
	case "off":
		c.enabled = false
	default:
		errs = append(errs, fmt.Errorf("%w: %s %q: must be on or off", ErrConfig, EnvExperiments, value))
	}
	switch value := os.Getenv(EnvReplay); value {
	case "", "on":
	case "off":
		c.replay, c.recordable = false, false
	default:
		errs = append(errs, fmt.Errorf("%w: %s %q: must be on or off", ErrConfig, EnvReplay, value))
	}
	c.audit = newAudit(c.log, c.tell)
	return c, errors.Join(errs...)
}

// WithExperiments opts in to experiments, which delay the application, and bounds their
// cost: plans can tighten caps, never loosen them. By default, if this option is not used,
// every plan is refused.
func WithExperiments(caps Limits) Option {
	return optionFunc(func(c config) config { c.enabled, c.caps = true, caps; return c })
}

// WithResource names this process, for a plan's target. By default, if this option is not
// used, only plans without a target run.
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
// ended, with hash, author, source and what was spent. By default, if this option is not
// used, it is lost.
func WithLogger(l *slog.Logger) Option {
	return optionFunc(func(c config) config {
		if l != nil {
			c.log = l
		}
		return c
	})
}

// WithAudit sets who is told what happens to plans, besides the logger; it can be used several
// times. Events come one after the other, in their order, on a goroutine that nobody waits for: when
// tell has not returned for 256 events, further ones are counted in [Status.AuditDropped].
// By default, if this option is not used, events are in [Status.Audit] and in the log only.
func WithAudit(tell func(AuditEvent)) Option {
	return optionFunc(func(c config) config {
		if tell != nil {
			c.tell = append(slices.Clip(c.tell), tell)
		}
		return c
	})
}

// WithHealthChecks names spans, by patterns as in [RegionPattern], that are never delayed,
// in addition to the usual names of health checks.
func WithHealthChecks(spans ...string) Option {
	return optionFunc(func(c config) config {
		c.exempt = append(append([]string{}, c.exempt...), spans...)
		return c
	})
}
