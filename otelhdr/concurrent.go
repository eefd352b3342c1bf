package otelhdr

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// A Concurrent is a histogram that any number of goroutines may record into and read at the same
// time. Writers take no lock and do not wait for each other or for readers.
//
// Its counters have one bit at first, and 2, 4 … 64 where they need them, for each page of 64
// buckets apart, so that a series of a million latencies takes some 5 KB at 0.1 % and 1.5 KB at 1
// %. No count is lost, wrapped or cut off by that. When goroutines record at the same time and
// often enough to slow each other down, it adds further sets of counters, up to twice GOMAXPROCS
// rounded up to a power of two and never more than 32, each with memory only for the values that
// its goroutines record. A snapshot that finds fewer than 100,000 records a second, over a second
// at least, merges them again. There is no third kind with one set of atomic counters: this is it,
// until that would be slower.
//
// A goroutine that records much gets a [Recorder] of its own.
type Concurrent struct {
	layout layout
	set    atomic.Pointer[stripeSet]

	mu       sync.Mutex   // held by readers; writers do not take it
	base     *Snapshot    // the counters at the last Reset; nil before the first
	era      uint64       // guarded by mu
	owned    []*solo      // with a single writer each; guarded by mu
	idle     []*solo      // those of owned that wait for a Recorder; guarded by mu
	merging  []*stripe    // that are in no set any more; guarded by mu
	replaced atomic.Int64 // sets that were exchanged, and that a writer may still have
	rate     rate         // guarded by mu

	equivalent Equivalent
}

// NewConcurrent returns an empty histogram for any number of goroutines, or an error that wraps
// [ErrConfig].
func NewConcurrent(opts ...Option) (*Concurrent, error) {
	cfg, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	c := &Concurrent{
		layout:     newLayout(cfg.relativeError, cfg.lowest, cfg.highest),
		era:        newEra(),
		rate:       rate{at: time.Since(processStart)},
		equivalent: cfg.equivalent,
	}
	c.set.Store(singleStripe(newStripe()))
	return c, nil
}

// Record adds v, in the histogram's own unit, in [0, 2^64). A value outside the range is counted by
// [Snapshot.Underflow] or [Snapshot.Overflow]. Record allocates when a value first falls into a
// page of 64 buckets, when the count of a bucket reaches 2, 4, 16, 256, 65,536 or 2^32 as the first
// of its page, and when a set of counters is added, and nothing otherwise. It costs two atomic
// compare-and-swaps.
func (c *Concurrent) Record(v uint64) { c.RecordN(v, 1) }

// RecordN adds v n times, at the cost of one [Concurrent.Record]. An n of 0 changes nothing.
func (c *Concurrent) RecordN(v, n uint64) {
	if n == 0 {
		return
	}
	s := c.set.Load()
	t := s.pick()
	// The index is looked up before the first atomic write, which the processor would have it wait
	// for. An index that is exchanged meanwhile does no harm: see countStored.
	x := t.index.Load()
	i := c.layout.index(v) - c.layout.first

	// The sum and the extremes come first and the counter last. Go's atomics are sequentially
	// consistent, so a write to the counter that a reader sees happens before its load, and with it
	// the writes to the rest: a reader that looks at the rest after the counters sees that this
	// value is part of it.
	hi, lo := bits.Mul64(v, n)
	old := t.sumLo.Load()
	sum, carry := bits.Add64(old, lo, 0)
	if !t.sumLo.CompareAndSwap(old, sum) {
		carry = 0
		if t.sumLo.Add(lo) < lo {
			carry = 1
		}
		c.collided(s, t)
	}
	if hi|carry != 0 {
		t.sumHi.Add(hi + carry)
	}

	if v > t.max.Load() || v < t.min.Load() {
		t.widen(v)
	}

	if k := i>>pageScale - x.first; k < uint64(len(x.pages)) && i < c.layout.size {
		if p := x.pages[k]; !p.none() {
			word, bit := p.place(i % pageSize)
			most, old := p.most(), word.Load()
			if n <= most-old>>(bit&63)&most && word.CompareAndSwap(old, old+n<<(bit&63)) {
				runtime.KeepAlive(s) // see stripeSet
				return
			}
		}
	}
	t.count(&c.layout, v, i, n)
	runtime.KeepAlive(s)
}

