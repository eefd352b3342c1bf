package otelhdr

import (
	"math/bits"
	"runtime"
)

// A Recorder records into a [Concurrent] for one goroutine at a time, with counters that nobody else writes: at about
// the cost of a [Histogram], however many others record. What it has recorded is in every snapshot taken from then
// on.
//
// It suits goroutines that live long, such as workers, since each has memory for the values that it records.
type Recorder struct {
	layout  layout
	t       *stripe // nil once closed
	c       *Concurrent
	cleanup runtime.Cleanup
}

// Recorder returns a handle for the calling goroutine, or any other one at a time. Close gives its counters to the next
// Recorder. If it is not closed the garbage collector does that, some time after the last use; no count is lost in
// either case.
//
// Costs some 50 ns if another Recorder has been closed before, and as much as a new histogram otherwise.
func (c *Concurrent) Recorder() *Recorder {
	t := c.acquire()
	r := &Recorder{layout: c.layout, t: t, c: c}
	r.cleanup = runtime.AddCleanup(r, c.release, t)
	return r
}

// Record adds v, as [Concurrent.Record] does.
func (r *Recorder) Record(v uint64) {
	t := r.t
	if t == nil {
		r.c.Record(v)
		return
	}
	sum, carry := bits.Add64(t.sumLo.Load(), v, 0)
	setOwn(&t.sumLo, sum)
	if carry != 0 {
		t.sumHi.Add(1) // see addSumOwn
	}
	if v > t.max.Load() {
		t.widen(v)
	}
	if v < t.min.Load() {
		t.widen(v)
	}
	i := r.layout.index(v) - r.layout.first
	if i < r.layout.size {
		if k := t.chunks[i>>chunkScale].Load(); k != nil {
			addOwn(&k[i%chunkSize], 1)
			// Otherwise r may be collected, and its counters be given to another, before the last write to them.
			runtime.KeepAlive(r)
			return
		}
	}
	t.count(&r.layout, v, i, 1)
	runtime.KeepAlive(r)
}

// RecordN adds v n times, as [Concurrent.RecordN] does.
func (r *Recorder) RecordN(v, n uint64) {
	if n == 0 {
		return
	}
	if r.t == nil {
		r.c.RecordN(v, n)
		return
	}
	r.t.recordOwn(&r.layout, v, n)
	runtime.KeepAlive(r)
}

// Close gives the counters back, with all that they count. Whatever is recorded after Close is recorded by the
// Concurrent itself. Closing again changes nothing.
func (r *Recorder) Close() {
	if r.t == nil {
		return
	}
	r.cleanup.Stop()
	r.c.release(r.t)
	r.t = nil
}

// acquire returns a stripe for one writer.
func (c *Concurrent) acquire() *stripe {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.idle); n > 0 {
		t := c.idle[n-1]
		c.idle = c.idle[:n-1]
		return t
	}
	return c.newOwned()
}

// newOwned adds a stripe for one writer. The caller holds mu.
func (c *Concurrent) newOwned() *stripe {
	t := c.set.Load().stripes[0].sibling(&c.layout)
	c.owned = append(c.owned, t)
	return t
}

// release takes back a stripe that has no writer any more. Some are kept for writers to come, which spares these the
// memory; beyond that, what they count is moved to the stripe that the Concurrent began with.
func (c *Concurrent) release(t *stripe) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.idle) < stripeLimit() {
		c.idle = append(c.idle, t)
		return
	}
	for i := range c.owned {
		if c.owned[i] == t {
			last := len(c.owned) - 1
			c.owned[i], c.owned[last] = c.owned[last], nil
			c.owned = c.owned[:last]
			break
		}
	}
	c.set.Load().stripes[0].absorb(&c.layout, t)
}

// absorb adds what from counts to t. Nobody writes to from, and the caller holds Concurrent.mu, so that no reader misses
// it or sees it twice; other writers of t go on.
func (t *stripe) absorb(l *layout, from *stripe) {
	sum := from.sum()
	hi := sum.hi
	if t.sumLo.Add(sum.lo) < sum.lo {
		hi++
	}
	if hi != 0 {
		t.sumHi.Add(hi)
	}
	if low, high := from.min.Load(), from.max.Load(); low <= high {
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
				at := uint64(i)<<chunkScale + uint64(j)
				t.count(l, l.low(l.first+at), at, n)
			}
		}
	}
	t.underflow.Add(counts.underflow)
	t.overflow.Add(counts.overflow)
}
