package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/otelprof/otelprof/causal"
)

// maxRegions is how many regions a plan examines at most.
const maxRegions = 64

// An explanation tells what a plan will do in each process that it is for.
type explanation struct {
	Plan *causal.Plan `json:"plan"`
	Hash string       `json:"hash"`
	// Begins and Lasts are the window, less what is over.
	Begins  time.Time `json:"begins"`
	LastsNs int64     `json:"lasts_ns"`
	// Regions is how many the plan examines if each of its patterns matches one.
	Regions int `json:"regions"`
	// Round is how many experiments it then takes to try everything once.
	Round int `json:"experiments_per_round"`
	// Most and Least are how many experiments fit, if work is done fast, and if each takes as long as it may.
	Most  int `json:"experiments_at_most"`
	Least int `json:"experiments_at_least"`
	// Limits are those in force beside the program's caps: the worst case.
	Limits causal.Limits `json:"limits"`
	// StretchPercent is by how much spans are made longer at most, in mode dilation.
	StretchPercent float64  `json:"stretch_percent,omitempty"`
	Warnings       []string `json:"warnings"`

	caps causal.Limits
	now  time.Time
}

func explain(p *causal.Plan, caps causal.Limits, now time.Time) explanation {
	e := explanation{Plan: p, Hash: p.Hash(), Limits: p.Limits.Tighten(caps), Begins: p.NotBefore, Warnings: []string{}, caps: caps, now: now}
	if e.Begins.Before(now) {
		e.Begins = now
	}
	lasts := p.ExpiresAt.Sub(e.Begins)
	e.LastsNs = int64(lasts)
	for _, r := range p.Regions {
		e.Regions += max(1, r.Auto)
	}
	e.Regions = min(e.Regions, maxRegions)
	e.Round = roundOf(p, e.Regions)
	measured := max(0, lasts-time.Duration(p.Timing.Warmup))
	e.Most = int(measured / time.Duration(p.Timing.Experiment+p.Timing.Cooloff))
	e.Least = int(measured / time.Duration(p.Timing.MaxExperiment+p.Timing.Cooloff))
	if p.Mode == causal.ModeDilation {
		most := slices.Max(p.Grid.Speedups) / 100
		e.StretchPercent = math.Round(100 * most / (1 - most))
	}
	e.warn()
	return e
}

// roundOf counts the experiments that try each region at each speed-up once, those without delay
// included, as docs/plans.md tells.
func roundOf(p *causal.Plan, regions int) int {
	delayed := 0
	for _, s := range p.Grid.Speedups {
		switch {
		case s == 0:
		case p.Mode == causal.ModeDilation:
			delayed += regions + 1
		default:
			delayed += regions
		}
	}
	weight := p.Grid.ZeroWeight
	zeros := int(math.Round(float64(delayed) * weight / (1 - weight)))
	if p.Mode == causal.ModeDilation {
		return delayed + max(1, zeros)
	}
	return delayed + max((delayed+1)/2, zeros)
}

func (e *explanation) warn() {
	p := e.Plan
	that := func(doubtful bool, format string, args ...any) {
		if doubtful {
			e.Warnings = append(e.Warnings, fmt.Sprintf(format, args...))
		}
	}
	that(p.Target.Service == "", "target.service is not set: every service that reads the plan runs it")
	that(p.Target.Instances.Percent == 0 || p.Target.Instances.Percent == 100, "target.instances.percent is not set: all instances are delayed at the same time")
	that(p.Mode == causal.ModeDilation, "mode dilation touches all spans, those of the regions or not: at a speed-up of %g each takes %g%% longer", slices.Max(p.Grid.Speedups), e.StretchPercent)
	that(slices.ContainsFunc(p.Regions, func(r causal.RegionPattern) bool { return strings.Trim(r.Span, "*") == "" && r.Auto == 0 }),
		"regions: a pattern matches every span: up to %d regions share the time", maxRegions)
	that(time.Duration(e.LastsNs) > 30*time.Minute, "it lasts %v: who is on call should know", round(time.Duration(e.LastsNs)))
	that(e.Most < e.Round, "it is over before everything is tried once: that takes %d experiments, and %d fit at most", e.Round, e.Most)
	that(e.Most >= e.Round && e.Most < 6*e.Round, "a number takes 6 samples: everything can be tried %d times at most", e.Most/e.Round)
	that(p.Generation == 0, "generation is not set: nothing keeps an older plan from replacing this one")
	that(p.Author == "", "author is not set: the audit will not tell who asked")
	that(p.Abort.P99Ratio > 2, "abort.p99_ratio %g: the breaker opens late", p.Abort.P99Ratio)
	that(p.Abort.ErrDelta > 0.05, "abort.err_delta %v: the breaker opens late", p.Abort.ErrDelta)
}

