// Package naming has the names that one package writes and another reads: scopes, metrics and
// attributes in telemetry, environment variables and how switches are spelled in them, labels of
// profiles, and headers between a process and a server of plans. docs/attributes.md has them for
// users.
package naming

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
)

// Instrumentation scopes of metrics, and of spans and log records about plans.
const (
	SpansScope    = "github.com/otelprof/otelprof/spans"
	CountersScope = "github.com/otelprof/otelprof/pmuattrs"
	CausalScope   = "github.com/otelprof/otelprof/causal"
)

// Metrics of regions, and their attributes.
const (
	RegionDurationMetric = "otelprof.region.duration"  // exponential histogram, s
	RegionSelfTimeMetric = "otelprof.region.self_time" // counter, s
	RegionErrorsMetric   = "otelprof.region.errors"    // counter, {span}
	DroppedMetric        = "otelprof.dropped"          // counter, {record}

	RegionNameKey  = attribute.Key("otelprof.region.name")
	RegionScopeKey = attribute.Key("otelprof.region.scope")
	// What a scope does not have is left out. Its attributes are written key=value, with commas.
	RegionScopeVersionKey    = attribute.Key("otelprof.region.scope_version")
	RegionScopeSchemaURLKey  = attribute.Key("otelprof.region.scope_schema_url")
	RegionScopeAttributesKey = attribute.Key("otelprof.region.scope_attributes")
	// ReasonKey is why something was dropped.
	ReasonKey = attribute.Key("otelprof.reason")
)

// Attributes of spans.
const (
	// DelayKey, an int64 in nanoseconds, is how much delay causal experiments inserted below the
	// span. Spans without any do not have it.
	DelayKey = attribute.Key("otelprof.causal.delay_ns")
	// RunningKey, RunnableKey and BlockedKey, in nanoseconds, add up to the time for which the span
	// was open.
	RunningKey  = attribute.Key("otelprof.running_ns")
	RunnableKey = attribute.Key("otelprof.runnable_ns")
	BlockedKey  = attribute.Key("otelprof.blocked_ns")
	// CounterSourceKey is where the span's counts come from, CounterValidKey whether there are any.
	CounterSourceKey = attribute.Key("pmu.source")
	CounterValidKey  = attribute.Key("pmu.valid")
)

// Events about plans, and their attributes.
const (
	// PlanEvent is the name of an event as a log record, as a span and as an event of a span.
	PlanEvent        = "otelprof.causal.plan"
	PlanEventKindKey = attribute.Key("otelprof.causal.plan_event")
	// PlanHashKey is also an attribute of causal metrics, and left out where there is no plan, as
	// for recordings.
	PlanHashKey = attribute.Key("otelprof.causal.plan_hash")
)

// Environment variables that more than one package reads.
const (
	// EnvExperiments forbids all experiments if it is off, whatever options the program sets.
	EnvExperiments = "OTELPROF_EXPERIMENTS"
	// EnvReplay forbids recordings likewise.
	EnvReplay = "OTELPROF_REPLAY"
)

// RegionAttributes returns the attributes by which metrics name a region, and more. They are others
// for each scope: of points with the same ones receivers keep one, or see resets.
func RegionAttributes(scope instrumentation.Scope, name string, more ...attribute.KeyValue) attribute.Set {
	kvs := append(slices.Clip(more), RegionNameKey.String(name), RegionScopeKey.String(scope.Name))
	if scope.Version != "" {
		kvs = append(kvs, RegionScopeVersionKey.String(scope.Version))
	}
	if scope.SchemaURL != "" {
		kvs = append(kvs, RegionScopeSchemaURLKey.String(scope.SchemaURL))
	}
	if scope.Attributes.Len() != 0 {
		kvs = append(kvs, RegionScopeAttributesKey.String(scope.Attributes.Encoded(attribute.DefaultEncoder())))
	}
	return attribute.NewSet(kvs...)
}
