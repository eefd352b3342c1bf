package otelhdr

import (
	"math"
	"sync/atomic"
	"unsafe"
)

// An atomicChunk is a chunk that any goroutine may count in.
type atomicChunk [chunkSize]atomic.Uint64

// A stripe is one complete set of the counters of a [Concurrent], which some of the writers use. The words that every
// record writes fill cache lines of their own: two, since processors fetch lines in pairs.
type stripe struct {
	chunks     []atomic.Pointer[atomicChunk] // nil until a value falls in
	sumLo      atomic.Uint64
	sumHi      atomic.Uint64 // carries out of sumLo
	min, max   atomic.Uint64 // min > max while nothing is recorded
	underflow  atomic.Uint64
	overflow   atomic.Uint64
	collisions atomic.Uint64 // times that two writers met at sumLo
	marked     atomic.Int64  // when the number of collisions was last looked at, in ns since processStart
	seen       uint128       // the sum that the last reader saw; guarded by Concurrent.mu
	_          [24]byte
}

func newStripe(l *layout) *stripe {
	t := &stripe{chunks: make([]atomic.Pointer[atomicChunk], l.chunks())}
	t.min.Store(math.MaxUint64)
	return t
}

// widen extends the minimum and the maximum to v.
func (t *stripe) widen(v uint64) {
	for m := t.max.Load(); v > m && !t.max.CompareAndSwap(m, v); {
		m = t.max.Load()
	}
	for m := t.min.Load(); v < m && !t.min.CompareAndSwap(m, v); {
		m = t.min.Load()
	}
}

// count adds n to the counter of stored bucket i, allocating its chunk if need be, or to an out-of-range counter where
// there is no such bucket; v tells which.
func (t *stripe) count(l *layout, v, i, n uint64) {
	switch {
	case i < l.size:
		p := &t.chunks[i>>chunkScale]
		k := p.Load()
		if k == nil {
			// The loser of this race drops its chunk before anything is counted in it.
			k = new(atomicChunk)
			if !p.CompareAndSwap(nil, k) {
				k = p.Load()
			}
		}
		k[i%chunkSize].Add(n)
	case l.under(v):
		t.underflow.Add(n)
	default:
		t.overflow.Add(n)
	}
}

// sum returns the sum of the stripe, never less than the last time. The caller holds Concurrent.mu.
func (t *stripe) sum() uint128 {
	var sum uint128
	for {
		sum.hi = t.sumHi.Load()
		sum.lo = t.sumLo.Load()
		if t.sumHi.Load() == sum.hi {
			break
		}
	}
	// The low half has wrapped and the writer has yet to carry.
	for sum.less(t.seen) {
		sum.hi++
	}
	t.seen = sum
	return sum
}

// addCounts adds all but the sum and the extremes to s.
func (t *stripe) addCounts(s *Snapshot) {
	for i := range t.chunks {
		from := t.chunks[i].Load()
		if from == nil {
			continue
		}
		to := s.chunk(i)
		for j := range from {
			to[j] += from[j].Load()
		}
	}
	s.underflow += t.underflow.Load()
	s.overflow += t.overflow.Load()
}

// total returns the number of values counted.
func (t *stripe) total() uint64 {
	n := t.underflow.Load() + t.overflow.Load()
	for i := range t.chunks {
		k := t.chunks[i].Load()
		if k == nil {
			continue
		}
		for j := range k {
			n += k[j].Load()
		}
	}
	return n
}

func (t *stripe) sizeBytes() int {
	n := int(unsafe.Sizeof(*t)) + cap(t.chunks)*int(unsafe.Sizeof(t.chunks[0]))
	for i := range t.chunks {
		if t.chunks[i].Load() != nil {
			n += int(unsafe.Sizeof(atomicChunk{}))
		}
	}
	return n
}
