package fleet

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
)

// The causal metrics as Prometheus calls them, with its default translation of names.
const (
	promProgress   = "otelprof_causal_progress_total"
	promEffective  = "otelprof_causal_effective_time_seconds_total"
	promDelay      = "otelprof_causal_delay_seconds_total"
	promDelays     = "otelprof_causal_delays_total"
	promOwn        = "otelprof_causal_own_time_seconds_total"
	promLatency    = "otelprof_causal_latency_seconds"
	promEffect     = "otelprof_causal_effect_ratio"
	promEffectLow  = "otelprof_causal_effect_low_ratio"
	promEffectHigh = "otelprof_causal_effect_high_ratio"
	promWaits      = "otelprof_causal_waits_ratio"

	promMode     = "otelprof_causal_mode"
	promPlan     = "otelprof_causal_plan_hash"
	promPoint    = "otelprof_causal_progress_point"
	promSpeedup  = "otelprof_causal_speedup"
	promMetric   = "otelprof_causal_metric"
	promWait     = "otelprof_causal_wait"
	promRegion   = "otelprof_region_name"
	promScope    = "otelprof_region_scope"
	promInstance = "instance"
)

// Profile makes a profile of what the instances of a program have exported: effects are as the
// instances have computed themselves, tallies the sums of theirs. Of several plans it is of the one
// that was heard of last. It asks some queries, one after the other, until ctx ends. An error names
// what is missing, or has Prometheus's own words.
func (s Prometheus) Profile(ctx context.Context) (profile.Profile, error) {
	names := strings.Join([]string{promProgress, promEffective, promDelay, promDelays, promOwn, promEffect, promEffectLow, promEffectHigh, promWaits}, "|")
	all, err := s.query(ctx, s.selector(`__name__=~"`+names+`"`), "vector")
	if err != nil {
		return profile.Profile{}, err
	}
	if len(all) == 0 {
		return profile.Profile{}, fmt.Errorf("no series %s: must have been exported in the 5 minutes before; -at looks further back", s.selector(`__name__=~"otelprof_causal_.*"`))
	}
	newest, err := s.query(ctx, "timestamp("+s.selector(`__name__="`+promProgress+`",`+promPlan+`!=""`)+")", "vector")
	if err != nil {
		return profile.Profile{}, err
	}
	b := newProfileBuilder(newest)
	for _, one := range all {
		if err := b.add(one); err != nil {
			return profile.Profile{}, err
		}
	}
	if err := s.histories(ctx, b, all); err != nil {
		return profile.Profile{}, err
	}
	for _, metric := range b.latencies() {
		if err := s.latencyBases(ctx, b, metric); err != nil {
			return profile.Profile{}, err
		}
	}
	return b.profile()
}

// latencyBases asks for a quantile of the latencies with nothing changed.
func (s Prometheus) latencyBases(ctx context.Context, b *profileBuilder, metric profile.Metric) error {
	percent, err := strconv.ParseFloat(strings.TrimPrefix(string(metric), "latency_p"), 64)
	if err != nil || percent < 0 || percent > 100 {
		return fmt.Errorf("label %s=%q: must be throughput or latency_p and a percentage", promMetric, metric)
	}
	answer, err := s.query(ctx, fmt.Sprintf("histogram_quantile(%g, sum by (%s, %s, %s) (%s))",
		percent/100, promMode, promPoint, promPlan, s.selector(`__name__="`+promLatency+`",`+promSpeedup+`="0"`)), "vector")
	if err != nil {
		return err
	}
	for _, one := range answer {
		if b.ofPlan(one) && isFinite(one.value) {
			b.bases[cell{mode: profile.Mode(one.labels[promMode]), progress: one.labels[promPoint], metric: metric}] = seconds(one.value)
		}
	}
	return nil
}

// A cell is what one number is about. Of tallies the metric is empty, of bases the region and the
// speed-up.
type cell struct {
	mode     profile.Mode
	region   profile.Region
	progress string
	speedup  float64
	metric   profile.Metric
}

// An interval is of an effect, from one instance.
type interval struct {
	instance      string
	value, lo, hi float64
}

// A profileBuilder puts series together.
type profileBuilder struct {
	plan      string
	others    []string // plans left out
	tallies   map[cell]*profile.Tally
	effects   map[cell][]*interval
	bases     map[cell]time.Duration
	histories map[cell]map[string]map[float64]history // of slow-downs, by region and progress point, instance and level
	waits     map[profile.Region]map[string]float64   // the most that an instance has, by kind
	left      []string                                // instances of which the histories were not asked for
}

