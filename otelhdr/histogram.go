package otelhdr

import (
	"math"
	"math/bits"
	"unsafe"
)

// A Histogram counts values for one goroutine at a time. It is the fastest kind, a few nanoseconds
// a record. None of its methods may run at the same time as another: use [Concurrent] where they
// would.
type Histogram struct {
	layout layout
	// The counters lie side by side, from the chunk of the lowest bucket that a value has fallen in
	// to that of the highest: window[0] belongs to the bucket at logical index base. It ends with
	// the stored buckets, its capacity with the chunk of the last one.
	base      uint64
	window    []uint64
	window32  []uint32 // in place of window, with WithCounter32, until a counter is full
	sum       uint128
	min, max  uint64 // min > max while nothing is recorded
	width     uint64 // of [min, max], less 1 if that is all of uint64; 0 while nothing is recorded
	underflow uint64
	overflow  uint64
	era       uint64

	narrow     bool // counters are made with 32 bits
	equivalent Equivalent
}

// NewHistogram returns an empty histogram for a single writer, or an error that wraps [ErrConfig].
func NewHistogram(opts ...Option) (*Histogram, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	return &Histogram{
		layout:     newLayout(c.relativeError, c.lowest, c.highest),
		min:        math.MaxUint64,
		era:        newEra(),
		narrow:     c.counter32,
		equivalent: c.equivalent,
	}, nil
}

// Record adds v, in the histogram's own unit, in [0, 2^64). A value outside the range is counted by
// [Snapshot.Underflow] or [Snapshot.Overflow]. Record allocates when a value is further out than
// all before it, by a chunk of 256 buckets at least, and nothing otherwise.
func (h *Histogram) Record(v uint64) {
	if v-h.min >= h.width {
		h.RecordN(v, 1)
		return
	}
	i := h.layout.index(v) - h.base
	if i < uint64(len(h.window)) {
		h.window[i]++
		h.sum.count(v)
		return
	}
	if i < uint64(len(h.window32)) && h.window32[i] != math.MaxUint32 {
		h.window32[i]++
		h.sum.count(v)
		return
	}
	h.RecordN(v, 1)
}

// RecordN adds v n times, at the cost of one [Histogram.Record]. An n of 0 changes nothing.
func (h *Histogram) RecordN(v, n uint64) {
	if n == 0 {
		return
	}
	hi, lo := bits.Mul64(v, n)
	h.sum = h.sum.add(uint128{hi: hi, lo: lo})
	h.extend(v, v)
	h.count(v, n)
}

// extend makes the extremes at least as far out as the two values.
func (h *Histogram) extend(lowest, highest uint64) {
	h.min, h.max = min(h.min, lowest), max(h.max, highest)
	h.width = max(h.max-h.min+1, h.max-h.min)
}

// count adds n to the counter of v, making room for it if need be, or to an out-of-range counter
// where it has none.
func (h *Histogram) count(v, n uint64) {
	stored := h.layout.index(v) - h.layout.first
	switch {
	case stored < h.layout.size:
		h.reach(stored)
		i := stored + h.layout.first - h.base
		if h.window32 != nil {
			if n <= math.MaxUint32-uint64(h.window32[i]) {
				h.window32[i] += uint32(n)
				return
			}
			h.widen()
		}
		h.window[i] += n
	case h.layout.under(v):
		h.underflow += n
	default:
		h.overflow += n
	}
}

// reach makes the window hold the chunk of a stored bucket.
func (h *Histogram) reach(stored uint64) {
	begin := h.begin()
	from, to := stored&^(chunkSize-1), stored&^(chunkSize-1)+chunkSize
	held := uint64(cap(h.window) + cap(h.window32))
	if held == 0 {
		begin = from
	}
	from, to = min(from, begin), max(to, begin+held)
	if to-from == held {
		return
	}
	h.base = h.layout.first + from
	length := min(to, h.layout.size) - from
	if h.narrow {
		grown := make([]uint32, to-from)
		copy(grown[begin-from:], h.window32)
		h.window32 = grown[:length]
		return
	}
	grown := make([]uint64, to-from)
	copy(grown[begin-from:], h.window)
	h.window = grown[:length]
}

// begin returns the place of the window's first counter among the stored ones, a multiple of
// chunkSize.
func (h *Histogram) begin() uint64 {
	if cap(h.window)+cap(h.window32) == 0 {
		return 0
	}
	return h.base - h.layout.first
}

// widen goes on with counters of 64 bits, for good.
func (h *Histogram) widen() {
	wide := make([]uint64, cap(h.window32))
	for i, n := range h.window32 {
		wide[i] = uint64(n)
	}
	h.window, h.window32, h.narrow = wide[:len(h.window32)], nil, false
}

// Snapshot copies what was recorded since creation, or since the last Reset, into dst and returns
// it. A nil dst is allocated; a dst used before is overwritten, and costs no allocation unless
// values have reached a new chunk of buckets. It takes about 0.2 µs for every chunk.
func (h *Histogram) Snapshot(dst *Snapshot) *Snapshot {
	dst = dst.prepare(h.layout, h.era, h.equivalent)
	place := int(h.begin() >> chunkScale)
	for w := h.window[:cap(h.window)]; len(w) > 0; w = w[chunkSize:] {
		if c := (*chunk)(w); *c != (chunk{}) {
			*dst.chunk(place) = *c
		}
		place++
	}
	for w := h.window32[:cap(h.window32)]; len(w) > 0; w = w[chunkSize:] {
		if c := (*chunk32)(w); *c != (chunk32{}) {
			c.addTo(dst.chunk(place))
		}
		place++
	}
	dst.underflow, dst.overflow = h.underflow, h.overflow
	dst.sum, dst.min, dst.max = h.sum, h.min, h.max
	dst.settle()
	return dst
}

// Reset starts anew: later snapshots hold only what is recorded from here on. Storage is kept. As
// no other goroutine can be recording, the counters are set to zero, which looks to a reader like a
// baseline and needs no second copy.
func (h *Histogram) Reset() {
	clear(h.window)
	clear(h.window32)
	h.sum, h.min, h.max, h.width = uint128{}, math.MaxUint64, 0, 0
	h.underflow, h.overflow = 0, 0
	h.era = newEra()
}

// Count returns the number of values recorded since creation or the last Reset, in and out of
// range. It adds up the counters, at about the cost of a Snapshot.
func (h *Histogram) Count() uint64 {
	n := h.underflow + h.overflow
	for _, c := range h.window {
		n += c
	}
	for _, c := range h.window32 {
		n += uint64(c)
	}
	return n
}

// RelativeError returns the bound of the layout, as a fraction: no value in range is further from
// the middle of its bucket than this times the value.
func (h *Histogram) RelativeError() float64 { return h.layout.relativeError() }

// Range returns the smallest and the greatest value that are in range: those of [WithRange],
// widened to whole buckets.
func (h *Histogram) Range() (lowest, highest uint64) { return h.layout.bounds() }

// SizeBytes returns the memory that the histogram holds now. The counters take 2 KiB, with
// [WithCounter32] 1 KiB, for every chunk of 256 buckets from that of the lowest value to that of
// the highest.
func (h *Histogram) SizeBytes() int {
	return int(unsafe.Sizeof(*h)) + 8*cap(h.window) + 4*cap(h.window32)
}
