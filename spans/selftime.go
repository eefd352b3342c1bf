package spans

import (
	"math"
	"sync"
	"sync/atomic"
)

// cover adds up the time in which at least one of a span's children, or a wait, is open.
// What remains of the span's duration is its self time.
//
// Children start and end on any goroutine. The goroutine that takes the number of open
// children from zero to one subtracts the time, and the one that takes it back to zero adds
// it, so the sum of all closed intervals is in covered without a lock. The two adds of one
// interval may land in any order, and those of the next interval before them, since addition
// commutes.
//
// Each opening also subtracts one bias and each closing adds one, so the number of
// intervals still open can be read off the same word as the sum: one atomic load gives a
// consistent answer. The bias is 36 years in nanoseconds; times are since the span's start,
// far below a half of it.
type cover struct {
	counts  atomic.Uint64 // intervals open now in the low half, children ever begun in the high
	covered atomic.Int64
}

const (
	coverBias = 1 << 60
	oneOpen   = 1
	oneChild  = 1 << 32
)

// beginChild and beginWait open an interval at the time at, end closes one.
func (c *cover) beginChild(at int64) { c.begin(at, oneOpen+oneChild) }
func (c *cover) beginWait(at int64)  { c.begin(at, oneOpen) }

func (c *cover) begin(at int64, counts uint64) {
	if uint32(c.counts.Add(counts)) == 1 {
		c.covered.Add(-near(at) - coverBias)
	}
}

func (c *cover) end(at int64) {
	if uint32(c.counts.Add(^uint64(0))) == 0 {
		c.covered.Add(near(at) + coverBias)
	}
}

// near is a time that the bias has room for. The caller's may be any: what is more than a year
// before the span's start, a day in 1970 say, is its start.
func near(at int64) int64 {
	const year, most = 1 << 55, coverBias/2 - 1<<50
	if at < -year {
		return 0
	}
	return min(at, most)
}

// open reports whether an interval is open.
func (c *cover) open() bool { return uint32(c.counts.Load()) != 0 }

// children is the number of children ever begun.
func (c *cover) children() int { return int(c.counts.Load() >> 32) }

// total returns the covered time, an interval that is still open counted up to at. While
// another goroutine is between its two adds, the missing one is taken to happen at at,
// which is when it happens.
func (c *cover) total(at int64) int64 {
	sum := c.covered.Load()
	pending := (coverBias/2 - 1 - sum) >> 60 // intervals opened less intervals closed, rounded
	return sum + pending*(near(at)+coverBias)
}

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
