package engine

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/admission"
	"github.com/otelprof/otelprof/causal/internal/engine/classes"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/internal/engine/virtualtime"
	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/spans"
)

// An Overlap is the experiment that Coz calls virtual speedup: all other goroutines are delayed by
// what a region would save if it were faster. In the time that is left after the delays, the
// program behaves as with the faster region. What goroutines owe and what a wait for another
// goroutine pays of it is in package ledger; here is how it is paid.
type Overlap struct {
	still
	run         *Run
	Region      *classes.Class
	before      classes.Usage // of the region
	Observation *virtualtime.Observation
	Payers      atomic.Int32
	waited      time.Duration // for locks of package sync, before it
	Inserted    atomic.Int64  // number of delays
	unable      atomic.Int64  // times that a delay could not be inserted in the way it must be
}

// NewOverlap makes what an arm of mode overlap does.
func (run *Run) NewOverlap(a experiment.Arm) (*Overlap, error) {
	region := classes.Intern(run.Seen()[a.Spared])
	setting, err := ledger.NewPaidSetting(ledger.Hypothesis{Region: region.ID, Speedup: a.Speedup}, len(run.Plan.Progress))
	if err != nil {
		return nil, err
	}
	v := &Overlap{run: run, Region: region, before: region.Usage(), Observation: run.observes(setting), waited: mutexWait()}
	v.Observation.Pay = v.pay
	return v, nil
}

// Bounds on the ways to pay. A sleep takes about 25 µs longer than asked, which the next debt
// makes up for; where the clock is not precise it takes a millisecond.
const (
	longestSpin   = time.Millisecond
	shortestSleep = 100 * time.Microsecond
)

// AtEnd pays at the end of a span what its goroutine owes.
func (v *Overlap) AtEnd(f *ledger.Frame, r *spans.Span, _ int) time.Duration {
	if f == nil || f.Ledger().Owner != virtualtime.Owner() {
		return 0
	}
	return time.Duration(v.pay(f.Ledger(), r))
}

// pay makes the calling goroutine, whose ledger l is, pay what it owes, in the region. It
// returns the delay, in ns.
func (v *Overlap) pay(l *ledger.Ledger, r *spans.Span) int64 {
	perSpan := time.Duration(v.run.Guard.Limits.PerSpan)
	paid := time.Duration(0)
	l.Pay(v.Observation.Setting, clock.Now, func(debt int64) int64 {
		want := min(time.Duration(debt), perSpan-paid)
		if want <= 0 {
			v.run.Guard.Withhold(admission.RulePerSpan)
			return 0
		}
		by := v.way(want)
		if by == nil {
			v.unable.Add(1)
			return 0
		}
		v.Payers.Add(1)
		took := v.run.insert(r, want, paid, by, func() bool { return v.run.has(v) })
		v.Payers.Add(-1)
		if took > 0 {
			v.Inserted.Add(1)
		}
		paid += took
		return int64(took)
	})
	return int64(paid)
}

// way chooses how to let want pass, nil for not at all. Sleeping is right as long as no goroutine
// runs only because of it. Spinning takes a processor from goroutines that work, so it is for
// delays too short to sleep, and for as many as there are processors. Where goroutines wait for a
// processor neither is right.
func (v *Overlap) way(want time.Duration) wait {
	switch {
	case !v.run.Load.idle():
		return nil
	case want >= shortestSleep && clock.Precise, want >= longestSpin:
		return v.run.Sleep
	case int(v.Payers.Load()) < processors():
		return v.run.Spin
	}
	return nil
}

// Delays implements Influence.
func (v *Overlap) Delays() int64 { return v.Inserted.Load() }

// GrowthAt implements Influence.
func (v *Overlap) GrowthAt(now int64) int64 { return v.Observation.Setting.Growth().At(now) }

// Latencies implements Influence.
func (v *Overlap) Latencies() []*otelhdr.Snapshot { return v.Observation.Latencies() }

// Look implements Influence.
func (v *Overlap) Look(e *experiment.Experiment) {
	s := v.Observation.Setting
	v.Region.Ran(e, v.before)
	e.Counts = s.Counts()
	e.Locks = mutexWait() - v.waited
	e.Residual = time.Duration(e.Counts.Left / max(1, e.Counts.Pays))
	delays, unable := v.Inserted.Load(), v.unable.Load()
	if e.Spoiled == "" && e.Counts.Lost > 0 {
		e.Spoiled = fmt.Sprintf("what %s did could not be booked: more than %d goroutines with spans, or spans of the region that never end", naming.Count(int(e.Counts.Lost), "goroutine"), virtualtime.MostLedgers)
	}
	if e.Spoiled == "" && float64(unable) > maxUnable*float64(delays+unable) {
		e.Spoiled = fmt.Sprintf("processors were short: %d of %d delays could not be inserted", unable, delays+unable)
	}
}

// maxUnable is the share of debts that may be carried because there was no way to pay them. It
// is generous: small debts are paid together with the next.
const maxUnable = 0.5
