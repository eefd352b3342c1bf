package otelhdr

import (
	"math"
	"sync/atomic"
	"unsafe"
)

// An atomicChunk is a chunk that any goroutine may count in.
type atomicChunk [chunkSize]atomic.Uint64

// An atomicChunk32 is an atomicChunk as [WithCounter32] has it.
type atomicChunk32 [chunkSize]atomic.Uint32

// A 32-bit counter that has reached wideAt has its chunk go on in one of 64 bits. Writers that have yet to see that one
// still add to the counter, each at most narrowMost, so it would take 2 million of them at the same place to wrap it.
const (
	wideAt     = 1 << 31
	narrowMost = 1 << 10
)

// A stripe is one complete set of the counters of a [Concurrent], which some of the writers use. The words that every
// record writes fill cache lines of their own: two, since processors fetch lines in pairs.
type stripe struct {
	chunks     []atomic.Pointer[atomicChunk]   // nil until a value falls in
	narrow     []atomic.Pointer[atomicChunk32] // with WithCounter32, counters to be added to those; otherwise nil
	sumLo      atomic.Uint64
	sumHi      atomic.Uint64 // carries out of sumLo
	min, max   atomic.Uint64 // min > max while nothing is recorded
	underflow  atomic.Uint64
	overflow   atomic.Uint64
	collisions atomic.Uint64 // times that two writers met at sumLo
	marked     atomic.Int64  // when the number of collisions was last looked at, in ns since processStart
	seen       uint128       // the sum that the last reader saw; guarded by Concurrent.mu
}

func newStripe(l *layout) *stripe {
	t := &stripe{chunks: make([]atomic.Pointer[atomicChunk], l.chunks())}
	t.min.Store(math.MaxUint64)
	return t
}

// newNarrowStripe returns a stripe for [WithCounter32].
func newNarrowStripe(l *layout) *stripe {
	t := newStripe(l)
	t.narrow = make([]atomic.Pointer[atomicChunk32], l.chunks())
	return t
}

// sibling returns an empty stripe of the same kind.
func (t *stripe) sibling(l *layout) *stripe {
	if t.narrow != nil {
		return newNarrowStripe(l)
	}
	return newStripe(l)
}

// widen extends the minimum and the maximum to v.
//
//go:noinline
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
		if t.narrow != nil && p.Load() == nil && n <= narrowMost {
			if atOnce(&t.narrow[i>>chunkScale])[i%chunkSize].Add(uint32(n)) >= wideAt {
				atOnce(p)
			}
			return
		}
		atOnce(p)[i%chunkSize].Add(n)
	case l.under(v):
		t.underflow.Add(n)
	default:
		t.overflow.Add(n)
	}
}

// atOnce returns what p points to, allocated if need be. Of several callers that allocate, all but one drop theirs before
// anything is counted in it.
func atOnce[T any](p *atomic.Pointer[T]) *T {
	k := p.Load()
	if k == nil {
		k = new(T)
		if !p.CompareAndSwap(nil, k) {
			k = p.Load()
		}
	}
	return k
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
	for i := range t.narrow {
		from := t.narrow[i].Load()
		if from == nil {
			continue
		}
		to := s.chunk(i)
		for j := range from {
			to[j] += uint64(from[j].Load())
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
	for i := range t.narrow {
		k := t.narrow[i].Load()
		if k == nil {
			continue
		}
		for j := range k {
			n += uint64(k[j].Load())
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
	n += cap(t.narrow) * int(unsafe.Sizeof(atomic.Pointer[atomicChunk32]{}))
	for i := range t.narrow {
		if t.narrow[i].Load() != nil {
			n += int(unsafe.Sizeof(atomicChunk32{}))
		}
	}
	return n
}
