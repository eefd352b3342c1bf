package otelhdr

import "iter"

// A Bucket is a range of values that are counted together.
type Bucket struct {
	Low   uint64 // the smallest value of the bucket
	High  uint64 // the greatest value of the bucket; a bucket of a single value has High == Low
	Count uint64 // how many values fell in
}

// Mid returns the middle of the bucket, rounded up. For a bucket in range, no value of it is further away than the
// relative error times the value.
func (b Bucket) Mid() uint64 {
	width := b.High - b.Low
	return b.Low + width/2 + width&1
}

// clamp returns the value of the bucket that is nearest to v.
func (b Bucket) clamp(v uint64) uint64 { return min(max(v, b.Low), b.High) }

// Buckets returns the buckets that are not empty, in ascending order. Values below the range are one bucket, from the
// minimum to the last value before the range; values above it are one, from the first value after the range to the
// maximum.
func (s *Snapshot) Buckets() iter.Seq[Bucket] {
	return func(yield func(Bucket) bool) {
		lowest, highest := s.layout.bounds()
		if s.underflow != 0 && !yield(Bucket{Low: s.min, High: lowest - 1, Count: s.underflow}) {
			return
		}
		if !s.stored(yield) {
			return
		}
		if s.overflow != 0 {
			yield(Bucket{Low: highest + 1, High: s.max, Count: s.overflow})
		}
	}
}

// stored yields the buckets in range that are not empty, in ascending order, until yield returns false, which it then
// returns too.
func (s *Snapshot) stored(yield func(Bucket) bool) bool {
	for i, c := range s.chunks {
		if c == nil {
			continue
		}
		for j, n := range c {
			if n != 0 && !yield(s.bucket(i, j)) {
				return false
			}
		}
	}
	return true
}

// bucket returns the bucket whose counter is number j of chunk i, which must be allocated.
func (s *Snapshot) bucket(i, j int) Bucket {
	index := s.layout.first + uint64(i)<<chunkScale + uint64(j)
	return Bucket{Low: s.layout.low(index), High: s.layout.high(index), Count: s.chunks[i][j]}
}

// values yields what [Snapshot.Percentile] returns for the values of each bucket, and the bucket's count, in ascending
// order. In range that is the middle of the bucket, or the extreme that lies before it. Out of range the only values
// that are known are the extremes.
func (s *Snapshot) values(yield func(v, n uint64) bool) {
	if s.underflow != 0 && !yield(s.min, s.underflow) {
		return
	}
	for i, c := range s.chunks {
		if c == nil {
			continue
		}
		index := s.layout.first + uint64(i)<<chunkScale
		for j, n := range c {
			if n == 0 {
				continue
			}
			mid := s.layout.mid(index + uint64(j))
			if !yield(min(max(mid, s.min), s.max), n) {
				return
			}
		}
	}
	if s.overflow != 0 {
		yield(s.max, s.overflow)
	}
}
