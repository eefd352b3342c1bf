package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/internal/validate"
	"github.com/otelprof/otelprof/causal/profile"
)

// Allowed bounds what plans may ask for, beside what they may cost, [Limits], and when they are
// aborted, [Abort].
type Allowed struct {
	// Modes are those that a plan may have; a plan of another one is refused.
	Modes []profile.Mode `json:"modes"`
	// Speedup is the largest speed-up in percent, in (0, 80]. A plan's larger ones are left out;
	// one that has no other is refused.
	Speedup float64 `json:"speedup"`
	// Life is the longest time for which a plan is in force in a process, in [1s, MaxLife];
	// not_before does not count.
	Life Duration `json:"life"`
}

// DefaultAllowed is all that a plan can ask for: all modes, speed-ups up to 80 %, for [MaxLife].
func DefaultAllowed() Allowed {
	return Allowed{Modes: []profile.Mode{profile.ModeSlowdown, profile.ModeOverlap, profile.ModeDilation}, Speedup: design.MaxSpeedup, Life: Duration(MaxLife)}
}

// Validate checks every value; prefix stands before its key.
func (a Allowed) Validate(v *validate.Errors, prefix string) {
	all := DefaultAllowed()
	v.That(len(a.Modes) > 0, prefix+"modes", nil, "must have at least one")
	for _, m := range a.Modes {
		v.That(slices.Contains(all.Modes, m), prefix+"modes", m, "must be %q, %q or %q", profile.ModeSlowdown, profile.ModeOverlap, profile.ModeDilation)
	}
	v.That(a.Speedup > 0 && a.Speedup <= design.MaxSpeedup, prefix+"speedup", a.Speedup, "must be in (0, %d]", design.MaxSpeedup)
	v.In(prefix+"life", time.Duration(a.Life), time.Second, MaxLife)
}

// Refuses returns why a plan may not be put in force, "" if it may.
func (a Allowed) Refuses(p *Plan) string {
	if !slices.Contains(a.Modes, p.Mode) {
		return fmt.Sprintf("mode %s: the program allows %v only", p.Mode, a.Modes)
	}
	if left := a.Speedups(p); len(left) == 0 || slices.Max(left) == 0 {
		return fmt.Sprintf("grid.speedups %v: must have one above 0 that is at most %g, the program's cap", p.Grid.Speedups, a.Speedup)
	}
	return ""
}

// Speedups returns the speed-ups of a plan, in percent, without those that are too large.
func (a Allowed) Speedups(p *Plan) []float64 {
	return slices.DeleteFunc(slices.Clone(p.Grid.Speedups), func(s float64) bool { return s > a.Speedup })
}

// Expires returns when a plan that is put in force now ends.
func (a Allowed) Expires(p *Plan, now time.Time) time.Time {
	begins := now
	if p.NotBefore.After(now) {
		begins = p.NotBefore
	}
	if by := begins.Add(time.Duration(a.Life)); by.Before(p.ExpiresAt) {
		return by
	}
	return p.ExpiresAt
}
