package otelhdr

import (
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// A solo is the counters of a single writer, which others read while it records. It needs no atomic
// read-modify-write, which is most of what a record costs otherwise, and has counters of 64 bits
// side by side, as a [Histogram] has. addOwn and setOwn, in own_plain.go and own_atomic.go, are how
// the writer changes its words.
type solo struct {
	window atomic.Pointer[soloWindow]
	moments
	underflow atomic.Uint64
	overflow  atomic.Uint64
	_         [48]byte
}

// A soloWindow is the counters from the chunk of the lowest value to that of the highest. The
// writer exchanges it for a larger one that it has copied the counters to, and counts in that one
// from then on, so a reader finds all counters in whichever it has.
type soloWindow struct {
	base  uint64 // place of counts[0] among the stored buckets, a multiple of chunkSize
	count []atomic.Uint64
}

func newSolo() *solo {
	o := new(solo)
	o.window.Store(new(soloWindow))
	o.min.Store(math.MaxUint64)
	return o
}

// record adds v n times.
func (o *solo) record(l *layout, v, n uint64) {
	hi, lo := bits.Mul64(v, n)
	o.addSum(uint128{hi: hi, lo: lo})
	if v > o.max.Load() || v < o.min.Load() {
		o.widen(v)
	}
	o.count(l, v, n)
}

// addSum adds to the sum.
//
// A carry goes into the high word by an atomic addition, so that no reader sees it before the low
// word that it came out of.
func (o *solo) addSum(sum uint128) {
	lo, carry := bits.Add64(o.sumLo.Load(), sum.lo, 0)
	setOwn(&o.sumLo, lo)
	if sum.hi|carry != 0 {
		o.sumHi.Add(sum.hi + carry)
	}
}

// count adds n to the counter of v, making room for it if need be, or to an out-of-range counter
// where it has none.
//
//go:noinline
func (o *solo) count(l *layout, v, n uint64) {
	i := l.index(v) - l.first
	switch {
	case i < l.size:
		addOwn(&o.reach(i).count[i-o.window.Load().base], n)
	case l.under(v):
		addOwn(&o.underflow, n)
	default:
		addOwn(&o.overflow, n)
	}
}

// reach returns a window that holds stored bucket i.
func (o *solo) reach(i uint64) *soloWindow {
	w := o.window.Load()
	held := uint64(len(w.count))
	if i-w.base < held {
		return w
	}
	from, to := i&^(chunkSize-1), i&^(chunkSize-1)+chunkSize
	if held != 0 {
		from, to = min(from, w.base), max(to, w.base+held)
	}
	grown := &soloWindow{base: from, count: make([]atomic.Uint64, to-from)}
	for k := range w.count {
		setOwn(&grown.count[w.base-from+uint64(k)], w.count[k].Load())
	}
	o.window.Store(grown)
	return grown
}

// addCounts adds all but the sum and the extremes to s.
func (o *solo) addCounts(s *Snapshot) {
	w := o.window.Load()
	for first := 0; first < len(w.count); first += chunkSize {
		part := (*[chunkSize]atomic.Uint64)(w.count[first:])
		var to *chunk // made where there is something to count
		for j := range part {
			if n := part[j].Load(); n != 0 {
				if to == nil {
					to = s.chunk((int(w.base) + first) >> chunkScale)
				}
				to[j] += n
			}
		}
	}
	s.underflow += o.underflow.Load()
	s.overflow += o.overflow.Load()
}

// total returns the number of values counted.
func (o *solo) total() uint64 {
	n := o.underflow.Load() + o.overflow.Load()
	w := o.window.Load()
	for k := range w.count {
		n += w.count[k].Load()
	}
	return n
}

func (o *solo) sizeBytes() int {
	w := o.window.Load()
	return int(unsafe.Sizeof(*o)) + int(unsafe.Sizeof(*w)) + 8*cap(w.count)
}
