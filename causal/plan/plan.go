package plan

import (
	"fmt"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/glob"
)

// API is the value of a plan's key "api" that this version reads.
const API = "causal/v1"

// A Plan is of experiments: which, when, on what, and at what cost at most. It is
// made by [Parse] and immutable.
type Plan struct {
	API string `json:"api" yaml:"api"`
	// ID names the plan. After an abort only a plan with another ID runs.
	ID string `json:"id" yaml:"id"`
	// Generation must rise from one plan to the next. Zero: the source counts changes. It is at
	// most the nanoseconds from 1970 to [MaxLife] ahead: there is always a higher one for the next
	// plan.
	Generation uint64 `json:"generation,omitempty" yaml:"generation"`
	Author     string `json:"author,omitempty" yaml:"author"`
	Reason     string `json:"reason,omitempty" yaml:"reason"`
	// IssuedAt is when the plan was written, zero if that is not known. It must not be after
	// ExpiresAt, nor more than [MaxLife] before.
	IssuedAt time.Time `json:"issued_at,omitzero" yaml:"issued_at"`
	// Restart lets the plan begin in a process that is younger than it is. Without it, a plan that
	// a source had before the process began is refused with [ErrRestart]: it may be what ended the
	// process before. With it, Limits.Total is cut to the part of the plan's life that is left.
	Restart bool `json:"restart,omitempty" yaml:"restart"`
	// Force runs experiments of [profile.ModeOverlap] although the warm-up has shown that they
	// cannot come to a number, which otherwise ends such a plan before anything is delayed: to try
	// out limits and the breaker. The numbers are withheld all the same.
	Force bool `json:"force,omitempty" yaml:"force"`
	// NotBefore is when experiments may begin, zero for at once.
	NotBefore time.Time `json:"not_before,omitzero" yaml:"not_before"`
	// ExpiresAt is when they end, at most [MaxLife] ahead.
	ExpiresAt time.Time    `json:"expires_at" yaml:"expires_at"`
	Target    Target       `json:"target,omitzero" yaml:"target"`
	Mode      profile.Mode `json:"mode" yaml:"mode"`
	// Regions are the regions to examine, 1 to 64 patterns.
	Regions []RegionPattern `json:"regions" yaml:"regions"`
	// Progress are the progress points, 1 to 16.
	Progress []ProgressPoint `json:"progress" yaml:"progress"`
	Grid     Grid            `json:"grid" yaml:"grid"`
	Timing   Timing          `json:"timing" yaml:"timing"`
	// Seed makes the order of the experiments repeatable.
	Seed   int64  `json:"seed" yaml:"seed"`
	Limits Limits `json:"limits" yaml:"limits"`
	Abort  Abort  `json:"abort" yaml:"abort"`

	hash string
}

// Target selects the processes that a plan is for; an empty field matches all.
type Target struct {
	// Service is the resource's service.name.
	Service string `json:"service,omitempty" yaml:"service"`
	// Env is the resource's deployment.environment.name.
	Env string `json:"env,omitempty" yaml:"env"`
	// Instances chooses among the service's instances.
	Instances Instances `json:"instances,omitzero" yaml:"instances"`
	// Watch are further services, 16 at most, that delay nothing and count visits of the progress
	// points, in plans with Timing.Epoch.
	Watch []string `json:"watch,omitempty" yaml:"watch"`
}

// Instances chooses a part of a service's instances by a hash of service.instance.id
// and the plan's ID.
type Instances struct {
	// Percent of the instances, in (0, 100]; zero means all.
	Percent float64 `json:"percent,omitempty" yaml:"percent" unit:"percent"`
}

// A RegionPattern selects regions. In both patterns "*" stands for any characters, "?"
// for one byte, "\" takes the next one literally; an empty one matches all.
type RegionPattern struct {
	Scope string `json:"scope,omitempty" yaml:"scope"`
	Span  string `json:"span,omitempty" yaml:"span"`
	// Auto, in place of Span, selects as many regions of the scope, those with the most self
	// time that are no local roots.
	Auto int `json:"auto,omitempty" yaml:"auto"`
}

// A ProgressPoint is what counts as a unit of work: each end of a span whose name
// matches, or each call of [Progress] with this name.
type ProgressPoint struct {
	Span string `json:"span" yaml:"span"`
	// Type is [TypeThroughput] or [TypeLatency].
	Type string `json:"type" yaml:"type"`
	// Quantiles of latency in percent, in [1, 99.9], 1 to 8 of them. By default 50, 90, 99.
	Quantiles []float64 `json:"quantiles,omitempty" yaml:"quantiles" unit:"percent"`
}

// Name is the name of the spans, or a pattern of several.
func (p ProgressPoint) Name() string { return glob.Name(p.Span) }

// The types of a [ProgressPoint].
const (
	TypeThroughput = "throughput" // visits are counted
	TypeLatency    = "latency"    // durations of its spans are measured
)

// defaultQuantiles are those of a progress point of type latency that names none.
var defaultQuantiles = []float64{50, 90, 99}

// Metrics returns the metrics of a progress point and for each the quantile in percent, 0 for
// throughput.
func (p ProgressPoint) Metrics() (metrics []profile.Metric, at []float64) {
	if p.Type != TypeLatency {
		return []profile.Metric{profile.MetricThroughput}, []float64{0}
	}
	at = p.Quantiles
	if len(at) == 0 {
		at = defaultQuantiles
	}
	for _, q := range at {
		metrics = append(metrics, profile.Metric(fmt.Sprintf("latency_p%g", q)))
	}
	return metrics, at
}

// Grid is the set of speed-ups to try.
type Grid struct {
	// Speedups in percent, in [0, 80], in documents with or without a percent sign. By default 0,
	// 10, 25, 50.
	Speedups []float64 `json:"speedups" yaml:"speedups" unit:"percent"`
	// ZeroWeight is the part of the experiments in which nothing is delayed, in
	// [0.1, 0.9]. By default 0.4.
	ZeroWeight float64 `json:"zero_weight" yaml:"zero_weight"`
}

// Timing is how long each experiment takes.
type Timing struct {
	// Warmup is the wait before the first experiment. By default 2 s.
	Warmup Duration `json:"warmup" yaml:"warmup"`
	// Experiment is the least time an experiment is measured. By default 400 ms in mode slowdown,
	// else 2 s.
	Experiment Duration `json:"experiment" yaml:"experiment"`
	// Cooloff is the wait between changing the delays and measuring. By default 50 ms in mode
	// slowdown, where it is three times the 99th percentile of the local roots at least, up to
	// ten times their mean; else 200 ms.
	Cooloff Duration `json:"cooloff" yaml:"cooloff"`
	// MinProgress is the least number of visits of each progress point: an experiment
	// is made longer until it has them. By default 20 in mode slowdown, else 5.
	MinProgress int `json:"min_progress" yaml:"min_progress"`
	// MaxExperiment is the most time an experiment is measured. By default 60 s.
	MaxExperiment Duration `json:"max_experiment" yaml:"max_experiment"`
	// Epoch is the length of an experiment by the clock, in mode slowdown, zero for none: which
	// region is held in an epoch follows from the plan and the time since 1970, so that all
	// processes that hold the plan do the same at the same time and what they count adds up. Clocks
	// may be 250 ms apart. Then Experiment, MinProgress and MaxExperiment mean nothing.
	Epoch Duration `json:"epoch,omitempty" yaml:"epoch"`
}
