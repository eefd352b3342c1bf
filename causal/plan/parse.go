package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/internal/validate"
	"github.com/otelprof/otelprof/causal/profile"
)

const (
	// MaxBytes is the size of the largest plan document.
	MaxBytes = 64 << 10
	// MaxLife is how far ahead a plan may expire at most.
	MaxLife = time.Hour
)

// Parse reads a plan document, YAML or JSON, of at most [MaxBytes]. It is strict: what it does not
// understand is an error, as is a plan that has expired. All errors are reported together, as
// [Errors], each with its line, key, value and constraint; they wrap [ErrInvalid].
func Parse(document []byte) (*Plan, error) {
	if len(document) > MaxBytes {
		return nil, Errors{{Text: fmt.Sprintf("document of %d bytes: must be at most %d", len(document), MaxBytes)}}
	}
	p := defaults()
	root, errs := decodeStrict(bytes.NewReader(yamlOf(document)), p)
	if len(errs) > 0 {
		return nil, errs.with(p.validate(time.Now()), root)
	}
	if p.Mode != profile.ModeSlowdown { // whose timing is another, where the document leaves it open
		p = defaults()
		p.Timing = longer()
		root, errs = decodeStrict(bytes.NewReader(yamlOf(document)), p)
		if len(errs) > 0 {
			return nil, errs
		}
	}
	errs = p.validate(time.Now())
	const percent = "target.instances.percent"
	if _, given := lineOf(root, percent); given && p.Target.Instances.Percent == 0 { // left out, it means all
		errs = append(errs, Error{Field: percent, Text: percent + " 0: must be in (0, 100]"})
	}
	if len(errs) > 0 {
		return nil, errs.on(root)
	}
	sum := sha256.Sum256(document)
	p.hash = hex.EncodeToString(sum[:])
	return p, nil
}

// Hash returns the SHA-256 of the plan's document in hexadecimal.
func (p *Plan) Hash() string { return p.hash }

func defaults() *Plan {
	return &Plan{
		Mode: profile.ModeSlowdown,
		Grid: Grid{Speedups: []float64{0, 10, 25, 50}, ZeroWeight: 0.4},
		Timing: Timing{
			Warmup:        Duration(2 * time.Second),
			Experiment:    Duration(400 * time.Millisecond),
			Cooloff:       Duration(50 * time.Millisecond),
			MinProgress:   20,
			MaxExperiment: Duration(60 * time.Second),
		},
		Limits: DefaultLimits(),
		Abort:  defaultAbort(),
	}
}

// longer is the timing of experiments whose debts must be paid, or that stretch all spans.
func longer() Timing {
	return Timing{
		Warmup: Duration(2 * time.Second), Experiment: Duration(2 * time.Second), Cooloff: Duration(200 * time.Millisecond),
		MinProgress: 5, MaxExperiment: Duration(60 * time.Second),
	}
}

// Validate checks every value, as Parse has done; a plan may have expired since. It does not change
// the plan. Its errors are [Errors] without lines.
func (p *Plan) Validate(now time.Time) error {
	if errs := p.validate(now); len(errs) > 0 {
		return errs
	}
	return nil
}

