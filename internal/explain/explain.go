// Package explain describes in plain words what a plan of causal experiments will do: what it
// delays, how long and at what cost at most. It carries out nothing.
package explain

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
)

// maxRegions is how many regions a plan examines at most.
const maxRegions = 64

// An Explanation describes what a plan will do in each process that it is for.
type Explanation struct {
	Plan *plan.Plan `json:"plan"`
	Hash string     `json:"hash"`
	// Begins and Lasts are the window, less what is over.
	Begins  time.Time `json:"begins"`
	LastsNs int64     `json:"lasts_ns"`
	// Regions is how many the plan examines if each of its patterns matches one.
	Regions int `json:"regions"`
	// Round is how many experiments it then takes to try everything once.
	Round int `json:"experiments_per_round"`
	// Most and Least are how many experiments fit, if work is done fast, and if each takes as long
	// as it may; the same of a plan by the clock.
	Most  int `json:"experiments_at_most"`
	Least int `json:"experiments_at_least"`
	// Limits are those in force beside the program's caps: the worst case.
	Limits plan.Limits `json:"limits"`
	// Breaker are the rules of the breaker that count: the stricter of the plan's and the caps.
	Breaker plan.Abort `json:"breaker"`
	// StretchPercent is by how much spans are made longer at most, in mode dilation.
	StretchPercent float64 `json:"stretch_percent,omitempty"`
	// Warnings are what may have been forgotten, in plain words.
	Warnings []string `json:"warnings"`

	caps Caps
	now  time.Time
}

// Caps are what programs allow, see [causal.WithExperiments], [causal.WithBreaker] and
// [causal.WithAllowed].
type Caps struct {
	Limits  plan.Limits
	Breaker plan.Abort
	Allowed plan.Allowed
}

// DefaultCaps are of a program that sets nothing else.
func DefaultCaps() Caps {
	return Caps{plan.DefaultLimits(), plan.DefaultBreaker(), plan.DefaultAllowed()}
}

// Plan explains a plan as it is now, for programs with these caps.
func Plan(p *plan.Plan, caps Caps, now time.Time) Explanation {
	e := Explanation{
		Plan: p, Hash: p.Hash(), Limits: p.Limits.Tighten(caps.Limits), Breaker: p.Abort.Tighten(caps.Breaker),
		Begins: p.NotBefore, Warnings: []string{}, caps: caps, now: now,
	}
	if e.Begins.Before(now) {
		e.Begins = now
	}
	lasts := caps.Allowed.Expires(p, now).Sub(e.Begins)
	e.LastsNs = int64(lasts)
	for _, r := range p.Regions {
		e.Regions += max(1, r.Auto)
	}
	e.Regions = min(e.Regions, maxRegions)
	e.Round = p.Round(e.Regions)
	measured := max(0, lasts-time.Duration(p.Timing.Warmup))
	e.Most = int(measured / time.Duration(p.Timing.Experiment+p.Timing.Cooloff))
	e.Least = int(measured / time.Duration(p.Timing.MaxExperiment+p.Timing.Cooloff))
	if p.ByClock() { // all rest for as long as that takes where a region is all of the time
		busy := p.Loss(p.Limits.Duty, 1) / p.Loss(1, 1)
		e.Most = int(busy * float64(measured) / float64(p.Timing.Epoch))
		e.Least = e.Most
	}
	if p.Mode == profile.ModeDilation {
		most := slices.Max(append(caps.Allowed.Speedups(p), 0)) / 100
		e.StretchPercent = math.Round(100 * most / (1 - most))
	}
	e.warn()
	return e
}

func (e *Explanation) warn() {
	p := e.Plan
	that := func(doubtful bool, format string, args ...any) {
		if doubtful {
			e.Warnings = append(e.Warnings, fmt.Sprintf(format, args...))
		}
	}
	why := e.caps.Allowed.Refuses(p)
	that(why != "", "programs with these caps refuse it: %s", why)
	that(p.Target.Service == "", "target.service is not set: every service that reads the plan runs it")
	that(p.Target.Instances.Percent == 0, "target.instances.percent is not set: all instances are delayed at the same time")
	that(p.Target.Instances.Percent == 100, "target.instances.percent is 100: all instances are delayed at the same time")
	that(p.Mode == profile.ModeDilation, "mode dilation touches all spans, those of the regions or not: at a speed-up of %g each takes %g%% longer", slices.Max(append(e.caps.Allowed.Speedups(p), 0)), e.StretchPercent)
	that(slices.ContainsFunc(p.Regions, func(r plan.RegionPattern) bool { return strings.Trim(r.Span, "*") == "" && r.Auto == 0 }),
		"regions: a pattern matches every span: up to %d regions share the time", maxRegions)
	that(time.Duration(e.LastsNs) > 30*time.Minute, "it lasts %v: tell the engineer on call", round(time.Duration(e.LastsNs)))
	that(e.Most < e.Round, "it is over before everything is tried once: that takes %d experiments, and %d fit at most", e.Round, e.Most)
	that(e.Most >= e.Round && e.Most < 6*e.Round, "a number takes 6 samples: everything can be tried %d times at most", e.Most/e.Round)
	that(p.Generation == 0, "generation is not set: nothing keeps an older plan from replacing this one")
	that(p.Author == "", "author is not set: the audit will not tell who asked")
	that(e.Breaker.P99Ratio > 2, "abort.p99_ratio %g: the breaker opens late", e.Breaker.P99Ratio)
	that(e.Breaker.ErrDelta > 0.05, "abort.err_delta %v: the breaker opens late", e.Breaker.ErrDelta)
}
