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

// traceOf is what the regions of one trace have in common: its session, or else its local root. Where the process calls
// itself, that is the first of them.
func traceOf(r *spans.Span) any {
	r = topOf(r)
	if s := r.Session(); s != nil {
		return s
	}
	return rootOf(r)
}

// topOf is the first of the local roots that a region is below.
func topOf(r *spans.Span) *spans.Span {
	if m := membershipOf(r); m != nil {
		return m.root
	}
	return rootOf(r)
}

func rootOf(r *spans.Span) *spans.Span {
	for r.Parent() != nil {
		r = r.Parent()
	}
	return r
}

// reserve books want and reports whether the limit allows it. Before is what was inserted in the
// same call already, which spans do not know yet. Settle follows.
func (t *traces) reserve(r *spans.Span, before, want, limit time.Duration) bool {
	key, before := traceOf(r), before+delayed(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	e, known := t.of[key]
	if !known {
		e.ended = topOf(r).Ended()
	}
	e.booked = max(e.booked, before) + want
	if e.booked > limit {
		return false
	}
	e.inFlight++
	if known || t.room() {
		t.keep(key, e)
	}
	return true
}

// room reports whether there is room for a trace, and makes some if it can: of some traces, one of which nothing is in
// flight is dropped, since the spans know its sum. Most likely its root never ends.
func (t *traces) room() bool {
	if len(t.of) < maxTraces {
		return true
	}
	seen := 0
	for key, e := range t.of {
		if e.inFlight <= 0 {
			delete(t.of, key)
			return true
		}
		if seen++; seen == candidates {
			break
		}
	}
	return false
}

// clear forgets all traces: no delay begins any more.
func (t *traces) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of = nil
	t.known.Store(0)
}

// settle books the delay that was really inserted in place of the one reserved.
func (t *traces) settle(r *spans.Span, reserved, inserted time.Duration) {
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
func (t *traces) ended(root *spans.Span) {
	if t.known.Load() == 0 || topOf(root) != root {
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
func delayed(r *spans.Span) (sum time.Duration) {
	if s := r.Session(); s != nil {
		return s.Delay()
	}
	for ; r != nil; r = r.Parent() {
		sum += r.Delay()
	}
	return sum
}