// write prints the explanation in plain words.
func (e explanation) write(w io.Writer) error {
	p, l := e.Plan, e.Limits
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(title, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", title, fmt.Sprintf(format, args...))
	}

	line("plan", "%s, generation %d%s", p.ID, p.Generation, said(", by ", p.Author)+said(": ", p.Reason))
	line("", "SHA-256 %s", e.Hash)
	line("who", "%s", e.who())
	for i, r := range p.Regions {
		line(titled(i, "examines"), "%s", regionText(r))
	}
	for i, r := range p.Progress {
		line(titled(i, "measures"), "%s", progressText(r))
	}
	line("how", "%s", e.how())
	line("", "speed-ups of %s", joined(p.Grid.Speedups, "%g%%"))
	line("when", "from %s to %s, %v", e.from(), p.ExpiresAt.UTC().Format(time.RFC3339), round(time.Duration(e.LastsNs)))
	line("experiments", "%d to %d fit: each takes %v to %v and %v between two", e.Least, e.Most, p.Timing.Experiment, p.Timing.MaxExperiment, p.Timing.Cooloff)
	line("", "%d try everything once, if each entry of regions and auto finds its regions: %d", e.Round, e.Regions)
	line("costs", "at most, in each process:")
	line("", "%v at the end of one span%s", l.PerSpan, tightened(p.Limits.PerSpan > e.caps.PerSpan, p.Limits.PerSpan))
	line("", "%v in one session%s", l.PerTrace, tightened(p.Limits.PerTrace > e.caps.PerTrace, p.Limits.PerTrace))
	line("", "%v per second and processor%s", perSecond(l.Duty), tightened(p.Limits.Duty > e.caps.Duty, p.Limits.Duty))
	line("", "%v altogether%s, on one processor not before %v", l.Total, tightened(p.Limits.Total > e.caps.Total, p.Limits.Total), e.spentAfter())
	line("stops", "for good when the 99th percentile of requests is %g times what it was%s,", p.Abort.P99Ratio, orAbove(p.Abort.P99))
	line("", "or %s more of them fail: over %v, from %d requests on", p.Abort.ErrDelta, p.Abort.Window, p.Abort.MinSamples)
	line("", "at its end, when %v are spent, when its source is silent three times,", l.Total)
	line("", "when another plan or one that is not valid comes, and by otelprof plan stop")
	for i, text := range e.Warnings {
		line(titled(i, "warnings"), "%s", text)
	}
	return t.Flush()
}

func titled(i int, title string) string {
	if i > 0 {
		return ""
	}
	return title
}

func said(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

func (e explanation) who() string {
	t := e.Plan.Target
	who := "every process that reads it"
	if t.Service != "" {
		who = "service " + t.Service
	}
	if t.Env != "" {
		who += " in environment " + t.Env
	}
	if share := t.Instances.Percent; share > 0 && share < 100 {
		return fmt.Sprintf("%g%% of the instances of %s, chosen by the plan's id", share, who)
	}
	return who
}

func regionText(r causal.RegionPattern) string {
	in := said(" of scope ", r.Scope)
	if r.Auto > 0 {
		return fmt.Sprintf("the %d regions%s with the most self time that no other entry selects", r.Auto, in)
	}
	return fmt.Sprintf("spans %s%s", r.Span, in)
}

func progressText(r causal.ProgressPoint) string {
	if r.Type != causal.TypeLatency {
		return "how often spans " + r.Span + " end"
	}
	quantiles := r.Quantiles
	if len(quantiles) == 0 {
		quantiles = []float64{50, 90, 99}
	}
	return fmt.Sprintf("how long spans %s take, at the percentiles %s", r.Span, joined(quantiles, "%g"))
}

func (e explanation) how() string {
	if e.Plan.Mode == causal.ModeDilation {
		return fmt.Sprintf("dilation: all spans but those of one region are made longer by up to %g%% of their self time", e.StretchPercent)
	}
	return "overlap: while a region's span is open all others are delayed by what it would save"
}

func (e explanation) from() string {
	if e.Begins.Equal(e.now) {
		return "now"
	}
	return e.Begins.UTC().Format(time.RFC3339)
}

// spentAfter is how long it takes to spend everything at the full rate of one processor. A second's
// worth may be spent at once.
func (e explanation) spentAfter() time.Duration {
	return round(time.Duration(max(0, float64(e.Limits.Total)/float64(e.Limits.Duty)-float64(time.Second))))
}

func perSecond(duty causal.Percent) time.Duration {
	return time.Duration(float64(duty) * float64(time.Second))
}

func tightened(is bool, asked fmt.Stringer) string {
	if !is {
		return ""
	}
	return fmt.Sprintf(" (the plan asks for %v: the cap counts)", asked)
}

func orAbove(p99 causal.Duration) string {
	if p99 == 0 {
		return ""
	}
	return fmt.Sprintf(" or above %v", p99)
}

func joined(values []float64, format string) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, fmt.Sprintf(format, v))
	}
	return strings.Join(texts, ", ")
}

func round(d time.Duration) time.Duration { return d.Round(time.Second) }
