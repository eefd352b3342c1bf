package causal

import (
	"fmt"
	"time"
)

// API is the value of a plan's key "api" that this version reads.
const API = "causal/v1"

// Mode is the kind of experiment.
type Mode string

// The modes of plans. No plan asks for [ModeReplay]: it delays nothing.
const (
	// ModeOverlap delays all others by what the chosen region would save, when a span ends.
	ModeOverlap Mode = "overlap"
	// ModeDilation stretches every region but the chosen one in proportion to its self time.
	ModeDilation Mode = "dilation"
)

// Delays reports whether answers of this mode are of experiments, which delay the program and need a
// plan.
func (m Mode) Delays() bool { return m == ModeOverlap || m == ModeDilation }

// A Plan says which experiments to run, when, on what and at what cost at most. It is
// made by [ParsePlan] and immutable.
type Plan struct {
	API string `json:"api" yaml:"api"`
	// ID names the plan. After an abort only a plan with another ID runs.
	ID string `json:"id" yaml:"id"`
	// Generation must rise from one plan to the next. Zero: the source counts changes.
	Generation uint64 `json:"generation,omitempty" yaml:"generation"`
	Author     string `json:"author,omitempty" yaml:"author"`
	Reason     string `json:"reason,omitempty" yaml:"reason"`
	// NotBefore is when experiments may begin, zero for at once.
	NotBefore time.Time `json:"not_before,omitzero" yaml:"not_before"`
	// ExpiresAt is when they end, at most [MaxPlanLife] ahead.
	ExpiresAt time.Time `json:"expires_at" yaml:"expires_at"`
	Target    Target    `json:"target,omitzero" yaml:"target"`
	Mode      Mode      `json:"mode" yaml:"mode"`
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

// Target says which processes a plan is for; an empty field matches all.
type Target struct {
	// Service is the resource's service.name.
	Service string `json:"service,omitempty" yaml:"service"`
	// Env is the resource's deployment.environment.name.
	Env string `json:"env,omitempty" yaml:"env"`
	// Instances chooses among the service's instances.
	Instances Instances `json:"instances,omitzero" yaml:"instances"`
}

// Instances chooses a part of a service's instances by a hash of service.instance.id
// and the plan's ID.
type Instances struct {
	// Percent of the instances, in (0, 100]; zero means all.
	Percent float64 `json:"percent,omitempty" yaml:"percent"`
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
	Quantiles []float64 `json:"quantiles,omitempty" yaml:"quantiles"`
}

// The types of a [ProgressPoint].
const (
	TypeThroughput = "throughput" // visits are counted
	TypeLatency    = "latency"    // durations of its spans are measured
)

// defaultQuantiles are those of a progress point of type latency that names none.
var defaultQuantiles = []float64{50, 90, 99}

// metrics returns the metrics of a progress point and for each the quantile in percent, 0 for
// throughput.
func (r ProgressPoint) metrics() (metrics []Metric, at []float64) {
	if r.Type != TypeLatency {
		return []Metric{MetricThroughput}, []float64{0}
	}
	at = r.Quantiles
	if len(at) == 0 {
		at = defaultQuantiles
	}
	for _, q := range at {
		metrics = append(metrics, Metric(fmt.Sprintf("latency_p%g", q)))
	}
	return metrics, at
}

// Grid is the set of speed-ups to try.
type Grid struct {
	// Speedups in percent, in [0, MaxSpeedup]. By default 0, 10, 25, 50.
	Speedups []float64 `json:"speedups" yaml:"speedups"`
	// ZeroWeight is the part of the experiments in which nothing is delayed, in
	// [0.1, 0.9]. By default 0.4.
	ZeroWeight float64 `json:"zero_weight" yaml:"zero_weight"`
}

// Timing says how long each experiment takes.
type Timing struct {
	// Warmup is the wait before the first experiment. By default 2 s.
	Warmup Duration `json:"warmup" yaml:"warmup"`
	// Experiment is the least time an experiment is measured. By default 2 s.
	Experiment Duration `json:"experiment" yaml:"experiment"`
	// Cooloff is the wait between changing the delays and measuring. By default 200 ms.
	Cooloff Duration `json:"cooloff" yaml:"cooloff"`
	// MinProgress is the least number of visits of each progress point: an experiment
	// is made longer until it has them. By default 5.
	MinProgress int `json:"min_progress" yaml:"min_progress"`
	// MaxExperiment is the most time an experiment is measured. By default 60 s.
	MaxExperiment Duration `json:"max_experiment" yaml:"max_experiment"`
}

// Limits bound what a plan may cost. A plan can tighten the local ones, never loosen them.
type Limits struct {
	// PerSpan is the longest delay inserted at the end of one span.
	PerSpan Duration `json:"per_span" yaml:"per_span"`
	// PerTrace is the most delay inserted in one session.
	PerTrace Duration `json:"per_trace" yaml:"per_trace"`
	// Duty is the most delay per second of wall time and processor, in (0, 1].
	Duty Percent `json:"duty" yaml:"duty"`
	// Total is the most delay inserted altogether.
	Total Duration `json:"total" yaml:"total"`
}

// Abort says when the breaker opens and ends the plan for good.
type Abort struct {
	// P99Ratio opens it when the 99th percentile of the duration of local root spans is
	// that many times the one measured before. By default 1.2.
	P99Ratio float64 `json:"p99_ratio" yaml:"p99_ratio"`
	// P99 opens it when that percentile is above this; zero for never.
	P99 Duration `json:"p99,omitempty" yaml:"p99"`
	// ErrDelta opens it when the share of failed local roots rises by more. By default 0.5 %.
	ErrDelta Percent `json:"err_delta" yaml:"err_delta"`
	// Window is the time over which both are taken. By default 10 s.
	Window Duration `json:"window" yaml:"window"`
	// MinSamples is the least number of roots for a verdict. By default 200.
	MinSamples int `json:"min_samples" yaml:"min_samples"`
}
