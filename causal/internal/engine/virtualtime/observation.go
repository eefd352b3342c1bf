package virtualtime

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/classes"
	"github.com/otelprof/otelprof/causal/internal/engine/requests"
	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/goroutine"
	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/spans"
)

// An Observation is a setting of the ledgers, and what it means to spans.
type Observation struct {
	Setting *ledger.Setting
	// PointOf are the progress points of latency by the class whose durations they have, -1 for
	// none.
	PointOf []int8
	// Pay makes the goroutine make up for its debt, in the region, nil if debts are not paid. It
	// returns the delay.
	Pay func(l *ledger.Ledger, r *spans.Span) int64
	// Panicked takes the value of a recovered panic.
	Panicked func(value any)
}

// What the controllers of a process share, and what outlives them. It is the process's because a
// lock does not know which provider's spans its users are in: so there is one setting of the
// ledgers in force, that of an experiment, or none. What is written often stands apart from what
// each lock, channel and span of the application reads.
var (
	Current atomic.Pointer[Observation]     // what is observed now, nil for nothing
	Frames  = spans.NewSlot[ledger.Frame]() // what spans have at hand
	Books   ledgers

	watching sync.Mutex // held to replace current; a shard of books may be locked meanwhile, not the other way round
	watcher  any        // whose observation is in force
)

// Observe puts an observation of a run in force, which may be nil, if no other run has one. It
// reports whether it did.
func Observe(run any, o *Observation) bool {
	watching.Lock()
	defer watching.Unlock()
	if watcher != nil && watcher != run {
		return false
	}
	watcher = run
	Current.Store(o)
	return true
}

// Unobserve ends what a run observes.
func Unobserve(run any) {
	watching.Lock()
	defer watching.Unlock()
	if watcher == run {
		watcher = nil
		Current.Store(nil)
	}
}

// Unobserved drops all ledgers, unless a run observes something.
func Unobserved() {
	watching.Lock()
	defer watching.Unlock()
	if watcher == nil {
		Books.Clear(clock.Now())
	}
}

// point returns the progress point that has the durations of a class.
func (o *Observation) point(id ledger.RegionID) (int, bool) {
	if id < 0 || int(id) >= len(o.PointOf) || o.PointOf[id] < 0 {
		return 0, false
	}
	return int(o.PointOf[id]), true
}

// PointOfSpan returns the progress point that has the durations of spans that end as one class and
// were started as another.
func (o *Observation) PointOfSpan(first, last *classes.Class) (int, bool) {
	if point, ok := o.point(last.ID); ok {
		return point, true
	}
	return o.point(first.ID)
}

// Owner is the calling goroutine, as ledgers have it.
func Owner() uint64 { return uint64(goroutine.Current()) }

// Here returns what is observed and the ledger of the calling goroutine, nil if nothing is, or if
// there is no room for one.
func Here() (*Observation, *ledger.Ledger) {
	o := Current.Load()
	if o == nil {
		return nil, nil
	}
	return o, o.Ledger()
}

// PayNow pays what the goroutine owes where no span ends, as far as it is known in which
// region that is.
func (o *Observation) PayNow(l *ledger.Ledger) {
	if o.Pay == nil || l == nil {
		return
	}
	r, ok := l.Current.Load().(*spans.Span)
	if !ok || r == nil {
		return
	}
	defer o.contain()
	r.BeginWait()
	defer r.EndWait()
	r.AddDelay(time.Duration(o.Pay(l, r)))
}

// StartSpan books the start of a span.
func (o *Observation) StartSpan(r *spans.Span) {
	defer o.contain()
	t := clock.Now()
	id := goroutine.Current()
	parent, caller := Frames.Get(r.Parent()), Frames.Get(requests.CallerOf(r))
	if caller != nil {
		parent = caller
	}
	var l *ledger.Ledger
	if parent != nil && parent.Ledger().Owner == uint64(id) && !parent.Ledger().Gone() {
		l, parent = parent.Ledger(), nil
	} else {
		l = Books.Of(id, parent, o.Setting)
	}
	if caller != nil && parent != nil {
		l.TakeOver(o.Setting, t, caller)
	}
	c := classes.Of(r)
	_, timed := o.point(c.ID)
	timed = timed || c.MayBeRenamed()
	if l == nil {
		return // too many goroutines: the observation knows
	}
	Frames.Set(r, l.Begin(o.Setting, t, c.ID, parent, timed))
	l.Current.Store(r)
}

// EndSpan books the end of a span and, at a progress point of latency, its duration. What is
// observed may have changed since the start, and o be nil.
func EndSpan(o *Observation, f *ledger.Frame, r *spans.Span) {
	t := clock.Now()
	l := f.Ledger()
	onlooker := l.Owner != Owner()
	Frames.Set(r, nil) // the ledger uses it for the next span
	if o == nil {
		f.End(nil, t, onlooker)
		return
	}
	defer o.contain()
	c := classes.Of(r)
	last := c.LastOf(r)
	if last != c && !onlooker {
		f.TurnsOut(o.Setting, t, last.ID)
	}
	took := f.End(o.Setting, t, onlooker)
	if onlooker {
		return
	}
	current := (*spans.Span)(nil)
	if p := Frames.Get(r.Parent()); p != nil && p.Ledger() == l {
		current = r.Parent()
	}
	l.Current.Store(current)
	if point, ok := o.PointOfSpan(c, last); ok {
		took.RecordAt(o.Setting, point)
	}
}

// Latencies are the distributions of durations by progress point, nil where there are none.
func (o *Observation) Latencies() []*otelhdr.Snapshot {
	all := make([]*otelhdr.Snapshot, o.Setting.Points())
	for point := range all {
		all[point] = o.Setting.Latency(point)
	}
	return all
}

// contain is deferred where an observation is.
func (o *Observation) contain() {
	if v := recover(); v != nil {
		o.Panicked(v)
	}
}

// These wrappers recover from panics in the ledger, so that the application's lock or send always
// completes.

// Arrive books that the goroutine begins to wait.
func (o *Observation) Arrive(l *ledger.Ledger, at int64) {
	defer o.contain()
	l.Arrive(o.Setting, at)
}

// Acquire books the end of a wait for the goroutine that left a stamp.
func (o *Observation) Acquire(l *ledger.Ledger, at, got int64, left *ledger.Stamp) {
	defer o.contain()
	l.Acquire(o.Setting, at, got, left)
}

// Resume books the end of a wait that no goroutine is known to have ended.
func (o *Observation) Resume(l *ledger.Ledger, at, got int64) {
	defer o.contain()
	l.Resume(o.Setting, at, got)
}

// Stamp leaves the goroutine's virtual time.
func (o *Observation) Stamp(l *ledger.Ledger, at int64, into *ledger.Stamp) {
	defer o.contain()
	l.Stamp(o.Setting, at, into)
}
