package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/internal/validate"
)

const (
	// maxBytes is the size of the largest profile that [Read] reads.
	maxBytes = 64 << 20
	// maxCurves bounds what has to be compared with each other.
	maxCurves = 20000
	// mostReduction bounds the absolute value of reductions, beyond all that can be measured.
	mostReduction = 1e6
)

// ErrInvalid is returned for a saved profile that is not valid.
var ErrInvalid = errors.New("causal: profile")

// Read reads a profile as [Profile.WriteJSON] and the viewer write it, of at most
// 64 MiB. It checks all values and derives order, slopes and verdicts anew. Keys
// that it does not know are left out. Errors wrap [ErrInvalid], but for those of r.
func Read(r io.Reader) (Profile, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return Profile{}, err
	}
	if len(text) > maxBytes {
		return Profile{}, fmt.Errorf("%w: must have at most %d bytes", ErrInvalid, maxBytes)
	}
	var head struct {
		API *string `json:"api"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return Profile{}, fmt.Errorf("%w: %s", ErrInvalid, describeJSON(err))
	}
	switch {
	case head.API == nil:
		return Profile{}, fmt.Errorf("%w: it has no key api: must be one saved by this program", ErrInvalid)
	case *head.API != api:
		return Profile{}, fmt.Errorf("%w: api %q: must be %q", ErrInvalid, *head.API, api)
	}
	var p Profile
	if err := json.Unmarshal(text, &p); err != nil {
		return Profile{}, fmt.Errorf("%w: %s", ErrInvalid, describeJSON(err))
	}
	if err := p.validate(); err != nil {
		return Profile{}, err
	}
	p.Finish()
	return p, nil
}

// describeJSON returns what is wrong in terms of the document, not of Go.
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
	v := &validate.Errors{}
	v.That(p.Iterations >= 0 && p.Experiments >= 0 && p.Rejected >= 0 && p.Delay >= 0, "iterations, experiments, rejected and delay_ns", nil, "must not be negative")
	eachOfFew(v, "curves", p.Curves, Curve.validate)
	eachOfFew(v, "changes", p.Changes, Change.validate)
	if r := p.Recorded; r != nil {
		v.That(min(r.Length, r.CPU, r.Others, r.Stolen, r.Throttled, r.Stalled) >= 0 && r.Windows >= 0, "recorded", nil, "must not be negative")
		v.That(r.Starved >= 0 && r.Starved < 1, "recorded.starved", r.Starved, "must be in [0, 1)")
		eachOfFew(v, "recorded.progress", r.Progress, func(x RecordedProgress, v *validate.Errors, at string) {
			v.That(x.Visits >= 0 && x.Windows >= 0 && x.Deviation >= 0, at, nil, "must have no negative number")
			v.That(x.Loop == "" || x.Loop == loopOpen || x.Loop == loopClosed, at+".loop", x.Loop, "must be %q or %q", loopOpen, loopClosed)
		})
	}
	each(v, "waiting", p.Waiting, func(w Waiting, v *validate.Errors, at string) {
		v.That(w.Attributed >= 0 && w.Unattributed >= 0, at, nil, "must not be negative")
	})
	each(v, "waits", p.Waits, func(r RegionWaits, v *validate.Errors, at string) {
		bad := slices.ContainsFunc(r.Waits, func(w Wait) bool { return w.Kind == "" || min(int64(w.Count), int64(w.Total), int64(w.Longest)) < 0 })
		v.That(r.Spans >= 0 && r.Time >= 0 && !bad, at, nil, "must have kinds, and no negative number")
	})
	each(v, "tails", p.Tails, func(t Tail, v *validate.Errors, at string) {
		v.That(min(int64(t.Requests), int64(t.Slowest), int64(t.From), int64(t.Slow), int64(t.Typical)) >= 0, at, nil, "must have no negative number")
	})
	each(v, "epochs", p.Epochs, Epoch.validate)
	each(v, "tallies", p.Tallies, func(t Tally, v *validate.Errors, at string) {
		v.That(t.Speedup >= 0 && t.Speedup <= 1, at+".speedup", t.Speedup, "must be in [0, 1]")
		v.That(min(t.Effective, t.Delay, t.Own) >= 0, at, nil, "must have no negative number")
	})
	return v.Err(ErrInvalid)
}

// each checks the elements of a list, until there are as many errors as are worth listing.
func each[T any](v *validate.Errors, key string, all []T, check func(x T, v *validate.Errors, at string)) {
	for i, x := range all {
		if v.Full() {
			return
		}
		check(x, v, fmt.Sprintf("%s[%d]", key, i))
	}
}

// eachOfFew is each of a list that is bounded, since its elements are compared with each other.
func eachOfFew[T any](v *validate.Errors, key string, all []T, check func(x T, v *validate.Errors, at string)) {
	v.That(len(all) <= maxCurves, key, nil, "must be at most %d, not %d", maxCurves, len(all))
	each(v, key, all, check)
}

func (c Curve) validate(v *validate.Errors, key string) {
	switch c.Mode {
	case ModeSlowdown, ModeOverlap, ModeDilation, ModeReplay:
	default:
		v.That(false, key+".mode", c.Mode, "must be %q, %q, %q or %q", ModeSlowdown, ModeOverlap, ModeDilation, ModeReplay)
	}
	v.That(c.Metric != "", key+".metric", nil, "must not be empty")
	v.That(c.BasePeriod >= 0 && c.BasePeriod <= 24*time.Hour, key+".base_period_ns", int64(c.BasePeriod), "must be in [0, %d]", 24*time.Hour)
	c.validateSlopes(v, key)
	seen := map[float64]bool{}
	for i, e := range c.Effects {
		at := fmt.Sprintf("%s.effects[%d]", key, i)
		v.That(e.Speedup > 0 && e.Speedup <= 1, at+".speedup", e.Speedup, "must be in (0, 1]")
		v.That(!seen[e.Speedup], at+".speedup", e.Speedup, "must not be repeated")
		seen[e.Speedup] = true
		e.validate(v, at)
	}
}

func (c Curve) validateSlopes(v *validate.Errors, key string) {
	v.That(c.Own >= 0 && c.Own <= 24*time.Hour, key+".own_ns", int64(c.Own), "must be in [0, %d]", 24*time.Hour)
	v.That(c.Behind >= 0 && c.Behind <= 1, key+".waits_for_processor", c.Behind, "must be in [0, 1]")
	v.That(c.Served >= 0, key+".served", c.Served, "must not be negative")
	v.That(c.Overtaken >= 0 && c.Overtaken <= 1, key+".overtaken", c.Overtaken, "must be in [0, 1]")
	v.That(c.Awaited >= 0 && c.Awaited <= 1, key+".awaited", c.Awaited, "must be in [0, 1]")
	v.That(c.HoldsUp >= 0 && c.HoldsUp <= 1, key+".holds_up", c.HoldsUp, "must be in [0, 1]")
	v.That(c.Expiring >= 0 && c.Expiring <= 1, key+".near_deadlines", c.Expiring, "must be in [0, 1]")
	v.That(c.Drift >= 0 && c.Drift <= mostReduction, key+".drift", c.Drift, "must be in [0, %g]", mostReduction)
	v.That(len(c.Slopes) == 0 || c.Mode == ModeSlowdown || c.Mode == ModeReplay, key+".slopes", nil, "must be given in modes %q and %q only", ModeSlowdown, ModeReplay)
	for i, s := range c.Slopes {
		at := fmt.Sprintf("%s.slopes[%d]", key, i)
		v.That(s.Level > 0 && s.Level <= 1 && (i == 0 || s.Level > c.Slopes[i-1].Level), at+".level", s.Level, "must be in (0, 1], and rise")
		v.That(s.Taken >= 0 && s.Taken <= mostReduction, at+".taken", s.Taken, "must be in [0, %g]", mostReduction)
		v.That(s.Samples >= 0 && len(s.Elasticities) <= s.Samples, at, nil, "samples and elasticities must be numbers of samples")
		v.That(s.Lo <= s.Elasticity && s.Elasticity <= s.Hi, at+".elasticity", s.Elasticity, "must be in [lo, hi], which is [%g, %g]", s.Lo, s.Hi)
		for _, x := range append([]float64{s.Lo, s.Hi, s.StdErr, s.VisitRatio, s.VisitRatioErr}, s.Elasticities...) {
			v.That(math.Abs(x) <= mostReduction, at, x, "must be in [-%g, %g]", mostReduction, mostReduction)
		}
	}
}

func (e Effect) validate(v *validate.Errors, at string) {
	v.That(e.Samples >= 0 && e.Outliers >= 0 && len(e.Reductions) <= e.Samples, at, nil, "samples, outliers and reductions must be numbers of samples")
	v.That(e.Margin >= 0 && e.Margin <= 1, at+".margin", e.Margin, "must be in [0, 1]")
	v.That(e.Lo <= e.Reduction && e.Reduction <= e.Hi, at+".reduction", e.Reduction, "must be in [lo, hi], which is [%g, %g]", e.Lo, e.Hi)
	all := append([]float64{e.Lo, e.Hi, e.StdErr, e.ThroughputGain}, e.Reductions...)
	v.That(e.Simulated[1] <= e.Simulated[0] && e.Simulated[0] <= e.Simulated[2], at+".simulated", e.Simulated, "must be a number and an interval that holds it")
	for _, x := range append(all, e.Simulated[:]...) {
		if math.Abs(x) > mostReduction {
			v.That(false, at, x, "must be in [-%g, %g]", mostReduction, mostReduction)
			return
		}
	}
}
