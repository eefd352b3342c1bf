package otelhdr

import (
	"math"
	"math/bits"
	"unsafe"
)

// A Histogram counts values for one goroutine at a time. It is the fastest kind, a few nanoseconds a record. None of its
// methods may run at the same time as another: use [Concurrent] where they would.
type Histogram struct {
	layout    layout
	chunks    []*chunk // of the stored buckets, in order; nil until a value falls in
	sum       spreadSum
	min, max  uint64 // min > max while nothing is recorded
	underflow uint64
	overflow  uint64
	era       uint64

	narrow     []*chunk32 // with WithCounter32, of the chunks that 32 bits suffice for; otherwise nil
	equivalent Equivalent
}

// New returns an empty histogram for a single writer, or an error that wraps [ErrConfig].
func New(opts ...Option) (*Histogram, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	l := newLayout(c.relativeError, c.lowest, c.highest)
	h := &Histogram{
		layout:     l,
		chunks:     make([]*chunk, l.chunks()),
		min:        math.MaxUint64,
		era:        newEra(),
		equivalent: c.equivalent,
	}
	if c.counter32 {
		h.narrow = make([]*chunk32, l.chunks())
	}
	return h, nil
}

// Record adds v, in the histogram's own unit, in [0, 2^64). A value outside the range is counted by
// [Snapshot.Underflow] or [Snapshot.Overflow]. Record allocates 2 KiB when a value first falls into a chunk of 256
// buckets, and nothing otherwise.
func (h *Histogram) Record(v uint64) {
	h.sum.add(v)
	// Branches that are hardly ever taken cost less than stores.
	if v < h.min {
		h.min = v
	}
	if v > h.max {
		h.max = v
	}
	i := h.layout.index(v) - h.layout.first
	if i < h.layout.size {
		if c := h.chunks[i>>chunkScale]; c != nil {
			c[i%chunkSize]++
			return
		}
		if place := i >> chunkScale; place < uint64(len(h.narrow)) && h.narrow[place] != nil {
			if c := h.narrow[place]; c[i%chunkSize] != math.MaxUint32 {
				c[i%chunkSize]++
				return
			}
		}
	}
	h.recordSlow(v, i, 1)
}

// RecordN adds v n times, at the cost of one [Histogram.Record]. An n of 0 changes nothing.
func (h *Histogram) RecordN(v, n uint64) {
	if n == 0 {
		return
	}
	hi, lo := bits.Mul64(v, n)
	h.sum.addWide(uint128{hi: hi, lo: lo})
	h.min, h.max = min(h.min, v), max(h.max, v)
	h.recordSlow(v, h.layout.index(v)-h.layout.first, n)
}

// recordSlow counts v in the stored bucket i, or in an out-of-range counter where there is no such bucket.
func (h *Histogram) recordSlow(v, i, n uint64) {
	switch {
	case i < h.layout.size:
		p := &h.chunks[i>>chunkScale]
		if *p == nil && h.narrow != nil && h.recordNarrow(i, n) {
			return
		}
		if *p == nil {
			*p = new(chunk)
		}
		(*p)[i%chunkSize] += n
	case h.layout.under(v):
		h.underflow += n
	default:
		h.overflow += n
	}
}

// recordNarrow counts in the 32-bit counter of stored bucket i, whose chunk has no other counters, and reports whether
// that was possible. If not it has made the chunk one of 64 bits.
func (h *Histogram) recordNarrow(i, n uint64) bool {
	p := &h.narrow[i>>chunkScale]
	if *p == nil {
		*p = new(chunk32)
	}
	k := &(*p)[i%chunkSize]
	if n <= math.MaxUint32-uint64(*k) {
		*k += uint32(n)
		return true
	}
	wide := new(chunk)
	(*p).addTo(wide)
	h.chunks[i>>chunkScale], *p = wide, nil
	return false
}

// Snapshot copies what was recorded since creation, or since the last Reset, into dst and returns it. A nil dst is
// allocated; a dst used before is overwritten, and costs no allocation unless values have reached a new chunk of
// buckets. It takes about 0.2 µs for every chunk.
func (h *Histogram) Snapshot(dst *Snapshot) *Snapshot {
	dst = dst.prepare(h.layout, h.era, h.equivalent)
	for i, c := range h.chunks {
		if c != nil {
			*dst.chunk(i) = *c
		}
	}
	for i, c := range h.narrow {
		if c != nil {
			c.addTo(dst.chunk(i))
		}
	}
	dst.underflow, dst.overflow = h.underflow, h.overflow
	dst.sum, dst.min, dst.max = h.sum.total(), h.min, h.max
	dst.settle()
	return dst
}

// Reset starts anew: later snapshots hold only what is recorded from here on. Storage is kept. As no one else can be
// recording, the counters are set to zero, which a reader cannot tell from a baseline and which needs no second copy.
func (h *Histogram) Reset() {
	for _, c := range h.chunks {
		if c != nil {
			*c = chunk{}
		}
	}
	for _, c := range h.narrow {
		if c != nil {
			*c = chunk32{}
		}
	}
	h.sum, h.min, h.max = spreadSum{}, math.MaxUint64, 0
	h.underflow, h.overflow = 0, 0
	h.era = newEra()
}

// Count returns the number of values recorded since creation or the last Reset, in and out of range. It adds up the
// counters, at about the cost of a Snapshot.
func (h *Histogram) Count() uint64 {
	n := h.underflow + h.overflow
	for _, c := range h.chunks {
		n += c.total()
	}
	for _, c := range h.narrow {
		n += c.total()
	}
	return n
}

// RelativeError returns the bound of the layout, as a fraction: no value in range is further from the middle of its
// bucket than this times the value.
func (h *Histogram) RelativeError() float64 { return h.layout.relativeError() }

// Range returns the smallest and the greatest value that are in range: those of [WithRange], widened to whole buckets.
func (h *Histogram) Range() (lowest, highest uint64) { return h.layout.bounds() }

// SizeBytes returns the memory that the histogram holds now. It grows by 2 KiB, with [WithCounter32] by 1 KiB, with
// every chunk of 256 buckets that a value first falls into.
func (h *Histogram) SizeBytes() int {
	n := int(unsafe.Sizeof(*h)) + cap(h.chunks)*int(unsafe.Sizeof(h.chunks[0]))
	for _, c := range h.chunks {
		if c != nil {
			n += int(unsafe.Sizeof(*c))
		}
	}
	n += cap(h.narrow) * int(unsafe.Sizeof((*chunk32)(nil)))
	for _, c := range h.narrow {
		if c != nil {
			n += int(unsafe.Sizeof(*c))
		}
	}
	return n
}
