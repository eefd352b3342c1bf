package causal

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/causal/internal/classes"
	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/causal/internal/requests"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/goroutine"
	"github.com/otelprof/otelprof/otelhdr"
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

// What the controllers of a process share, and what outlives them. It is the process's because a lock does not know which
// provider's spans its users are in: so there is one setting of the ledgers in force, that of an experiment, or none. What is written often stands
// apart from what each lock, channel and span of the application reads.
var (
	current atomic.Pointer[observation]     // what is observed now, nil for nothing
	frames  = spans.NewSlot[ledger.Frame]() // what spans have at hand
	books   ledgers

	watching sync.Mutex // held to replace current; a shard of books may be locked meanwhile, not the other way round
	watcher  any        // whose observation is in force
)

// observe puts an observation of a run in force, which may be nil, if no other run has one. It reports whether it did.
func observe(run any, o *observation) bool {
	watching.Lock()
	defer watching.Unlock()
	if watcher != nil && watcher != run {
		return false
	}
	watcher = run
	current.Store(o)
	return true
}

// unobserve ends what a run observes.
func unobserve(run any) {
	watching.Lock()
	defer watching.Unlock()
	if watcher == run {
		watcher = nil
		current.Store(nil)
	}
}

// unobserved drops all ledgers, unless a run observes something.
func unobserved() {
	watching.Lock()
	defer watching.Unlock()
	if watcher == nil {
		books.clear(clock.Now())
	}
}

// point returns the progress point that has the durations of a class.
func (o *observation) point(id ledger.RegionID) (int, bool) {
	if id < 0 || int(id) >= len(o.pointOf) || o.pointOf[id] < 0 {
		return 0, false
	}
	return int(o.pointOf[id]), true
}

// pointOfSpan returns the progress point that has the durations of spans that end as one class and were started as another.
func (o *observation) pointOfSpan(first, last *classes.Class) (int, bool) {
	if point, ok := o.point(last.ID); ok {
		return point, true
	}
	return o.point(first.ID)
}

// owner is the calling goroutine, as ledgers have it.
func owner() uint64 { return uint64(goroutine.Current()) }

// here returns what is observed and the ledger of the calling goroutine, nil if nothing is, or if there is no room for
// one.
func here() (*observation, *ledger.Ledger) {
	o := current.Load()
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
	parent, caller := frames.Get(r.Parent()), frames.Get(requests.CallerOf(r))
	if caller != nil {
		parent = caller
	}
	var l *ledger.Ledger
	if parent != nil && parent.Ledger().Owner == uint64(id) && !parent.Ledger().Gone() {
		l, parent = parent.Ledger(), nil
	} else {
		l = books.of(id, parent, o.setting, t)
	}
	if caller != nil && parent != nil {
		l.TakeOver(o.setting, t, caller)
	}
	c := classes.Of(r)
	_, timed := o.point(c.ID)
	timed = timed || c.MayBeRenamed()
	if l == nil {
		return // too many goroutines: the observation knows
	}
	frames.Set(r, l.Begin(o.setting, t, c.ID, parent, timed))
	l.Current.Store(r)
}

// endSpan books the end of a span and, at a progress point of latency, its duration. What is observed
// may have changed since the start, and o be nil.
func endSpan(o *observation, f *ledger.Frame, r *spans.Span) {
	t := clock.Now()
	l := f.Ledger()
	onlooker := l.Owner != owner()
	frames.Set(r, nil) // the ledger uses it for the next span
	if o == nil {
		f.End(nil, t, onlooker)
		return
	}
	defer o.contain()
	c := classes.Of(r)
	last := c.LastOf(r)
	if last != c && !onlooker {
		f.TurnsOut(o.setting, t, last.ID)
	}
	took := f.End(o.setting, t, onlooker)
	if onlooker {
		return
	}
	current := (*spans.Span)(nil)
	if p := frames.Get(r.Parent()); p != nil && p.Ledger() == l {
		current = r.Parent()
	}
	l.Current.Store(current)
	if point, ok := o.pointOfSpan(c, last); ok {
		took.RecordAt(o.setting, point)
	}
}

// latencies are the distributions of durations by progress point, nil where there are none.
func (o *observation) latencies() []*otelhdr.Snapshot {
	all := make([]*otelhdr.Snapshot, o.setting.Points())
	for point := range all {
		all[point] = o.setting.Latency(point)
	}
	return all
}

// contain is deferred where an observation is.
func (o *observation) contain() {
	if v := recover(); v != nil {
		o.panicked(v)
	}
}

// These wrappers recover from panics in the ledger, so that the application's lock or send always
// completes.

func (o *observation) arrive(l *ledger.Ledger, at int64) {
	defer o.contain()
	l.Arrive(o.setting, at)
}

func (o *observation) acquire(l *ledger.Ledger, at, got int64, left *ledger.Stamp) {
	defer o.contain()
	l.Acquire(o.setting, at, got, left)
}

func (o *observation) resume(l *ledger.Ledger, at, got int64) {
	defer o.contain()
	l.Resume(o.setting, at, got)
}

func (o *observation) stamp(l *ledger.Ledger, at int64, into *ledger.Stamp) {
	defer o.contain()
	l.Stamp(o.setting, at, into)
}
