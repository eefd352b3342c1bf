package otelhdr

import "maps"

// Since returns what was recorded after prev was taken and until s was: the difference of two
// snapshots of one histogram, in dst. A nil dst is allocated; dst may be prev or s. If prev is nil,
// of another histogram, from before a Reset, or itself a result of Since, nothing is subtracted and
// the result equals s.
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
	if prev == nil || prev.era == 0 || prev.era != s.era {
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