// Snapshot copies what was recorded since creation, or since the last Reset, into dst and returns
// it. A nil dst is allocated; a dst used before is overwritten, and costs no allocation unless
// values have reached a new chunk of buckets, counters have become wider, or sets of counters are
// merged. It takes about 0.3 µs for every chunk of every set of counters.
//
// Every value whose Record returned before the call is in the snapshot. Of a value recorded
// meanwhile it may hold the share in the sum without the count. All counters, and so the count and
// the sum, only grow from one snapshot to the next.
func (c *Concurrent) Snapshot(dst *Snapshot) *Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	dst = c.load(dst)
	if c.base != nil {
		dst.setDifference(dst, c.base)
		c.calm(dst.count + c.base.count)
	} else {
		dst.settle()
		c.calm(dst.count)
	}
	return dst
}

// all yields all sets of counters. The caller holds mu.
func (c *Concurrent) all(yield func(counters) bool) {
	for _, list := range [...][]*stripe{c.set.Load().stripes, c.merging} {
		for _, t := range list {
			if !yield(t) {
				return
			}
		}
	}
	for _, o := range c.owned {
		if !yield(o) {
			return
		}
	}
}

// load copies the counters as they are, without regard to base, into dst, which is yet to be
// settled. The caller holds mu.
func (c *Concurrent) load(dst *Snapshot) *Snapshot {
	dst = dst.prepare(c.layout, c.era, c.equivalent)
	for t := range c.all {
		t.addCounts(dst)
	}
	// After the counters: see RecordN. Stripes added meanwhile hold at most what their writers are
	// still recording.
	for t := range c.all {
		dst.sum = dst.sum.add(t.total128())
		low, high := t.extremes()
		dst.min, dst.max = min(dst.min, low), max(dst.max, high)
	}
	return dst
}

// Reset starts anew: later snapshots hold only what is recorded from here on. The counters are not
// touched but kept as a baseline that readers subtract, so that no value recorded meanwhile is lost
// or counted twice.
//
// The minimum and the maximum do start anew. If a value is recorded during Reset, its count and its
// share in the sum may come to stand on different sides of it, and the extremes may be off, by less
// than a bucket, until a more extreme value comes.
func (c *Concurrent) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for t := range c.all {
		t.forget()
	}
	c.era = newEra()
	c.base = c.load(c.base)
	c.base.settle()
}

// Count returns the number of values recorded since creation or the last Reset, in and out of
// range. It adds up the counters, at about the cost of a Snapshot.
func (c *Concurrent) Count() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	var n uint64
	for t := range c.all {
		n += t.total()
	}
	if c.base != nil {
		n -= c.base.count
	}
	return n
}

// Sum128 returns the exact sum of the values recorded since creation or the last Reset, hi<<64 +
// lo. It reads a few words where a Snapshot reads all counters. Of a value recorded meanwhile it
// may hold the share.
func (c *Concurrent) Sum128() (hi, lo uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var sum uint128
	for t := range c.all {
		sum = sum.add(t.total128())
	}
	if c.base != nil {
		sum = sum.sub(c.base.sum)
	}
	return sum.hi, sum.lo
}

// RelativeError returns the bound of the layout, as a fraction: no value in range is further from
// the middle of its bucket than this times the value.
func (c *Concurrent) RelativeError() float64 { return c.layout.relativeError() }

// Range returns the smallest and the greatest value that are in range: those of [WithRange],
// widened to whole buckets.
func (c *Concurrent) Range() (lowest, highest uint64) { return c.layout.bounds() }

// SizeBytes returns the memory that the histogram holds now, with all its sets of counters and the
// baseline of the last Reset.
func (c *Concurrent) SizeBytes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	set := c.set.Load()
	const pointer = int(unsafe.Sizeof(uintptr(0)))
	n := int(unsafe.Sizeof(*c)) + int(unsafe.Sizeof(*set))
	n += pointer * (cap(set.stripes) + cap(c.owned) + cap(c.idle) + cap(c.merging))
	for t := range c.all {
		n += t.sizeBytes()
	}
	if c.base != nil {
		n += c.base.SizeBytes()
	}
	return n
}
