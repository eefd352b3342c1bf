package admission

import (
	"sync"
	"sync/atomic"
	"time"
)

// traces are the delays of each trace, those in flight included. What spans add up has only those
// that are over: ten goroutines of one trace could each take the last of its limit. The zero value
// is ready for use.
type traces struct {
	mu    sync.Mutex
	of    map[any]traceDelay // by what the spans of one have in common
	known atomic.Int64       // number of traces, so that most ends of roots need no lock
}

// A traceDelay is what was inserted in one trace, or is being inserted.
type traceDelay struct {
	booked   time.Duration
	inFlight int
	ended    bool // its root has: it is forgotten when nothing is in flight
}

// candidates are looked at where there is no room, to find one to drop. They are chosen at random.
const candidates = 8

// MaxTraces bounds the number of traces that are known at once. Further ones go by what spans
// have added up.
const MaxTraces = 4096

// Reserve books want and reports whether the limit allows it. Before is what was inserted in the
// trace already, as far as its spans know; ended is whether its root has. Settle follows.
func (t *traces) Reserve(key any, ended bool, before, want, limit time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, known := t.of[key]
	if !known {
		e.ended = ended
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

// room reports whether there is room for a trace, and makes some if it can: of some traces, one of
// which nothing is in flight is dropped, since the spans know its sum. Most likely its root never
// ends.
func (t *traces) room() bool {
	if len(t.of) < MaxTraces {
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

// Clear forgets all traces: no delay begins any more.
func (t *traces) Clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of = nil
	t.known.Store(0)
}

// Settle books the delay that was really inserted in place of the one reserved.
func (t *traces) Settle(key any, reserved, inserted time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, known := t.of[key]; known {
		e.booked += inserted - reserved
		e.inFlight--
		t.keep(key, e)
	}
}

// Count is the number of traces that are known. Where it is 0, as mostly, an end of a root needs no
// key.
func (t *traces) Count() int { return int(t.known.Load()) }

// Ended follows the end of a trace's root. What it has been delayed by is in its session when this
// trace goes on in another root.
func (t *traces) Ended(key any) {
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
