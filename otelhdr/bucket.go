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

// AllBuckets returns the buckets as Buckets does, and with them those in range that are empty. At 0.1 % and without a
// range these are 28672.
func (s *Snapshot) AllBuckets() iter.Seq[Bucket] {
	return func(yield func(Bucket) bool) {
		lowest, highest := s.layout.bounds()
		if s.underflow != 0 && !yield(Bucket{Low: s.min, High: lowest - 1, Count: s.underflow}) {
			return
		}
		for i := range s.layout.size {
			index := s.layout.first + i
			b := Bucket{Low: s.layout.low(index), High: s.layout.high(index)}
			if c := s.chunks[i>>chunkScale]; c != nil {
				b = s.bucket(int(i>>chunkScale), int(i%chunkSize))
			}
			if !yield(b) {
				return
			}
		}
		if s.overflow != 0 {
			yield(Bucket{Low: highest + 1, High: s.max, Count: s.overflow})
		}
	}
}

// BucketPercentiles returns for each bucket of [Snapshot.Buckets] the percentile of its greatest value, whose Percent
// is the part of all values that are in this bucket and those before, and whose Value stands for the bucket.
func (s *Snapshot) BucketPercentiles() iter.Seq[Percentile] {
	return func(yield func(Percentile) bool) {
		var rank uint64
		for b := range s.Buckets() {
			if rank += b.Count; !yield(s.upTo(b, rank)) {
				return
			}
		}
	}
}

// AllBucketPercentiles returns what BucketPercentiles does for the buckets of [Snapshot.AllBuckets].
func (s *Snapshot) AllBucketPercentiles() iter.Seq[Percentile] {
	return func(yield func(Percentile) bool) {
		var rank uint64
		for b := range s.AllBuckets() {
			if rank += b.Count; !yield(s.upTo(b, rank)) {
				return
			}
		}
	}
}

// upTo returns the percentile of the greatest value of b, before and in which there are rank values.
func (s *Snapshot) upTo(b Bucket, rank uint64) Percentile {
	p := Percentile{Rank: rank, Bucket: b, Slot: -1, Index: -1}
	if s.count != 0 {
		p.Percent = 100 * (float64(rank) / float64(s.count))
	}
	switch lowest, highest := s.layout.bounds(); {
	case b.High < lowest:
		p.Value = s.min
	case b.Low > highest:
		p.Value = s.max
	default:
		p.Index = int(s.layout.index(b.Mid()))
		p.Slot = p.Index - int(s.layout.first)
		p.Value = b.Equivalent(s.equivalent)
		if b.Count != 0 {
			p.Value = min(max(p.Value, s.min), s.max)
		}
	}
	p.Error = max(p.Value-b.Low, b.High-p.Value)
	return p
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
	slot := uint64(i)<<chunkScale + uint64(j)
	if b, wide := s.wide[slot]; wide {
		b.Count = s.chunks[i][j]
		return b
	}
	index := s.layout.first + slot
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
