package otelhdr

import (
	"math"
	"sync/atomic"
	"unsafe"
)

// A stripe is one complete set of the counters of a [Concurrent], which some of the writers use.
// The words that every record writes fill cache lines of their own: two, since processors fetch
// lines in pairs.
type stripe struct {
	index atomic.Pointer[pageIndex]
	moments
	underflow  atomic.Uint64
	overflow   atomic.Uint64
	collisions atomic.Uint64 // times that two writers met at sumLo
	marked     atomic.Int64  // when the number of collisions was last looked at, in ns since processStart
	_          [40]byte
}

// moments are the sum and the extremes of a set of counters.
type moments struct {
	sumLo    atomic.Uint64
	sumHi    atomic.Uint64 // carries out of sumLo
	min, max atomic.Uint64 // min > max while nothing is recorded
	seen     uint128       // the sum that the last reader saw; guarded by Concurrent.mu
}

func newStripe() *stripe {
	t := new(stripe)
	t.index.Store(&noPages)
	t.min.Store(math.MaxUint64)
	return t
}

// widen extends the minimum and the maximum to v.
//
//go:noinline
func (s *moments) widen(v uint64) {
	for m := s.max.Load(); v > m && !s.max.CompareAndSwap(m, v); {
		m = s.max.Load()
	}
	for m := s.min.Load(); v < m && !s.min.CompareAndSwap(m, v); {
		m = s.min.Load()
	}
}

// addSum adds to the sum.
func (t *stripe) addSum(sum uint128) {
	if t.sumLo.Add(sum.lo) < sum.lo {
		sum.hi++
	}
	if sum.hi != 0 {
		t.sumHi.Add(sum.hi)
	}
}

// count adds n to the counter of stored bucket i, or to an out-of-range counter where there is no
// such bucket; v shows which.
//
//go:noinline
func (t *stripe) count(l *layout, v, i, n uint64) {
	switch {
	case i < l.size:
		t.countStored(i, n)
	case l.under(v):
		t.underflow.Add(n)
	default:
		t.overflow.Add(n)
	}
}

// countStored adds n to the counter of stored bucket i, making a page for it, or a wider one, if
// need be.
//
// Nothing is lost or counted twice where pages are exchanged: a writer that has found a page and is
// late adds to a counter that is still read, as one of the older pages, or finds that it is full or
// closed, and comes back with the index of that moment. Of several that exchange the index at once
// one succeeds, and the others drop their pages before anything is counted there.
func (t *stripe) countStored(i, n uint64) {
	for {
		x := t.index.Load()
		p := x.page(i >> pageScale)
		switch {
		case p.none():
		case p.add(i%pageSize, n):
			return
		case p.width() == widest:
			word, _ := p.place(i % pageSize)
			word.Add(n) // 2^64 values and more wrap
			return
		}
		t.index.CompareAndSwap(x, x.with(i>>pageScale, n))
	}
}

// fold moves the counts of older pages to the pages that have taken their place, and lets go of
// them. The caller holds Concurrent.mu, so that no reader comes while some of the counts are in
// neither.
func (t *stripe) fold() {
	for {
		x := t.index.Load()
		done := len(x.older)
		if done == 0 {
			return
		}
		for _, o := range x.older {
			o.close(func(j, n uint64) { t.countStored(o.place<<pageScale|j, n) })
		}
		// Writers only put older pages behind these.
		for x = t.index.Load(); !t.index.CompareAndSwap(x, x.without(done)); {
			x = t.index.Load()
		}
	}
}

// total128 returns the sum, never less than the last time. The caller holds Concurrent.mu.
func (s *moments) total128() uint128 {
	var sum uint128
	for {
		sum.hi = s.sumHi.Load()
		sum.lo = s.sumLo.Load()
		if s.sumHi.Load() == sum.hi {
			break
		}
	}
	// The low half has wrapped and the writer has yet to carry.
	for sum.less(s.seen) {
		sum.hi++
	}
	s.seen = sum
	return sum
}

// addCounts adds all but the sum and the extremes to s. The caller holds Concurrent.mu.
func (t *stripe) addCounts(s *Snapshot) {
	t.fold()
	t.index.Load().addTo(s)
	s.underflow += t.underflow.Load()
	s.overflow += t.overflow.Load()
}

// extremes returns the minimum and the maximum; the minimum is greater while there is none.
func (s *moments) extremes() (lowest, highest uint64) { return s.min.Load(), s.max.Load() }

// forget makes the extremes those of values to come.
func (s *moments) forget() {
	s.min.Store(math.MaxUint64)
	s.max.Store(0)
}

// total returns the number of values counted.
func (t *stripe) total() uint64 {
	n := t.underflow.Load() + t.overflow.Load()
	t.index.Load().each(func(_ uint64, p page) { n += p.total() })
	return n
}

func (t *stripe) sizeBytes() int { return int(unsafe.Sizeof(*t)) + t.index.Load().sizeBytes() }

// absorb adds what from counts to t. No writer has from any more, and the caller holds
// Concurrent.mu, so that no reader misses it or sees it twice; other writers of t go on.
func (t *stripe) absorb(l *layout, from counters) {
	t.addSum(from.total128())
	if low, high := from.extremes(); low <= high {
		t.widen(low)
		t.widen(high)
	}
	counts := (*Snapshot)(nil).prepare(*l, 0, EquivalentMid)
	from.addCounts(counts)
	for i, c := range counts.chunks {
		if c == nil {
			continue
		}
		for j, n := range c {
			if n != 0 {
				t.countStored(uint64(i)<<chunkScale+uint64(j), n)
			}
		}
	}
	t.underflow.Add(counts.underflow)
	t.overflow.Add(counts.overflow)
}

// counters are a set of counters that readers add up: a [stripe], or the [solo] of a single writer.
// The caller holds Concurrent.mu.
type counters interface {
	total128() uint128
	extremes() (lowest, highest uint64)
	addCounts(s *Snapshot)
	total() uint64
	forget()
	sizeBytes() int
}
