package otelhdr

import (
	"errors"
	"fmt"
	"maps"
	"math/bits"
)

var (
	// ErrLayout is wrapped by the error about two snapshots whose buckets differ.
	ErrLayout = errors.New("otelhdr: layouts differ")
	// ErrCount is wrapped by the error about a count that would be negative or reach 2^64.
	ErrCount = errors.New("otelhdr: count out of range")
)

// Merge adds what from has counted to s, exactly: counts, sum and extremes are those of one
// histogram that had recorded both. The zero Snapshot takes the layout of from. Merging is
// associative and commutative. From is not changed, and may be s.
//
// Merge returns an error that wraps [ErrLayout] where the layouts differ, which
// [Snapshot.MergeMidpoints] accepts, or [ErrCount], and has then changed nothing.
func (s *Snapshot) Merge(from *Snapshot) error {
	if from.layout.size == 0 {
		return nil
	}
	if s.layout.size == 0 {
		*s = Snapshot{layout: from.layout, chunks: make([]*chunk, len(from.chunks)), equivalent: from.equivalent}
	}
	if s.layout != from.layout {
		return fmt.Errorf("%w: %v and %v", ErrLayout, s.layout, from.layout)
	}
	if err := s.mergeMoments(from); err != nil {
		return err
	}
	s.widenAll(from)
	for i, c := range from.chunks {
		if c == nil {
			continue
		}
		to := s.chunk(i)
		for j, n := range c {
			to[j] += n
		}
	}
	s.underflow += from.underflow
	s.overflow += from.overflow
	return nil
}

// MergeMidpoints adds what from has counted to s, whose layout may be another: each bucket of from
// is counted where its middle falls and keeps its bounds, which the errors of percentiles hold.
// Count, sum and extremes are exact as with [Snapshot.Merge]. It returns an error that wraps
// [ErrCount], and has then changed nothing.
func (s *Snapshot) MergeMidpoints(from *Snapshot) error {
	if s.layout == from.layout || s.layout.size == 0 {
		return s.Merge(from)
	}
	if err := s.mergeMoments(from); err != nil {
		return err
	}
	from.each(func(slot int, b Bucket) bool {
		v := min(max(b.Mid(), from.min), from.max)
		switch slot {
		case slotBelow:
			v = from.min
		case slotAbove:
			v = from.max
		}
		s.place(b, v)
		return true
	})
	return nil
}

// mergeMoments adds all of from but its counters.
func (s *Snapshot) mergeMoments(from *Snapshot) error {
	count, carry := bits.Add64(s.count, from.count, 0)
	if carry != 0 {
		return fmt.Errorf("%w: %d + %d: must be below 2^64", ErrCount, s.count, from.count)
	}
	switch {
	case from.count == 0:
	case s.count == 0:
		s.min, s.max, s.approximate = from.min, from.max, from.approximate
	default:
		s.min, s.max, s.approximate = min(s.min, from.min), max(s.max, from.max), s.approximate || from.approximate
	}
	s.count, s.sum, s.era, s.totals = count, s.sum.add(from.sum), 0, s.totals[:0]
	return nil
}

// tally adds n to the counter of v.
func (s *Snapshot) tally(v, n uint64) {
	s.totals = s.totals[:0]
	switch i := s.layout.index(v) - s.layout.first; {
	case i < s.layout.size:
		s.chunk(int(i >> chunkScale))[i%chunkSize] += n
	case s.layout.under(v):
		s.underflow += n
	default:
		s.overflow += n
	}
}

// Subtract takes what from has counted away from s, the reverse of [Snapshot.Merge]. The extremes
// of what is left are as exact as with [Snapshot.Since]. From is not changed, and may be s.
//
// It returns an error that wraps [ErrLayout] where the layouts differ, or [ErrCount] where s has
// fewer values in some bucket than from, or a smaller sum, and has then changed nothing.
func (s *Snapshot) Subtract(from *Snapshot) error {
	if from.layout.size == 0 {
		return nil
	}
	if s.layout != from.layout {
		return fmt.Errorf("%w: %v and %v", ErrLayout, s.layout, from.layout)
	}
	if b, n := s.short(from); b.Count > n {
		return fmt.Errorf("%w: bucket %v from %d: must not be more", ErrCount, b, n)
	}
	if s.sum.less(from.sum) {
		return fmt.Errorf("%w: sum %g less %g: must not be negative", ErrCount, s.Sum(), from.Sum())
	}
	some := from.count != 0
	s.setDifference(s, from)
	s.era, s.approximate = 0, s.approximate || some
	return nil
}

// short returns a bucket of from that s has fewer values in, and how many s has. If there is none,
// both are empty.
func (s *Snapshot) short(from *Snapshot) (b Bucket, n uint64) {
	switch {
	case s.underflow < from.underflow:
		return from.below(), s.underflow
	case s.overflow < from.overflow:
		return from.above(), s.overflow
	}
	from.each(func(slot int, of Bucket) bool {
		if slot >= 0 && of.Count > s.counted(uint64(slot)) {
			b, n = of, s.counted(uint64(slot))
		}
		return b.Count == 0
	})
	return b, n
}

// Since returns what was recorded after prev was taken and until s was: the difference of two
// snapshots of one histogram, in dst. A nil dst is allocated; dst may be prev or s. If prev is nil,
// of another histogram, from before a Reset, taken after s, or itself a result of Since, nothing is
// subtracted and the result equals s.
//
// Count, sum and buckets are exact, so the results of successive calls add up. The minimum and the
// maximum are exact where they are extremes of all of s; otherwise they are the nearest values that
// the remaining buckets allow, which differ from the true ones by less than a bucket, twice the
// relative error.
//
// A reader that reports deltas keeps two snapshots and allocates nothing:
//
//	cur = h.Snapshot(cur)
//	delta := cur.Since(prev, prev)
//	report(delta)
//	prev, cur = cur, delta
func (s *Snapshot) Since(prev, dst *Snapshot) *Snapshot {
	if dst == nil {
		dst = new(Snapshot)
	}
	if prev == nil || prev.era == 0 || prev.era != s.era || prev.count > s.count || s.sum.less(prev.sum) {
		dst.setDifference(s, new(Snapshot))
		return dst
	}
	some := prev.count != 0 // before prev is overwritten
	dst.setDifference(s, prev)
	dst.era = 0 // its counters do not grow with the histogram's
	dst.approximate = dst.approximate || some
	return dst
}

// setDifference makes s a less b, which counts no more than a in any bucket and may be the zero
// Snapshot. Either may be s itself: every counter of theirs is read before that of s is written.
func (s *Snapshot) setDifference(a, b *Snapshot) {
	from, base := *a, *b
	s.use(from.layout)
	for i, c := range from.chunks {
		switch {
		case c == nil: // and so base has no counts here
			if own := s.chunks[i]; own != nil {
				*own = chunk{}
			}
		case i >= len(base.chunks) || base.chunks[i] == nil:
			*s.chunk(i) = *c
		default:
			own, d := s.chunk(i), base.chunks[i]
			for j := range own {
				own[j] = c[j] - d[j]
			}
		}
	}
	s.era, s.wide, s.reachUp, s.reachDown = from.era, maps.Clone(from.wide), from.reachUp, from.reachDown
	s.underflow = from.underflow - base.underflow
	s.overflow = from.overflow - base.overflow
	s.sum = from.sum.sub(base.sum)
	s.min, s.max = from.min, from.max
	s.approximate, s.equivalent = from.approximate, from.equivalent
	s.settle()
}
