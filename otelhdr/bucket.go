package otelhdr

import "iter"

// A Bucket is a range of values that are counted together.
type Bucket struct {
	Low   uint64 // the smallest value of the bucket
	High  uint64 // the greatest value of the bucket; a bucket of a single value has High == Low
	Count uint64 // how many values fell in
}

// Mid returns the middle of the bucket, rounded up. For a bucket in range, no value of it is
// further away than the relative error times the value.
func (b Bucket) Mid() uint64 {
	width := b.High - b.Low
	return b.Low + width/2 + width&1
}

// clamp returns the value of the bucket that is nearest to v.
func (b Bucket) clamp(v uint64) uint64 { return min(max(v, b.Low), b.High) }

// relativeError returns the distance of the middle from the furthest value of the bucket, divided
// by the middle.
func (b Bucket) relativeError() float64 {
	return float64(b.Mid()-b.Low) / float64(max(b.Mid(), 1))
}

// Buckets returns the buckets that are not empty, in ascending order of what they are counted as.
// Values below the range are one bucket, from the minimum to the last value before the range;
// values above it are one, from the first value after the range to the maximum. Buckets that came
// from elsewhere, see [NewSnapshot], may overlap.
func (s *Snapshot) Buckets() iter.Seq[Bucket] {
	return func(yield func(Bucket) bool) {
		s.each(func(_ int, b Bucket) bool { return yield(b) })
	}
}

// BucketPercentiles returns for each bucket of [Snapshot.Buckets] the percentile of its greatest
// value, whose Percent is the part of all values that are in this bucket and those before, and
// whose Value stands for the bucket.
func (s *Snapshot) BucketPercentiles() iter.Seq[Percentile] {
	return func(yield func(Percentile) bool) {
		var rank uint64
		o := s.overlaps()
		s.each(func(slot int, b Bucket) bool {
			rank += b.Count
			return yield(s.upTo(b, slot, rank, o))
		})
	}
}

// upTo returns the percentile of the greatest value of b, in slot or out of range, before and in
// which there are rank values.
func (s *Snapshot) upTo(b Bucket, slot int, rank uint64, o *overlaps) Percentile {
	p := Percentile{Percent: 100 * (float64(rank) / float64(s.count)), Rank: rank, Bucket: b, Slot: max(slot, -1), Index: -1}
	if slot >= 0 {
		p.Index = int(s.layout.first) + slot
	}
	bounds := o.bounds(rank, b)
	switch {
	case slot == slotBelow && o == nil:
		p.Value = s.min
	case slot == slotAbove && o == nil:
		p.Value = s.max
	default:
		p.Value = min(max(bounds.Equivalent(s.equivalent), s.min), s.max)
	}
	p.Error = max(distance(p.Value, bounds.Low), distance(p.Value, bounds.High))
	return p
}

// What each yields instead of slots for the values out of range.
const (
	slotBelow = -1
	slotAbove = -2
)

// each yields the buckets that are not empty in ascending order, and the slot of each, until yield
// returns false.
func (s *Snapshot) each(yield func(slot int, b Bucket) bool) {
	if s.underflow != 0 && !yield(slotBelow, s.below()) {
		return
	}
	for slot := uint64(0); slot < s.layout.size; slot++ {
		c := s.chunks[slot>>chunkScale]
		switch {
		case c == nil:
			slot |= chunkSize - 1
			continue
		case c[slot%chunkSize] == 0:
			continue
		}
		if !yield(int(slot), s.bucket(slot)) {
			return
		}
	}
	if s.overflow != 0 {
		yield(slotAbove, s.above())
	}
}

// bucket returns the bucket of a slot.
func (s *Snapshot) bucket(slot uint64) Bucket {
	n := s.counted(slot)
	if b, wide := s.wide[slot]; wide && n != 0 {
		return Bucket{Low: b.Low, High: b.High, Count: n}
	}
	index := s.layout.first + slot
	return Bucket{Low: s.layout.low(index), High: s.layout.high(index), Count: n}
}

// counted returns the counter of a slot.
func (s *Snapshot) counted(slot uint64) uint64 {
	if c := s.chunks[slot>>chunkScale]; c != nil {
		return c[slot%chunkSize]
	}
	return 0
}

// below returns the bucket of the values that are counted below the range.
func (s *Snapshot) below() Bucket {
	lowest, _ := s.layout.bounds()
	return Bucket{Low: s.min, High: lowest - 1 + s.reachUp, Count: s.underflow}
}

// above returns the bucket of the values that are counted above the range.
func (s *Snapshot) above() Bucket {
	_, highest := s.layout.bounds()
	return Bucket{Low: highest + 1 - s.reachDown, High: s.max, Count: s.overflow}
}

// middle returns what stands for the values of a slot: the middle of its bucket, as far as that is
// in the slot and between the extremes.
func (s *Snapshot) middle(slot uint64) uint64 {
	index := s.layout.first + slot
	mid := s.layout.mid(index)
	if b, wide := s.wide[slot]; wide {
		mid = Bucket{Low: s.layout.low(index), High: s.layout.high(index)}.clamp(b.Mid())
	}
	return min(max(mid, s.min), s.max)
}

// values yields what stands for the values of each bucket, and the bucket's count, in ascending
// order. In range that is the middle of the bucket, or the extreme that lies before it. Out of
// range the only values that are known are the extremes.
func (s *Snapshot) values(yield func(v, n uint64) bool) {
	if s.underflow != 0 && !yield(s.min, s.underflow) {
		return
	}
	for i, c := range s.chunks {
		if c == nil {
			continue
		}
		for j, n := range c {
			if n != 0 && !yield(s.middle(uint64(i)<<chunkScale+uint64(j)), n) {
				return
			}
		}
	}
	if s.overflow != 0 {
		yield(s.max, s.overflow)
	}
}

// An Equivalent is which value stands for all values of a bucket.
type Equivalent uint8

const (
	// EquivalentMid is the middle, which no value of the bucket is further from than the relative
	// error.
	EquivalentMid Equivalent = iota
	// EquivalentLow is the smallest value of the bucket, at most twice the relative error below any
	// other.
	EquivalentLow
	// EquivalentHigh is the greatest value of the bucket, at most twice the relative error above
	// any other: what HdrHistogram reports.
	EquivalentHigh
)

// Equivalent returns the value that stands for the bucket.
func (b Bucket) Equivalent(e Equivalent) uint64 {
	switch e {
	case EquivalentLow:
		return b.Low
	case EquivalentHigh:
		return b.High
	default:
		return b.Mid()
	}
}
