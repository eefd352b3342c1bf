package otelhdr

import (
	"fmt"
	"math/bits"
	"runtime"
)

// A client that waits for each answer before it asks again, every interval otherwise, asks too
// rarely just when answers are slow: one that took ten intervals stands for nine more requests that
// would have waited 9, 8, … 1 intervals. Adding those is how HdrHistogram corrects for what Gil
// Tene calls coordinated omission.

// RecordCorrected records v, and if that is more than interval also v - interval, v - 2 × interval
// and so on down to interval. An interval of 0 adds nothing. The values that share a bucket are
// counted at once, so the cost is bounded by the number of buckets below v however small the
// interval.
func (h *Histogram) RecordCorrected(v, interval uint64) {
	h.Record(v)
	correct(&h.layout, v, interval, 1, h)
}

// RecordCorrected records v and what it stands for, as [Histogram.RecordCorrected] does.
func (c *Concurrent) RecordCorrected(v, interval uint64) {
	c.Record(v)
	correct(&c.layout, v, interval, 1, c)
}

// RecordCorrected records v and what it stands for, as [Histogram.RecordCorrected] does.
func (r *Recorder) RecordCorrected(v, interval uint64) {
	r.Record(v)
	correct(&r.layout, v, interval, 1, r)
}

// Corrected returns s as it would be had [Histogram.RecordCorrected] recorded all its values, each
// of which counts as what its bucket stands for. It is written to dst, which is allocated if nil
// and may be s. It is for a histogram of values recorded as they came; correcting twice is wrong.
//
// The error wraps [ErrCount]; what dst then holds is not defined.
func (s *Snapshot) Corrected(interval uint64, dst *Snapshot) (*Snapshot, error) {
	if dst == nil {
		dst = new(Snapshot)
	}
	if dst != s {
		dst.setDifference(s, new(Snapshot))
	}
	added := &snapshotRuns{to: dst, min: s.min}
	dst.era = 0
	// The values of one bucket add only to buckets before it and, after its count was read, to
	// itself.
	for v, n := range s.values {
		correct(&dst.layout, v, interval, n, added)
	}
	if added.overflow {
		return nil, fmt.Errorf("%w: correction for interval %d: must be below 2^64", ErrCount, interval)
	}
	dst.min = added.min
	return dst, nil
}

// A run is the values last, last + interval, … first, m of them, that share a counter, each of them
// n times.
type run struct{ first, last, m, n uint64 }

// sum returns the sum of the values, modulo 2^128.
func (r run) sum() uint128 {
	var once uint128
	if r.m%2 == 0 {
		hi, lo := bits.Mul64(r.m/2, r.first)
		once = uint128{hi: hi, lo: lo}
		hi, lo = bits.Mul64(r.m/2, r.last)
		once = once.add(uint128{hi: hi, lo: lo})
	} else {
		hi, lo := bits.Mul64(r.m, r.last+(r.first-r.last)/2) // the value in the middle
		once = uint128{hi: hi, lo: lo}
	}
	hi, lo := bits.Mul64(once.lo, r.n)
	return uint128{hi: hi + once.hi*r.n, lo: lo}
}

// correct gives to the values that v stands for beside itself, each n times.
func correct(l *layout, v, interval, n uint64, to interface{ recordRun(run) }) {
	if interval == 0 || v < interval {
		return
	}
	lowest, highest := l.bounds()
	for x := v - interval; x >= interval; {
		end := uint64(0) // the smallest value that shares the counter of x
		switch {
		case x > highest:
			end = highest + 1
		case x >= lowest:
			end = l.low(l.index(x))
		}
		m := (x-max(end, interval))/interval + 1
		last := x - (m-1)*interval
		to.recordRun(run{first: x, last: last, m: m, n: n})
		x = last - interval
	}
}

func (h *Histogram) recordRun(r run) {
	h.sum = h.sum.add(r.sum())
	h.extend(r.last, r.first)
	h.count(r.first, r.m*r.n)
}

func (c *Concurrent) recordRun(r run) {
	s := c.set.Load()
	t := s.pick()
	t.addSum(r.sum())
	t.widen(r.first)
	t.widen(r.last)
	t.count(&c.layout, r.first, c.layout.index(r.first)-c.layout.first, r.m*r.n)
	runtime.KeepAlive(s) // see stripeSet
}

func (r *Recorder) recordRun(of run) {
	if r.own == nil {
		r.c.recordRun(of)
		return
	}
	r.own.addSum(of.sum())
	r.own.widen(of.first)
	r.own.widen(of.last)
	r.own.count(&r.layout, of.first, of.m*of.n)
	r.look()
	runtime.KeepAlive(r)
}

// snapshotRuns adds runs to a snapshot, but for the minimum, which is kept for later.
type snapshotRuns struct {
	to       *Snapshot
	min      uint64
	overflow bool
}

func (a *snapshotRuns) recordRun(r run) {
	hi, n := bits.Mul64(r.m, r.n)
	count, carry := bits.Add64(a.to.count, n, 0)
	if a.overflow = a.overflow || hi|carry != 0; a.overflow {
		return
	}
	a.to.count = count
	a.to.sum = a.to.sum.add(r.sum())
	a.min = min(a.min, r.last)
	a.to.place(Bucket{Low: r.last, High: r.first, Count: n}, r.first)
}
