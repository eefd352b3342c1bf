package causal

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/goroutine"
	"github.com/otelprof/otelprof/spans"
)

// What ledgers observe holds for the whole process: a lock does not know which provider's
// spans its users are in. So there is one setting in force, that of an experiment, or none.

// An observation is a setting of the ledgers, and what it means to spans.
type observation struct {
	setting *ledger.Setting
	// pointOf are the progress points of latency by the class whose durations they have, -1 for none.
	pointOf []int8
	// pay makes the goroutine make up for its debt, in the region, nil if nobody pays. It
	// returns the delay.
	pay func(l *ledger.Ledger, r *spans.Region) int64
	// panicked is told what was recovered from.
	panicked func(value any)
}

// point returns the progress point that has the durations of a class.
func (o *observation) point(id ledger.RegionID) (int, bool) {
	if id < 0 || int(id) >= len(o.pointOf) || o.pointOf[id] < 0 {
		return 0, false
	}
	return int(o.pointOf[id]), true
}

// live is what is observed now.
var live struct {
	observation atomic.Pointer[observation]
	ledgers     ledgers
	frame       spans.Slot[ledger.Frame]

	mu      sync.Mutex // held to change what follows, and the observation
	watcher *run       // whose observation it is
}

func init() { live.frame = spans.NewSlot[ledger.Frame]() }

// observe puts an observation in force, which may be nil, if no other run has one. It reports whether
// it did.
func (run *run) observe(o *observation) bool {
	live.mu.Lock()
	defer live.mu.Unlock()
	if live.watcher != nil && live.watcher != run {
		return false
	}
	live.watcher = run
	live.observation.Store(o)
	return true
}

// unobserve ends what the run observes.
func (run *run) unobserve() {
	live.mu.Lock()
	defer live.mu.Unlock()
	if live.watcher == run {
		live.watcher = nil
		live.observation.Store(nil)
	}
}

// owner is the calling goroutine, as ledgers have it.
func owner() uint64 { return uint64(goroutine.Current()) }

// here returns what is observed and the ledger of the calling goroutine, nil if nothing is.
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
	if o.pay == nil {
		return
	}
	r, ok := l.Current.(*spans.Region)
	if !ok {
		return
	}
	defer o.contain()
	r.BeginWait()
	defer r.EndWait()
	r.AddDelay(time.Duration(o.pay(l, r)))
}

// ledgers are the ledgers of goroutines. The zero value is ready for use.
type ledgers struct{ shards [ledgerShards]ledgerShard }

// ledgerShards is a power of two: goroutines that come one after the other have different ones.
const ledgerShards = 64

type ledgerShard struct {
	mu sync.Mutex
	of map[goroutine.ID]*ledger.Ledger
	_  [64 - 8 - 8]byte // a cache line
}

func (t *ledgers) shard(id goroutine.ID) *ledgerShard { return &t.shards[id%ledgerShards] }

// of returns the ledger of a goroutine. The first time that is one forked at t from that of
// parent, if there is a parent.
func (t *ledgers) of(id goroutine.ID, parent *ledger.Frame, s *ledger.Setting, at int64) *ledger.Ledger {
	shard := t.shard(id)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	l := shard.of[id]
	if l != nil {
		return l
	}
	if parent != nil {
		l = parent.Ledger().Fork(s, at)
	} else {
		l = ledger.New()
	}
	l.Owner = uint64(id)
	if shard.of == nil {
		shard.of = map[goroutine.ID]*ledger.Ledger{}
	}
	shard.of[id] = l
	return l
}

// adopt makes l the ledger of a goroutine that has just begun.
func (t *ledgers) adopt(id goroutine.ID, l *ledger.Ledger) {
	l.Owner = uint64(id)
	shard := t.shard(id)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if shard.of == nil {
		shard.of = map[goroutine.ID]*ledger.Ledger{}
	}
	shard.of[id] = l
}

// forget removes the ledger of a goroutine that ends.
func (t *ledgers) forget(id goroutine.ID) {
	shard := t.shard(id)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	delete(shard.of, id)
}

// sweep removes the ledgers of goroutines that have given no sign of life since a time: most of
// them have ended. One that has not begins anew.
func (t *ledgers) sweep(since int64) {
	for i := range t.shards {
		shard := &t.shards[i]
		shard.mu.Lock()
		for id, l := range shard.of {
			if last, idle := l.Last(); idle && last < since {
				delete(shard.of, id)
			}
		}
		shard.mu.Unlock()
	}
}

// startSpan books the start of a span.
func (o *observation) startSpan(r *spans.Region) {
	defer o.contain()
	t := clock.Now()
	id := goroutine.Current()
	parent := live.frame.Get(r.Parent())
	var l *ledger.Ledger
	if parent != nil && parent.Ledger().Owner == uint64(id) {
		l, parent = parent.Ledger(), nil
	} else {
		l = live.ledgers.of(id, parent, o.setting, t)
	}
	c := classOf(r)
	_, timed := o.point(c.id)
	live.frame.Set(r, l.Begin(o.setting, t, c.id, parent, timed))
	l.Current = r
}

// endSpan books the end of a span and, at a progress point of latency, its duration. What is observed
// may have changed since the start, and o be nil.
func endSpan(o *observation, f *ledger.Frame, r *spans.Region) {
	t := clock.Now()
	l := f.Ledger()
	onlooker := l.Owner != owner()
	live.frame.Set(r, nil) // the ledger uses it for the next span
	if o == nil {
		f.End(nil, t, onlooker)
		return
	}
	defer o.contain()
	took := f.End(o.setting, t, onlooker)
	if onlooker {
		return
	}
	l.Current = nil
	if p := live.frame.Get(r.Parent()); p != nil && p.Ledger() == l {
		l.Current = r.Parent()
	}
	if point, ok := o.point(classOf(r).id); ok {
		took.RecordAt(o.setting, point)
	}
}
