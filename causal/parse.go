package causal

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

const (
	// MaxPlanBytes is the size of the largest plan document.
	MaxPlanBytes = 64 << 10
	// MaxPlanLife is how far ahead a plan may expire at most.
	MaxPlanLife = time.Hour
	// MaxSpeedup is the largest speed-up in percent that a plan may ask for: dilation
	// stretches the rest by 1/(1-speedup), five times at this value.
	MaxSpeedup = 80
)

// ParsePlan reads a plan document, YAML or JSON, of at most [MaxPlanBytes]. It is strict:
// what it does not understand is an error, as is a plan that has expired. All errors are
// reported together, each with its line, key, value and constraint; they wrap [ErrPlan].
func ParsePlan(document []byte) (*Plan, error) {
	if len(document) > MaxPlanBytes {
		return nil, fmt.Errorf("%w: document of %d bytes: must be at most %d", ErrPlan, len(document), MaxPlanBytes)
	}
	p := defaultPlan()
	if err := decodeStrict(bytes.NewReader(yamlOf(document)), p); err != nil {
		return nil, err
	}
	if err := p.validate(time.Now()); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(document)
	p.hash = hex.EncodeToString(sum[:])
	return p, nil
}

// Hash returns the SHA-256 of the plan's document in hexadecimal.
func (p *Plan) Hash() string { return p.hash }

func defaultPlan() *Plan {
	return &Plan{
		Mode: ModeOverlap,
		Grid: Grid{Speedups: []float64{0, 10, 25, 50}, ZeroWeight: 0.4},
		Timing: Timing{
			Warmup:        Duration(2 * time.Second),
			Experiment:    Duration(2 * time.Second),
			Cooloff:       Duration(200 * time.Millisecond),
			MinProgress:   5,
			MaxExperiment: Duration(60 * time.Second),
		},
		Limits: DefaultLimits(),
		Abort: Abort{
			P99Ratio:   1.2,
			ErrDelta:   0.005,
			Window:     Duration(10 * time.Second),
			MinSamples: 200,
		},
	}
}

// DefaultLimits are the limits of a plan that names none: 5 ms a span, 25 ms a trace, 5 % of
// the processors' time, 60 s altogether.
func DefaultLimits() Limits {
	return Limits{
		PerSpan:  Duration(5 * time.Millisecond),
		PerTrace: Duration(25 * time.Millisecond),
		Duty:     0.05,
		Total:    Duration(60 * time.Second),
	}
}

