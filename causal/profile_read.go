package causal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

const (
	// MaxProfileBytes is the size of the largest profile that [ReadProfile] reads.
	MaxProfileBytes = 64 << 20
	// maxCurves bounds what has to be compared with each other.
	maxCurves = 20000
	// mostReduction bounds the absolute value of reductions, beyond all that can be measured.
	mostReduction = 1e6
)

// ReadProfile reads a profile as [Profile.WriteJSON] and the viewer write it, of at most
// [MaxProfileBytes]. It checks all values and derives order, slopes and verdicts anew. Keys
// that it does not know are left out. Errors wrap [ErrProfile], but for those of r.
func ReadProfile(r io.Reader) (Profile, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxProfileBytes+1))
	if err != nil {
		return Profile{}, err
	}
	if len(text) > MaxProfileBytes {
		return Profile{}, fmt.Errorf("%w: must have at most %d bytes", ErrProfile, MaxProfileBytes)
	}
	var head struct {
		API *string `json:"api"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return Profile{}, fmt.Errorf("%w: %s", ErrProfile, describeJSON(err))
	}
	switch {
	case head.API == nil:
		return Profile{}, fmt.Errorf("%w: it has no key api: must be one saved by this program", ErrProfile)
	case *head.API != ProfileAPI:
		return Profile{}, fmt.Errorf("%w: api %q: must be %q", ErrProfile, *head.API, ProfileAPI)
	}
	var p Profile
	if err := json.Unmarshal(text, &p); err != nil {
		return Profile{}, fmt.Errorf("%w: %s", ErrProfile, describeJSON(err))
	}
	if err := p.validate(); err != nil {
		return Profile{}, err
	}
	finish(&p)
	return p, nil
}

// describeJSON says what is wrong in terms of the document, not of Go.
func describeJSON(err error) string {
	var (
		kind   *json.UnmarshalTypeError
		syntax *json.SyntaxError
	)
	switch {
	case errors.As(err, &kind) && kind.Field == "":
		return fmt.Sprintf("%s: must be an object", kind.Value)
	case errors.As(err, &kind):
		return fmt.Sprintf("%s: must not be %s", kind.Field, kind.Value)
	case errors.As(err, &syntax):
		return fmt.Sprintf("must be JSON: byte %d: %s", syntax.Offset, syntax.Error())
	}
	return err.Error()
}

// validate checks every value that something is computed from.
func (p *Profile) validate() error {
	v := validator{of: ErrProfile}
	v.that(len(p.Curves) <= maxCurves, "curves: must be at most %d, not %d", maxCurves, len(p.Curves))
	v.that(p.Iterations >= 0 && p.Experiments >= 0 && p.Rejected >= 0 && p.Delay >= 0, "iterations, experiments, rejected and delay_ns: must not be negative")
	for i, c := range p.Curves {
		if len(v.errs) >= maxErrors {
			break
		}
		c.validate(&v, fmt.Sprintf("curves[%d]", i))
	}
	v.that(len(p.Changes) <= maxCurves, "changes: must be at most %d, not %d", maxCurves, len(p.Changes))
	for i, c := range p.Changes {
		if len(v.errs) >= maxErrors {
			break
		}
		c.validate(&v, fmt.Sprintf("changes[%d]", i))
	}
	if r := p.Recorded; r != nil {
		v.that(r.Windows >= 0 && r.Length >= 0, "recorded: must not be negative")
		v.that(len(r.Progress) <= maxCurves, "recorded.progress: must be at most %d, not %d", maxCurves, len(r.Progress))
		for i, x := range r.Progress {
			if len(v.errs) >= maxErrors {
				break
			}
			v.that(x.Visits >= 0 && x.Windows >= 0 && x.Deviation >= 0 && x.Deviation <= 1, "recorded.progress[%d]: must be in range", i)
		}
	}
	for i, w := range p.Waiting {
		v.that(w.Attributed >= 0 && w.Unattributed >= 0, "waiting[%d]: must not be negative", i)
		if len(v.errs) >= maxErrors {
			break
		}
	}
	for i, t := range p.Tallies {
		if len(v.errs) >= maxErrors {
			break
		}
		v.that(t.Speedup >= 0 && t.Speedup <= 1 && t.Effective >= 0 && t.Delay >= 0, "tallies[%d]: must be in range", i)
	}
	return errors.Join(v.errs...)
}

func (c Curve) validate(v *validator, key string) {
	switch c.Mode {
	case ModeOverlap, ModeDilation, ModeReplay:
	default:
		v.that(false, "%s.mode %q: must be %q, %q or %q", key, c.Mode, ModeOverlap, ModeDilation, ModeReplay)
	}
	v.that(c.Metric != "", "%s.metric: must not be empty", key)
	v.that(c.BasePeriod >= 0 && c.BasePeriod <= 24*time.Hour, "%s.base_period_ns %d: must be in [0, %d]", key, c.BasePeriod, 24*time.Hour)
	seen := map[float64]bool{}
	for i, e := range c.Effects {
		at := fmt.Sprintf("%s.effects[%d]", key, i)
		v.that(e.Speedup > 0 && e.Speedup <= 1, "%s.speedup %g: must be in (0, 1]", at, e.Speedup)
		v.that(!seen[e.Speedup], "%s.speedup %g: must not be repeated", at, e.Speedup)
		seen[e.Speedup] = true
		e.validate(v, at)
	}
}

func (e Effect) validate(v *validator, at string) {
	v.that(e.Samples >= 0 && e.Outliers >= 0 && len(e.Reductions) <= e.Samples, "%s: samples, outliers and reductions must be numbers of samples", at)
	v.that(e.Lo <= e.Reduction && e.Reduction <= e.Hi, "%s: reduction %g: must be in [lo, hi], which is [%g, %g]", at, e.Reduction, e.Lo, e.Hi)
	for _, x := range append([]float64{e.Lo, e.Hi, e.StdErr, e.ThroughputGain}, e.Reductions...) {
		if math.Abs(x) > mostReduction {
			v.that(false, "%s: %g: must be in [-%g, %g]", at, x, mostReduction, mostReduction)
			return
		}
	}
}
