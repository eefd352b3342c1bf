package spans

import "sync/atomic"

// cover adds up the time in which at least one of a span's children, or a wait, is open.
// What remains of the span's duration is its self time.
//
// Children start and end on any goroutine. All that is known of them lies in one word, which each of them exchanges by one
// compare-and-swap, so one load gives a consistent answer: how many intervals are open, how many children have ever begun, and the
// sum of all closed intervals, less the time at which the open one began if there is one. Times are since the span's start. What
// goes beyond the word, which a thousand children or an hour does, is counted in a wideCover, and the word stays as it is.
type cover struct {
	word atomic.Uint64
	wide atomic.Pointer[wideCover] // set before the bit in word
}

// The word, from its lowest bit.
const (
	isWide    = 1
	oneOpen   = 1 << 1
	allOpen   = oneChild - oneOpen
	oneChild  = 1 << 11
	allChild  = 1<<coverTime - oneChild
	coverTime = 21 // the time in ns is in the bits from here on, with its sign
)

// beginChild and beginWait open an interval at the time at, end closes one.
func (c *cover) beginChild(at int64) { c.begin(at, oneOpen+oneChild) }
func (c *cover) beginWait(at int64)  { c.begin(at, oneOpen) }

func (c *cover) begin(at int64, counts uint64) {
	for {
		old := c.word.Load()
		sum := int64(old) >> coverTime
		if old&allOpen == 0 {
			sum -= at
		}
		if old&isWide != 0 || old&allOpen == allOpen || old&allChild == allChild || sum<<coverTime>>coverTime != sum {
			if c.widen(old) {
				c.wide.Load().begin(old, at, counts)
				return
			}
		} else if c.word.CompareAndSwap(old, uint64(sum)<<coverTime|old&(allOpen+allChild)+counts) {
			return
		}
	}
}

func (c *cover) end(at int64) {
	for {
		old := c.word.Load()
		sum := int64(old) >> coverTime
		if old&allOpen == oneOpen {
			sum += at
		}
		if old&isWide != 0 || sum<<coverTime>>coverTime != sum {
			if c.widen(old) {
				c.wide.Load().end(old, at)
				return
			}
		} else if old&allOpen == 0 || c.word.CompareAndSwap(old, uint64(sum)<<coverTime|old&(allOpen+allChild)-oneOpen) {
			return // the first is an end without a beginning
		}
	}
}

// widen makes the word stay as it is, which is old, and reports whether it is.
func (c *cover) widen(old uint64) bool {
	if old&isWide != 0 {
		return true
	}
	c.wide.CompareAndSwap(nil, new(wideCover))
	return c.word.CompareAndSwap(old, old|isWide)
}

// open reports whether an interval is open.
func (c *cover) open() bool {
	word := c.word.Load()
	n := openIn(word)
	if word&isWide != 0 {
		n += c.wide.Load().open.Load()
	}
	return n > 0
}

// children is the number of children ever begun.
func (c *cover) children() int {
	word := c.word.Load()
	n := int64(word & allChild / oneChild)
	if word&isWide != 0 {
		n += c.wide.Load().children.Load()
	}
	return int(n)
}

// total returns the covered time, an interval that is still open counted up to at.
func (c *cover) total(at int64) int64 {
	word := c.word.Load()
	sum := int64(word) >> coverTime
	switch {
	case word&isWide != 0:
		return c.wide.Load().total(word, at)
	case word&allOpen != 0:
		return sum + at
	}
	return sum
}

func openIn(word uint64) int64 { return int64(word & allOpen / oneOpen) }

// wideCover is what has come after a cover's word, to which it adds.
//
// The goroutine that takes the number of open intervals from zero to one subtracts the time, and the one that takes it back to
// zero adds it, so the sum of all closed intervals is in covered without a lock. The two adds of one
// interval may land in any order, and those of the next interval before them, since addition
// commutes.
//
// Each opening also subtracts one bias and each closing adds one, so the number of
// intervals still open can be read off the same word as the sum: one atomic load gives a
// consistent answer. The bias is 36 years in nanoseconds; times are far below a half of it.
type wideCover struct {
	open, children, covered atomic.Int64
}

const coverBias = 1 << 60

func (w *wideCover) begin(word uint64, at int64, counts uint64) {
	w.children.Add(int64(counts / oneChild))
	if openIn(word)+w.open.Add(1) == 1 {
		w.covered.Add(-at - coverBias)
	}
}

func (w *wideCover) end(word uint64, at int64) {
	if openIn(word)+w.open.Add(-1) == 0 {
		w.covered.Add(at + coverBias)
	}
}

// total is cover's. While another goroutine is between its two adds, the missing one is taken to happen at at,
// which is when it happens.
func (w *wideCover) total(word uint64, at int64) int64 {
	sum := int64(word)>>coverTime + w.covered.Load()
	if openIn(word) != 0 {
		sum -= coverBias
	}
	pending := (coverBias/2 - 1 - sum) >> 60 // intervals opened less intervals closed, rounded
	return sum + pending*(at+coverBias)
}