func newProfileBuilder(newest []promSeries) *profileBuilder {
	b := &profileBuilder{
		tallies:   map[cell]*profile.Tally{},
		effects:   map[cell][]*interval{},
		bases:     map[cell]time.Duration{},
		histories: map[cell]map[string]map[float64]history{},
		waits:     map[profile.Region]map[string]float64{},
	}
	b.choosePlan(newest)
	return b
}

// choosePlan takes the plan that was heard of last, from the times of the latest samples.
func (b *profileBuilder) choosePlan(newest []promSeries) {
	latest := map[string]float64{}
	for _, one := range newest {
		plan := one.labels[promPlan]
		latest[plan] = max(latest[plan], one.value)
	}
	for plan, at := range latest {
		if b.plan == "" || at > latest[b.plan] || at == latest[b.plan] && plan < b.plan {
			b.plan = plan
		}
	}
	for plan := range latest {
		if plan != b.plan {
			b.others = append(b.others, plan)
		}
	}
	slices.Sort(b.others)
}

// ofPlan reports whether a series is of the plan, or of a mode that has none.
func (b *profileBuilder) ofPlan(s promSeries) bool {
	plan := s.labels[promPlan]
	return plan == "" || plan == b.plan
}

func (b *profileBuilder) add(s promSeries) error {
	if !b.ofPlan(s) {
		return nil
	}
	if s.labels["__name__"] == promWaits {
		of := s.region()
		if b.waits[of] == nil {
			b.waits[of] = map[string]float64{}
		}
		kind, part := s.labels[promWait], s.value
		if kind != "served" || math.IsInf(part, 0) { // that is a multiple
			part = min(part, 1)
		}
		if part > b.waits[of][kind] {
			b.waits[of][kind] = part
		}
		return nil
	}
	c, err := s.cell()
	if err != nil {
		return err
	}
	if err := s.counted(s.value); err != nil {
		return err
	}
	switch s.labels["__name__"] {
	case promProgress:
		b.tally(c).Visits += uint64(s.value)
	case promEffective:
		b.tally(c).Effective += seconds(s.value)
	case promDelay:
		b.tally(c).Delay += seconds(s.value)
	case promDelays:
		b.tally(c).Delays += uint64(s.value)
	case promOwn:
		b.tally(c).Own += seconds(s.value)
	case promEffect:
		b.effect(c, s).value = s.value
	case promEffectLow:
		b.effect(c, s).lo = s.value
	case promEffectHigh:
		b.effect(c, s).hi = s.value
	}
	return nil
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func seconds(v float64) time.Duration { return time.Duration(math.Round(v * float64(time.Second))) }

func (b *profileBuilder) tally(c cell) *profile.Tally {
	if b.tallies[c] == nil {
		b.tallies[c] = &profile.Tally{Mode: c.mode, Region: c.region, Speedup: c.speedup, Progress: c.progress}
	}
	return b.tallies[c]
}

func (b *profileBuilder) effect(c cell, s promSeries) *interval {
	instance := s.instance()
	for _, e := range b.effects[c] {
		if e.instance == instance {
			return e
		}
	}
	e := &interval{instance: instance, lo: math.Inf(-1), hi: math.Inf(1)}
	b.effects[c] = append(b.effects[c], e)
	return e
}

// latencies are the metrics of the effects but throughput.
func (b *profileBuilder) latencies() (list []profile.Metric) {
	for c := range b.effects {
		if c.metric != profile.MetricThroughput && !slices.Contains(list, c.metric) {
			list = append(list, c.metric)
		}
	}
	return list
}

// notes say what the profile lacks.
func (b *profileBuilder) notes() []string {
	notes := []string{"from metrics: numbers of samples and reasons for withheld effects are not among them"}
	for _, plan := range b.others {
		notes = append(notes, fmt.Sprintf("plan %.12s, heard of earlier, is left out", plan))
	}
	if n := len(b.left); n > 0 {
		names := strings.Join(b.left[:min(n, 5)], ", ")
		if n > 5 {
			names += ", …"
		}
		notes = append(notes, fmt.Sprintf("how the counters of %d instances rose is left out, beyond %d series of one and %d in all: %s; -match asks for fewer",
			n, pageSeries, mostSeries, names))
	}
	return notes
}

// profile goes by way of the saved form, whose reader checks all values and draws the conclusions.
func (b *profileBuilder) profile() (profile.Profile, error) {
	p := profile.Profile{PlanHash: b.plan, PlanID: b.plan[:min(len(b.plan), 12)]}
	p.Notes = b.notes()
	delays := map[string]time.Duration{} // of each progress point, which all see the same
	still := map[cell]counts{}
	for _, t := range b.tallies {
		p.Tallies = append(p.Tallies, *t)
		if t.Mode.Delays() {
			p.Mode = t.Mode
			delays[t.Progress] += t.Delay
			p.Delay = max(p.Delay, delays[t.Progress])
		}
		if t.Speedup == 0 { // of any region
			sum := still[cell{mode: t.Mode, progress: t.Progress, metric: profile.MetricThroughput}]
			sum.visits += float64(t.Visits)
			sum.effective += t.Effective.Seconds()
			still[cell{mode: t.Mode, progress: t.Progress, metric: profile.MetricThroughput}] = sum
		}
	}
	for c, sum := range still {
		if sum.visits > 0 {
			b.bases[c] = seconds(sum.effective / sum.visits)
		}
	}
	slices.SortFunc(p.Tallies, func(a, b profile.Tally) int {
		return cmp.Or(cmp.Compare(a.Mode, b.Mode), cmp.Compare(a.Progress, b.Progress),
			cmp.Compare(a.Region.Name, b.Region.Name), cmp.Compare(a.Region.Scope, b.Region.Scope), cmp.Compare(a.Speedup, b.Speedup))
	})
	curves := map[cell]*profile.Curve{}
	curve := func(c cell) *profile.Curve {
		c.speedup = 0
		if curves[c] == nil {
			curves[c] = &profile.Curve{
				Mode: c.mode, Region: c.region, Progress: c.progress, Metric: c.metric,
				BasePeriod: b.bases[cell{mode: c.mode, progress: c.progress, metric: c.metric}],
			}
		}
		return curves[c]
	}
	for c, parts := range b.effects {
		curve(c).Effects = append(curve(c).Effects, pooled(c, parts))
	}
	for c, byInstance := range b.histories {
		slopesOf(byInstance).setOn(curve(c), b.waits[c.region])
	}
	for _, c := range curves {
		p.Curves = append(p.Curves, *c)
	}
	profile.WidenByOthers(p.Curves)
	var saved bytes.Buffer
	if err := p.WriteJSON(&saved); err != nil {
		return profile.Profile{}, err
	}
	return profile.Read(&saved)
}

// pooled is the mean of what the instances say, weighted by the inverse squares of their intervals.
// So is that of the bounds, which more instances do not bring closer: the model errs in each alike.
// Where instances contradict each other, it is the whole range.
func pooled(c cell, parts []*interval) profile.Effect {
	known := slices.DeleteFunc(slices.Clone(parts), func(x *interval) bool {
		return !isFinite(x.value + x.hi - x.lo) // a bound has not arrived
	})
	e := profile.Effect{Speedup: c.speedup}
	if len(known) == 0 {
		e.Withheld = profile.Withheld{Code: withheldcode.Bounds}
		return e
	}
	e.Bounded = c.mode == profile.ModeSlowdown && c.speedup > profile.Near
	if len(known) == 1 {
		e.Reduction, e.Lo, e.Hi = known[0].value, known[0].lo, known[0].hi
		return e
	}
	var weights float64
	for _, x := range known {
		half := max((x.hi-x.lo)/2, 1e-9)
		w := 1 / (half * half)
		weights += w
		e.Reduction, e.Lo, e.Hi = e.Reduction+w*x.value, e.Lo+w*x.lo, e.Hi+w*x.hi
	}
	e.Reduction, e.Lo, e.Hi = e.Reduction/weights, e.Lo/weights, e.Hi/weights
	byLo := func(a, b *interval) int { return cmp.Compare(a.lo, b.lo) }
	byHi := func(a, b *interval) int { return cmp.Compare(a.hi, b.hi) }
	if slices.MaxFunc(known, byLo).lo > slices.MinFunc(known, byHi).hi {
		e.Lo, e.Hi = slices.MinFunc(known, byLo).lo, slices.MaxFunc(known, byHi).hi
		e.Warnings = []string{fmt.Sprintf("instances differ about %s by more than their intervals", c.region)}
	}
	return e
}
