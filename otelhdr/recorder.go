package otelhdr

import (
	"runtime"
	"slices"
	"sync/atomic"
)

// A Recorder records into a [Concurrent] for one goroutine at a time, with counters that nothing
// else writes: at the cost of a [Histogram], however many others record. Its records are in every
// snapshot taken from then on.
//
// It suits goroutines that live long, such as workers, since each has as much memory as a Histogram
// of its values.
type Recorder struct {
	layout layout
	base   uint64          // logical index of count[0]
	count  []atomic.Uint64 // those of the solo's window that are in range
	own    *solo           // nil once closed

	c       *Concurrent
	cleanup runtime.Cleanup
}

// Recorder returns a handle for the calling goroutine, or any other one at a time. Close gives its
// counters to the next Recorder. If it is not closed the garbage collector does that, some time
// after the last use; no count is lost in either case.
//
// Costs some 50 ns if another Recorder has been closed before, and as much as a new histogram
// otherwise.
func (c *Concurrent) Recorder() *Recorder {
	o := c.acquire()
	r := &Recorder{layout: c.layout, own: o, c: c}
	r.look()
	r.cleanup = runtime.AddCleanup(r, c.release, o)
	return r
}

// look takes the window that the solo has now.
func (r *Recorder) look() {
	w := r.own.window.Load()
	r.base = r.layout.first + w.base
	r.count = w.count
	if w.base < r.layout.size {
		// What is out of range may still lie within the last chunk.
		r.count = w.count[:min(uint64(len(w.count)), r.layout.size-w.base)]
	}
}

// Record adds v, as [Concurrent.Record] does.
func (r *Recorder) Record(v uint64) {
	i := r.layout.index(v) - r.base
	// All that is rare comes first: behind a call, what lies in registers would be stored for each
	// record.
	count, o := r.count, r.own
	if i >= uint64(len(count)) || v > o.max.Load() || v < o.min.Load() { // the first once closed, too
		r.RecordN(v, 1)
		return
	}
	sum := o.sumLo.Load() + v
	setOwn(&o.sumLo, sum)
	if sum < v {
		o.sumHi.Add(1) // see solo.addSum
	}
	addOwn(&count[i], 1)
	// Otherwise r may be collected, and its counters be given to another, before the last write to
	// them.
	runtime.KeepAlive(r)
}

// RecordN adds v n times, as [Concurrent.RecordN] does.
func (r *Recorder) RecordN(v, n uint64) {
	if n == 0 {
		return
	}
	if r.own == nil {
		r.c.RecordN(v, n)
		return
	}
	r.own.record(&r.layout, v, n)
	r.look()
	runtime.KeepAlive(r)
}

// Close gives the counters back, with all that they count. Values recorded after Close are recorded
// by the Concurrent itself. Closing again changes nothing.
func (r *Recorder) Close() {
	if r.own == nil {
		return
	}
	r.cleanup.Stop()
	r.c.release(r.own)
	r.own, r.count = nil, nil
}

// acquire returns a solo.
func (c *Concurrent) acquire() *solo {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.idle); n > 0 {
		o := c.idle[n-1]
		c.idle = c.idle[:n-1]
		return o
	}
	o := newSolo()
	c.owned = append(c.owned, o)
	return o
}

// release takes back a solo that has no writer any more. Some are kept for writers to come, which
// spares these the memory; beyond that, what they count is moved to the stripe that the Concurrent
// began with.
func (c *Concurrent) release(o *solo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.idle) < stripeLimit() {
		c.idle = append(c.idle, o)
		return
	}
	c.owned = slices.DeleteFunc(c.owned, func(other *solo) bool { return other == o })
	c.set.Load().stripes[0].absorb(&c.layout, o)
}