// validate checks every value. It does not change the plan.
func (p *Plan) validate(now time.Time) error {
	v := validator{}
	v.that(p.API == API, "api %q: must be %q", p.API, API)
	v.that(p.ID != "" && len(p.ID) <= 128, "id %q: must have 1 to 128 characters", p.ID)
	v.that(len(p.Author) <= 256, "author: must have at most 256 characters")
	v.that(len(p.Reason) <= 1024, "reason: must have at most 1024 characters")
	v.that(p.Mode == ModeOverlap || p.Mode == ModeDilation, "mode %q: must be %q or %q", p.Mode, ModeOverlap, ModeDilation)
	if p.ExpiresAt.IsZero() {
		v.that(false, "expires_at: must be given")
	} else {
		v.that(p.ExpiresAt.After(now), "expires_at %s: must be in the future (it is %s)", p.ExpiresAt.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
		v.that(!p.ExpiresAt.After(now.Add(MaxPlanLife)), "expires_at %s: must be at most %v ahead (it is %s)", p.ExpiresAt.Format(time.RFC3339), MaxPlanLife, now.UTC().Format(time.RFC3339))
		v.that(p.NotBefore.IsZero() || p.NotBefore.Before(p.ExpiresAt), "not_before %s: must be before expires_at", p.NotBefore.Format(time.RFC3339))
	}
	v.that(p.Target.Instances.Percent >= 0 && p.Target.Instances.Percent <= 100, "target.instances.percent %g: must be in (0, 100]", p.Target.Instances.Percent)

	v.that(len(p.Regions) >= 1 && len(p.Regions) <= 64, "regions: must have 1 to 64 entries, not %d", len(p.Regions))
	for i, r := range p.Regions {
		v.that(r.Span != "" || r.Auto != 0, "regions[%d]: must have span, or auto", i)
		v.that(r.Span == "" || r.Auto == 0, "regions[%d]: must not have both span and auto", i)
		v.that(r.Auto >= 0 && r.Auto <= maxRegions, "regions[%d].auto %d: must be in [1, %d]", i, r.Auto, maxRegions)
		v.that(len(r.Span) <= 256 && len(r.Scope) <= 256, "regions[%d]: patterns must have at most 256 characters", i)
	}
	v.that(len(p.Progress) >= 1 && len(p.Progress) <= 16, "progress: must have 1 to 16 entries, not %d", len(p.Progress))
	for i, r := range p.Progress {
		r.validate(&v, fmt.Sprintf("progress[%d]", i), p.Mode)
	}
	p.validateGrid(&v)
	p.Limits.validate(&v, "limits.")
	return errors.Join(v.errs...)
}

func (r ProgressPoint) validate(v *validator, key string, mode Mode) {
	v.that(r.Span != "" && len(r.Span) <= 256, "%s.span: must have 1 to 256 characters", key)
	v.that(r.Type == TypeThroughput || r.Type == TypeLatency, "%s.type %q: must be %q or %q", key, r.Type, TypeThroughput, TypeLatency)
	v.that(r.Type != TypeLatency || mode != ModeDilation, "%s.type %q: must be %q in mode %q", key, r.Type, TypeThroughput, mode)
	v.that(r.Quantiles == nil || r.Type == TypeLatency, "%s.quantiles: must be given with type %q only", key, TypeLatency)
	v.that(r.Quantiles == nil || len(r.Quantiles) >= 1 && len(r.Quantiles) <= 8, "%s.quantiles: must have 1 to 8 entries, not %d", key, len(r.Quantiles))
	seen := map[float64]bool{}
	for i, q := range r.Quantiles {
		v.that(q >= 1 && q <= 99.9, "%s.quantiles[%d] %g: must be a percentage in [1, 99.9]", key, i, q)
		v.that(!seen[q], "%s.quantiles[%d] %g: must not be repeated", key, i, q)
		seen[q] = true
	}
}

func (p *Plan) validateGrid(v *validator) {
	v.that(len(p.Grid.Speedups) <= 16, "grid.speedups: must have at most 16 entries, not %d", len(p.Grid.Speedups))
	positive := 0
	seen := map[float64]bool{}
	for i, s := range p.Grid.Speedups {
		v.that(s >= 0 && s <= MaxSpeedup, "grid.speedups[%d] %g: must be a percentage in [0, %d]", i, s, MaxSpeedup)
		v.that(!seen[s], "grid.speedups[%d] %g: must not be repeated", i, s)
		seen[s] = true
		if s > 0 {
			positive++
		}
	}
	v.that(positive > 0, "grid.speedups: must have at least one entry above 0")
	v.that(p.Grid.ZeroWeight >= 0.1 && p.Grid.ZeroWeight <= 0.9, "grid.zero_weight %g: must be in [0.1, 0.9]", p.Grid.ZeroWeight)

	t := p.Timing
	v.duration("timing.warmup", t.Warmup, 0, time.Minute)
	v.duration("timing.experiment", t.Experiment, 10*time.Millisecond, 5*time.Minute)
	v.duration("timing.cooloff", t.Cooloff, 0, time.Minute)
	v.duration("timing.max_experiment", t.MaxExperiment, time.Duration(t.Experiment), 10*time.Minute)
	v.that(t.MinProgress >= 1 && t.MinProgress <= 1e6, "timing.min_progress %d: must be in [1, 1000000]", t.MinProgress)

	a := p.Abort
	v.that(a.P99Ratio > 1 && a.P99Ratio <= 1000, "abort.p99_ratio %g: must be in (1, 1000]", a.P99Ratio)
	v.duration("abort.p99", a.P99, 0, time.Hour)
	v.that(a.ErrDelta > 0 && a.ErrDelta <= 1, "abort.err_delta %s: must be in (0%%, 100%%]", a.ErrDelta)
	v.duration("abort.window", a.Window, time.Second, 10*time.Minute)
	v.that(a.MinSamples >= 1 && a.MinSamples <= 1e6, "abort.min_samples %d: must be in [1, 1000000]", a.MinSamples)
}

func (l Limits) validate(v *validator, prefix string) {
	v.duration(prefix+"per_span", l.PerSpan, time.Microsecond, time.Second)
	v.duration(prefix+"per_trace", l.PerTrace, time.Microsecond, time.Minute)
	v.that(l.Duty > 0 && l.Duty <= 1, "%sduty %s: must be in (0%%, 100%%]", prefix, l.Duty)
	v.duration(prefix+"total", l.Total, time.Microsecond, 24*time.Hour)
}

// Tighten returns the smaller of each limit.
func (l Limits) Tighten(caps Limits) Limits {
	return Limits{
		PerSpan:  min(l.PerSpan, caps.PerSpan),
		PerTrace: min(l.PerTrace, caps.PerTrace),
		Duty:     min(l.Duty, caps.Duty),
		Total:    min(l.Total, caps.Total),
	}
}

type validator struct {
	of   error // that all errors wrap; ErrPlan if nil
	errs []error
}

func (v *validator) that(ok bool, format string, args ...any) {
	if !ok {
		v.errs = append(v.errs, fmt.Errorf("%w: %s", cmp.Or(v.of, ErrPlan), fmt.Sprintf(format, args...)))
	}
}

func (v *validator) duration(key string, d Duration, lo, hi time.Duration) {
	v.that(time.Duration(d) >= lo && time.Duration(d) <= hi, "%s %v: must be in [%v, %v]", key, d, lo, hi)
}
