package causal

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/spans"
)

// traces are the delays of each trace, those in flight included. What spans add up has only
// those that are over: ten goroutines of one trace could each take the last of its limit. The zero value is
// ready for use.
type traces struct {
	mu    sync.Mutex
	of    map[any]traceDelay
	known atomic.Int64 // number of traces, so that most ends of roots need no lock
}

// A traceDelay is what was inserted in one trace, or is being inserted.
type traceDelay struct {
	booked   time.Duration
	inFlight int
	ended    bool // its root has: it is forgotten when nothing is in flight
}

// maxTraces bounds the number of traces that are known at once. Further ones go by what spans
// have added up.
const maxTraces = 4096

// traceOf is what the regions of one trace have in common: its session, or else its local root.
func traceOf(r *spans.Region) any {
	if s := r.Session(); s != nil {
		return s
	}
	return rootOf(r)
}

func rootOf(r *spans.Region) *spans.Region {
	for r.Parent() != nil {
		r = r.Parent()
	}
	return r
}

// reserve books want and reports whether the limit allows it. Before is what was inserted in the
// same call already, which spans do not know yet. Settle follows.
func (t *traces) reserve(r *spans.Region, before, want, limit time.Duration) bool {
	key, before := traceOf(r), before+delayed(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	e, known := t.of[key]
	if !known {
		e.ended = rootOf(r).Ended()
	}
	e.booked = max(e.booked, before) + want
	if e.booked > limit {
		return false
	}
	e.inFlight++
	if known || len(t.of) < maxTraces {
		t.keep(key, e)
	}
	return true
}

// settle books the delay that was really inserted in place of the one reserved.
func (t *traces) settle(r *spans.Region, reserved, inserted time.Duration) {
	key := traceOf(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, known := t.of[key]; known {
		e.booked += inserted - reserved
		e.inFlight--
		t.keep(key, e)
	}
}

// ended tells that a local root has. What it has been delayed by is in its session when this
// trace goes on in another root.
func (t *traces) ended(root *spans.Region) {
	if t.known.Load() == 0 {
		return
	}
	key := traceOf(root)
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, known := t.of[key]; known {
		e.ended = true
		t.keep(key, e)
	}
}

// keep keeps what is known of a trace, until it need not. In the long run it allocates nothing.
func (t *traces) keep(key any, e traceDelay) {
	switch {
	case e.ended && e.inFlight <= 0:
		delete(t.of, key)
	case t.of == nil:
		t.of = map[any]traceDelay{key: e}
	default:
		t.of[key] = e
	}
	t.known.Store(int64(len(t.of)))
}

// delayed is how much was inserted so far in the trace of r. Where no session adds it up, the
// spans above know what was inserted below them.
func delayed(r *spans.Region) (sum time.Duration) {
	if s := r.Session(); s != nil {
		return s.Delay()
	}
	for ; r != nil; r = r.Parent() {
		sum += r.Delay()
	}
	return sum
}
