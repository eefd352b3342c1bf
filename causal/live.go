package causal

import (
	"time"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/goroutine"
	"github.com/otelprof/otelprof/spans"
)

// An observation is a setting of the ledgers, and what it means to spans.
type observation struct {
	setting *ledger.Setting
	// pointOf are the progress points of latency by the class whose durations they have, -1 for none.
	pointOf []int8
	// pay makes the goroutine make up for its debt, in the region, nil if debts are not paid. It
	// returns the delay.
	pay func(l *ledger.Ledger, r *spans.Span) int64
	// panicked takes the value of a recovered panic.
	panicked func(value any)
}

// point returns the progress point that has the durations of a class.
func (o *observation) point(id ledger.RegionID) (int, bool) {
	if id < 0 || int(id) >= len(o.pointOf) || o.pointOf[id] < 0 {
		return 0, false
	}
	return int(o.pointOf[id]), true
}

// pointOfSpan returns the progress point that has the durations of spans that end as one class and were started as another.
func (o *observation) pointOfSpan(first, last *class) (int, bool) {
	if point, ok := o.point(last.id); ok {
		return point, true
	}
	return o.point(first.id)
}

// owner is the calling goroutine, as ledgers have it.
func owner() uint64 { return uint64(goroutine.Current()) }

// here returns what is observed and the ledger of the calling goroutine, nil if nothing is, or if there is no room for
// one.
func here() (*observation, *ledger.Ledger) {
	o := live.observation.Load()
	if o == nil {
		return nil, nil
	}
	return o, o.ledger()
}

// payNow pays what the goroutine owes where no span ends, as far as it is known in which
// region that is.
func (o *observation) payNow(l *ledger.Ledger) {
	if o.pay == nil || l == nil {
		return
	}
	r, ok := l.Current.Load().(*spans.Span)
	if !ok || r == nil {
		return
	}
	defer o.contain()
	r.BeginWait()
	defer r.EndWait()
	r.AddDelay(time.Duration(o.pay(l, r)))
}

// startSpan books the start of a span.
func (o *observation) startSpan(r *spans.Span) {
	defer o.contain()
	t := clock.Now()
	id := goroutine.Current()
	parent, caller := live.frame.Get(r.Parent()), live.frame.Get(callerOf(r))
	if caller != nil {
		parent = caller
	}
	var l *ledger.Ledger
	if parent != nil && parent.Ledger().Owner == uint64(id) && !parent.Ledger().Gone() {
		l, parent = parent.Ledger(), nil
	} else {
		l = live.ledgers.of(id, parent, o.setting, t)
	}
	if caller != nil && parent != nil {
		l.TakeOver(o.setting, t, caller)
	}
	c := classOf(r)
	_, timed := o.point(c.id)
	timed = timed || c.mayBeRenamed()
	if l == nil {
		return // too many goroutines: the observation knows
	}
	live.frame.Set(r, l.Begin(o.setting, t, c.id, parent, timed))
	l.Current.Store(r)
}

// endSpan books the end of a span and, at a progress point of latency, its duration. What is observed
// may have changed since the start, and o be nil.
func endSpan(o *observation, f *ledger.Frame, r *spans.Span) {
	t := clock.Now()
	l := f.Ledger()
	onlooker := l.Owner != owner()
	live.frame.Set(r, nil) // the ledger uses it for the next span
	if o == nil {
		f.End(nil, t, onlooker)
		return
	}
	defer o.contain()
	c := classOf(r)
	last := c.lastOf(r)
	if last != c && !onlooker {
		f.TurnsOut(o.setting, t, last.id)
	}
	took := f.End(o.setting, t, onlooker)
	if onlooker {
		return
	}
	current := (*spans.Span)(nil)
	if p := live.frame.Get(r.Parent()); p != nil && p.Ledger() == l {
		current = r.Parent()
	}
	l.Current.Store(current)
	if point, ok := o.pointOfSpan(c, last); ok {
		took.RecordAt(o.setting, point)
	}
}
