package spans

import (
	"math"
	"sync"
	"sync/atomic"
)

// held is for how long a span was held up by delays in it and below: the union of their times,
// since children that run side by side are delayed at the same time. The zero value is ready for
// use.
type held struct {
	delay atomic.Int64 // the sum of the delays, ns

	mu    sync.Mutex
	total int64
	last  []interval // apart, in the order of time
}

// interval is from one time to another, ns.
type interval struct{ from, to int64 }

// mostHeld is how many intervals are kept to be compared with the next: those before are over.
const mostHeld = 16

// add adds a delay that ends about now.
func (h *held) add(d interval) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n := len(h.last); n > 0; n = len(h.last) {
		l := h.last[n-1]
		if l.to < d.from {
			break
		}
		if l.from > d.to { // reported late
			h.total += d.to - d.from
			return
		}
		h.total -= l.to - l.from
		d.from, d.to = min(d.from, l.from), max(d.to, l.to)
		h.last = h.last[:n-1]
	}
	h.total += d.to - d.from
	if len(h.last) == mostHeld {
		h.last = append(h.last[:0], h.last[1:]...)
	}
	h.last = append(h.last, d)
}

func (h *held) sum() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.total
}

// heldSlot is not among the slots of hooks, so that only spans that were delayed have memory for
// it.
const heldSlot = math.MaxUint32

// making is held while a span gets its held.
var making sync.Mutex
