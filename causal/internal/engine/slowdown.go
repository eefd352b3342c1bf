package engine

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/internal/engine/admission"
	"github.com/otelprof/otelprof/causal/internal/engine/classes"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/spans"
)

// A slowdown holds each goroutine that ends a span of one region for a part of the span's own time.
// Nothing need be known of locks, channels, processors or other processes: what the delay costs is
// measured, at the progress points.
//
// The time is taken by computing and by sleeping in the proportion in which the region itself
// computes and waits: a region that computes costs others a processor. What is too short to be
// slept or to be computed is owed, until it is long enough; what was taken too long is taken off
// the next. So the sum is what it should be, and few goroutines wake up.
type slowdown struct {
	still
	run     *Run
	region  int
	class   *classes.Class
	before  classes.Usage // when what is measured began, and what had been taken by then, ns
	marked  int64
	placebo bool    // all rules are asked as often, and no time is taken
	self    float64 // of a span in the mean, ns

	compute, sleep owed
	inserted       atomic.Int64 // number of delays
	taken          atomic.Int64 // ns
}

// owed is time that spans of a region have still to be held for, ns.
type owed struct {
	each  float64 // for each span in the mean
	least int64   // that is worth it
	most  int64   // in one span
	sum   atomic.Int64
}

// due adds what a span owes that takes so many times as long as the mean, the longest hold at most,
// and returns how long to hold it.
func (o *owed) due(times float64) int64 {
	if o.each <= 0 {
		return 0
	}
	for sum := o.sum.Add(int64(min(o.each*times, float64(o.most)))); sum >= o.least; sum = o.sum.Load() {
		want := min(sum, o.most)
		if o.sum.CompareAndSwap(sum, sum-want) {
			return want
		}
	}
	return 0
}

// within is what of a hold has room in so much. The rest is owed again, for one more span at most.
func (o *owed) within(room, want int64) int64 {
	if room < o.least {
		room = 0
	}
	over := max(0, want-room)
	if o.sum.Load() < o.most {
		o.sum.Add(over)
	}
	return want - over
}

func (run *Run) newSlowdown(a experiment.Arm) *slowdown {
	key := run.Seen()[a.Spared]
	v := &slowdown{run: run, region: a.Spared, class: classes.Intern(key), placebo: a.Speedup == 0}
	v.Mark()
	work := run.workOf(key)
	level := min(a.Speedup, slices.Max(run.Grid)/100)
	if v.placebo {
		level = design.SlowdownLevels[0]
	}
	if run.idle {
		level = 0
	}
	each := run.affordable(a.Spared, level*work.own)
	most := run.longestHold()
	v.self = work.self
	v.compute = owed{each: each * work.computing, least: design.LeastComputed, most: most}
	v.sleep = owed{each: each * (1 - work.computing), least: min(design.LeastSlept, most), most: most}
	if v.placebo {
		v.compute.each = 0
	}
	return v
}

// longestHold is for how long the end of one span may be held, ns.
func (run *Run) longestHold() int64 {
	return int64(min(run.Guard.Limits.PerSpan, run.Guard.Limits.PerTrace))
}

// affordable is what each span of a region may be held for, ns, so that the plan's limits do not
// end the delays of a window before its end, and local roots become longer by half of what opens
// the breaker at most.
func (run *Run) affordable(region int, each float64) float64 {
	limits := &run.Guard.Limits
	each = min(each, design.Affordable*float64(run.longestHold()))
	c, elapsed := classes.Intern(run.Seen()[region]), time.Since(run.Started)
	spans := float64(c.Count.Load() - run.before[c].Count)
	if spans <= 0 {
		return each
	}
	duty := admission.DutyRate(limits.Duty, run.processors) * float64(elapsed)
	longer := (run.Breaker.Rules.P99Ratio - 1) / 2 * float64(run.rooted.Load())
	return min(each, design.Affordable*duty/spans, longer/spans)
}

// AtEnd implements Influence.
func (v *slowdown) AtEnd(_ *ledger.Frame, r *spans.Span, region int) time.Duration {
	if region != v.region {
		return 0
	}
	times, spent := 1.0, time.Duration(0)
	if v.self > 0 {
		times = float64(r.SelfTime()) / v.self
	}
	if want := v.compute.due(times); want > 0 {
		spent = v.hold(r, &v.compute, want, 0, v.run.Compute)
	}
	if want := v.sleep.within(v.sleep.most-int64(spent), v.sleep.due(times)); want > 0 {
		if v.placebo {
			want = 1
		}
		spent += v.hold(r, &v.sleep, want, spent, v.run.Sleep)
	}
	return spent
}

func (v *slowdown) hold(r *spans.Span, o *owed, want int64, before time.Duration, by wait) time.Duration {
	began := clock.Now()
	spent := v.run.insert(r, time.Duration(want), before, by, func() bool { return v.run.has(v) })
	if spent <= 0 {
		return 0
	}
	if !v.placebo {
		o.sum.Add(want - int64(spent))
	}
	v.inserted.Add(1)
	// Who comes back late, for want of a processor, was held for that long: a region that took
	// longer would have waited for one once, not twice.
	v.taken.Add(int64(spent) + asking(began, spent))
	return spent
}

// Delays implements Influence.
func (v *slowdown) Delays() int64 { return v.inserted.Load() }

// Latencies implements Influence.
func (v *slowdown) Latencies() []*otelhdr.Snapshot { return v.run.durations.snapshots() }

// asking is what it took to ask all rules for a delay, which the caller is held for as well; 0 if
// others had the processor meanwhile.
func asking(began int64, spent time.Duration) int64 {
	if took := clock.Now() - began - int64(spent); took < clock.Gap {
		return took
	}
	return 0
}

// Mark implements Influence.
func (v *slowdown) Mark() { v.before, v.marked = v.class.Usage(), v.taken.Load() }

// Look implements Influence.
func (v *slowdown) Look(e *experiment.Experiment) {
	v.class.Ran(e, v.before)
	e.Own = time.Duration(float64(e.Ends) * v.run.workOf(v.class.Key).own)
	e.Taken = time.Duration(v.taken.Load() - v.marked)
}

// durations are those of the spans at progress points of type latency, delays below them included;
// nil where there are none.
type durations []*otelhdr.Concurrent

func (d durations) record(point int, r *spans.Span) {
	if point < len(d) && d[point] != nil {
		d[point].Record(uint64(r.Duration()))
	}
}

func (d durations) snapshots() []*otelhdr.Snapshot {
	all := make([]*otelhdr.Snapshot, len(d))
	for i, h := range d {
		if h != nil {
			all[i] = h.Snapshot(nil)
		}
	}
	return all
}