func (p *Plan) validate(now time.Time) Errors {
	v := &validate.Errors{}
	v.That(p.API == API, "api", p.API, "must be %q", API)
	v.That(p.ID != "" && len(p.ID) <= 128, "id", p.ID, "must have 1 to 128 characters")
	// One that no other can exceed would have all plans after it refused. The highest of this
	// moment is exceeded by that of the next.
	highest := now.Add(MaxLife).UnixNano()
	v.That(p.Generation <= uint64(highest), "generation", p.Generation, "must be at most %d, the nanoseconds from 1970 to %v ahead", highest, MaxLife)
	v.That(len(p.Author) <= 256, "author", nil, "must have at most 256 characters")
	v.That(len(p.Reason) <= 1024, "reason", nil, "must have at most 1024 characters")
	v.That(p.Mode.Delays(), "mode", p.Mode, "must be %q, %q or %q", profile.ModeSlowdown, profile.ModeOverlap, profile.ModeDilation)
	if p.ExpiresAt.IsZero() {
		v.That(false, "expires_at", nil, "must be given")
	} else {
		v.That(p.ExpiresAt.After(now), "expires_at", stamp(p.ExpiresAt), "must be in the future (it is %s)", now.UTC().Format(time.RFC3339))
		v.That(!p.ExpiresAt.After(now.Add(MaxLife)), "expires_at", stamp(p.ExpiresAt), "must be at most %v ahead (it is %s)", MaxLife, now.UTC().Format(time.RFC3339))
		v.That(p.NotBefore.IsZero() || p.NotBefore.Before(p.ExpiresAt), "not_before", stamp(p.NotBefore), "must be before expires_at")
	}
	v.That(p.IssuedAt.IsZero() || !p.IssuedAt.After(p.ExpiresAt) && !p.IssuedAt.Before(p.ExpiresAt.Add(-MaxLife)), "issued_at", stamp(p.IssuedAt), "must not be after expires_at, nor more than %v before", MaxLife)
	v.That(p.Target.Instances.Percent >= 0 && p.Target.Instances.Percent <= 100, "target.instances.percent", p.Target.Instances.Percent, "must be in (0, 100]")

	p.validateEpochs(v)

	v.That(len(p.Regions) >= 1 && len(p.Regions) <= 64, "regions", nil, "must have 1 to 64 entries, not %d", len(p.Regions))
	for i, r := range p.Regions {
		key := fmt.Sprintf("regions[%d]", i)
		v.That(r.Span != "" || r.Auto != 0, key, nil, "must have span, or auto")
		v.That(r.Span == "" || r.Auto == 0, key, nil, "must not have both span and auto")
		v.That(r.Auto >= 0 && r.Auto <= design.MaxRegions, key+".auto", r.Auto, "must be in [1, %d]", design.MaxRegions)
		v.That(len(r.Span) <= 256 && len(r.Scope) <= 256, key, nil, "patterns must have at most 256 characters")
	}
	v.That(len(p.Progress) >= 1 && len(p.Progress) <= 16, "progress", nil, "must have 1 to 16 entries, not %d", len(p.Progress))
	points := map[[2]string]bool{}
	for i, r := range p.Progress {
		key, point := fmt.Sprintf("progress[%d]", i), [2]string{r.Span, r.Type}
		r.validate(v, key, p.Mode)
		v.That(!points[point], key, nil, "span %q with type %q must not be repeated", r.Span, r.Type)
		points[point] = true
	}
	p.validateGrid(v)
	p.Limits.Validate(v, "limits.")
	if !v.Any() {
		p.validateBooks(v, now)
	}
	return errorsOf(v)
}

// A stamp is a time in an error's text.
type stamp time.Time

func (s stamp) String() string { return time.Time(s).Format(time.RFC3339) }

func (p ProgressPoint) validate(v *validate.Errors, key string, mode profile.Mode) {
	v.That(p.Span != "" && len(p.Span) <= 256, key+".span", nil, "must have 1 to 256 characters")
	v.That(p.Type == TypeThroughput || p.Type == TypeLatency, key+".type", p.Type, "must be %q or %q", TypeThroughput, TypeLatency)
	v.That(p.Type != TypeLatency || mode != profile.ModeDilation, key+".type", p.Type, "must be %q in mode %q", TypeThroughput, mode)
	v.That(p.Quantiles == nil || p.Type == TypeLatency, key+".quantiles", nil, "must be given with type %q only", TypeLatency)
	v.That(p.Quantiles == nil || len(p.Quantiles) >= 1 && len(p.Quantiles) <= 8, key+".quantiles", nil, "must have 1 to 8 entries, not %d", len(p.Quantiles))
	seen := map[float64]bool{}
	for i, q := range p.Quantiles {
		at := fmt.Sprintf("%s.quantiles[%d]", key, i)
		v.That(q >= 1 && q <= 99.9, at, q, "must be a percentage in [1, 99.9]")
		v.That(!seen[q], at, q, "must not be repeated")
		seen[q] = true
	}
}

func (p *Plan) validateGrid(v *validate.Errors) {
	v.That(len(p.Grid.Speedups) <= 16, "grid.speedups", nil, "must have at most 16 entries, not %d", len(p.Grid.Speedups))
	positive := 0
	seen := map[float64]bool{}
	for i, s := range p.Grid.Speedups {
		at := fmt.Sprintf("grid.speedups[%d]", i)
		v.That(s >= 0 && s <= design.MaxSpeedup, at, s, "must be a percentage in [0, %d]", design.MaxSpeedup)
		v.That(!seen[s], at, s, "must not be repeated")
		seen[s] = true
		if s > 0 {
			positive++
		}
	}
	v.That(positive > 0, "grid.speedups", nil, "must have at least one entry above 0")
	v.That(p.Grid.ZeroWeight >= 0.1 && p.Grid.ZeroWeight <= 0.9, "grid.zero_weight", p.Grid.ZeroWeight, "must be in [0.1, 0.9]")

	t := p.Timing
	v.In("timing.warmup", time.Duration(t.Warmup), 0, time.Minute)
	v.In("timing.experiment", time.Duration(t.Experiment), 10*time.Millisecond, 5*time.Minute)
	v.In("timing.cooloff", time.Duration(t.Cooloff), 0, time.Minute)
	v.In("timing.max_experiment", time.Duration(t.MaxExperiment), time.Duration(t.Experiment), 10*time.Minute)
	v.That(t.MinProgress >= 1 && t.MinProgress <= 1e6, "timing.min_progress", t.MinProgress, "must be in [1, 1000000]")

	p.Abort.Validate(v, "abort.")
}
