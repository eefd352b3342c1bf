package otelhdr

import (
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"unsafe"
)

// A Snapshot is what a histogram has counted up to one moment, or between two. It does not change,
// except by being the dst of a later call or by its own Merge, MergeMidpoints and Subtract, so all
// that its methods return belongs together, and any number of goroutines may read it. The zero
// Snapshot is empty and may be used as a dst. A copy of the struct shares the counters of the
// original.
//
// Values are in the unit they were recorded in.
type Snapshot struct {
	layout    layout
	chunks    []*chunk // as in Histogram; nil where nothing has ever been counted
	era       uint64   // of the histogram; 0 for none and for a difference
	count     uint64
	underflow uint64
	overflow  uint64
	sum       uint128
	min, max  uint64 // 0 while count is 0

	// approximate is true if min and max are what the buckets allow, not what was recorded.
	approximate bool
	equivalent  Equivalent

	// wide has the bounds of the slots, by number, whose values may lie outside the bucket of the
	// layout. How far into the range the values that are counted below and above it may lie is in
	// reachUp and reachDown.
	wide               map[uint64]Bucket
	reachUp, reachDown uint64

	totals []uint64 // of each chunk; of another length than chunks where they are not known
	spare  []*chunk // with all counters 0, for values that the next to be copied may have
}

// Count returns the number of values, in and out of range. It is always the sum of the counts of
// [Snapshot.Buckets].
func (s *Snapshot) Count() uint64 { return s.count }

// Underflow returns how many of the values were below the range of the histogram.
func (s *Snapshot) Underflow() uint64 { return s.underflow }

// Overflow returns how many of the values were above the range of the histogram.
func (s *Snapshot) Overflow() uint64 { return s.overflow }

// Sum returns the sum of the values, in and out of range: the float64 nearest to the exact sum,
// which [Snapshot.Sum128] returns.
func (s *Snapshot) Sum() float64 { return s.sum.float64() }

// Sum128 returns the exact sum of the values, hi<<64 + lo. It cannot overflow before the count
// does.
func (s *Snapshot) Sum128() (hi, lo uint64) { return s.sum.hi, s.sum.lo }

// Min returns the smallest value, in or out of range, or 0 if there is none. It is exact; see
// [Snapshot.Since] and [Concurrent.Reset] for where it may be off by up to a bucket, twice the
// relative error. Of buckets that came from elsewhere, see [NewSnapshot], it is the least value
// that they allow, as HdrHistogram has it.
func (s *Snapshot) Min() uint64 { return s.min }

// Max returns the greatest value, in or out of range, or 0 if there is none. It is as exact as
// [Snapshot.Min], and the greatest value that buckets from elsewhere allow.
func (s *Snapshot) Max() uint64 { return s.max }

// Mean returns the exact sum divided by the count, or 0 if there are no values. Values of buckets
// that came from elsewhere count as the middle of theirs, as HdrHistogram has it, so the true mean
// may be off by as much as those are wide.
func (s *Snapshot) Mean() float64 {
	if s.count == 0 {
		return 0
	}
	return s.sum.float64() / float64(s.count)
}

// StdDev returns the standard deviation of the values taken as the whole population, or 0 if there
// are none. Every value counts as the middle of its bucket, or as the extreme that lies before it,
// also where a bucket from elsewhere is wider than the layout: how the values scatter within it is
// not known, and not in the result. HdrHistogram has the same rule. Costs a pass over the counters.
func (s *Snapshot) StdDev() float64 {
	if s.count == 0 {
		return 0
	}
	mean := s.Mean()
	squares := s.outer(mean)
	for i, c := range s.chunks {
		if c != nil {
			sum, _ := s.squares(i, mean)
			squares += sum
		}
	}
	return s.deviation(squares)
}

// RelativeError returns how far the middle of a bucket may be from a value that is in it, as a
// fraction of the middle, or 0 for the zero Snapshot. It holds for every percentile of values in
// range. It is [Snapshot.Resolution] or, where values are in buckets from elsewhere that are wider,
// see [NewSnapshot], that of the relatively widest: 1/3 for one from 512 to 1023, and 1 for one
// from 0.
func (s *Snapshot) RelativeError() float64 {
	e := s.Resolution()
	for slot := range s.wide {
		if b := s.bucket(slot); b.Count != 0 {
			e = max(e, b.relativeError())
		}
	}
	return e
}

// Resolution returns the bound of the relative error that the layout keeps for what is recorded, as
// a fraction, or 0 for the zero Snapshot.
func (s *Snapshot) Resolution() float64 {
	if s.layout.size == 0 {
		return 0
	}
	return s.layout.relativeError()
}

// Range returns the smallest and the greatest value that are in range, as [Histogram.Range] does,
// or 0, 0 for the zero Snapshot.
func (s *Snapshot) Range() (lowest, highest uint64) {
	if s.layout.size == 0 {
		return 0, 0
	}
	return s.layout.bounds()
}

// wideBytes is what a bucket takes in Snapshot.wide, about: maps are half full or more.
const wideBytes = 64

// SizeBytes returns the memory that the snapshot holds, including what a larger one left behind for
// reuse, and about 64 bytes for each bucket from elsewhere that is wider than the layout.
func (s *Snapshot) SizeBytes() int {
	n := int(unsafe.Sizeof(*s)) + (cap(s.chunks)+cap(s.spare))*int(unsafe.Sizeof((*chunk)(nil))) + 8*cap(s.totals)
	n += len(s.spare)*int(unsafe.Sizeof(chunk{})) + len(s.wide)*wideBytes
	for _, c := range s.chunks {
		if c != nil {
			n += int(unsafe.Sizeof(*c))
		}
	}
	return n
}

// use lays s out as l and keeps its chunks if they fit, with whatever they hold.
func (s *Snapshot) use(l layout) {
	if s.layout != l {
		*s = Snapshot{layout: l, chunks: make([]*chunk, l.chunks())}
	}
}

// prepare returns s, or a new snapshot if s is nil, laid out as l, without counts. Its chunks are
// kept apart, so that what is then done with it takes time for those alone that have counts: one
// snapshot after the other may be of histograms with values far apart.
func (s *Snapshot) prepare(l layout, era uint64, e Equivalent) *Snapshot {
	if s == nil {
		s = new(Snapshot)
	}
	s.use(l)
	for i, c := range s.chunks {
		if c != nil {
			*c = chunk{}
			s.spare = append(s.spare, c)
			s.chunks[i] = nil
		}
	}
	*s = Snapshot{layout: l, chunks: s.chunks, era: era, min: math.MaxUint64, equivalent: e, totals: s.totals[:0], spare: s.spare}
	return s
}

// chunk returns chunk i, allocated if need be.
func (s *Snapshot) chunk(i int) *chunk {
	if s.chunks[i] != nil {
		return s.chunks[i]
	}
	if last := len(s.spare) - 1; last >= 0 {
		s.chunks[i], s.spare = s.spare[last], s.spare[:last]
	} else {
		s.chunks[i] = new(chunk)
	}
	return s.chunks[i]
}

// total returns the sum of the counters of chunk i.
func (s *Snapshot) total(i int) uint64 {
	if len(s.totals) == len(s.chunks) {
		return s.totals[i]
	}
	return s.chunks[i].total()
}

// settle derives the count from the counters and moves the minimum and the maximum into the
// outermost slots that are not empty. In the copy of a histogram at rest they are there already.
// They are elsewhere when values were being recorded meanwhile or counts have been subtracted; the
// nearest value that the counters allow is then within a bucket of the true one.
func (s *Snapshot) settle() {
	s.count = s.underflow + s.overflow
	first, last := -1, -1 // chunks that are not empty
	s.totals = slices.Grow(s.totals[:0], len(s.chunks))
	for i, c := range s.chunks {
		n := c.total()
		s.totals = append(s.totals, n)
		if n == 0 {
			continue
		}
		s.count += n
		last = i
		if first < 0 {
			first = i
		}
	}
	if s.count == 0 {
		s.min, s.max = 0, 0
		return
	}
	o := s.overlaps()
	lowest, highest := s.layout.bounds()
	switch {
	case s.underflow != 0:
		s.min = Bucket{High: lowest - 1}.clamp(s.min)
	case first >= 0:
		s.min = o.bounds(1, s.bucket(uint64(first<<chunkScale+s.chunks[first].first()))).clamp(s.min)
	default:
		s.min = Bucket{Low: highest + 1, High: math.MaxUint64}.clamp(s.min)
	}
	switch {
	case s.overflow != 0:
		s.max = Bucket{Low: highest + 1, High: math.MaxUint64}.clamp(s.max)
	case last >= 0:
		s.max = o.bounds(s.count, s.bucket(uint64(last<<chunkScale+s.chunks[last].last()))).clamp(s.max)
	default:
		s.max = Bucket{High: lowest - 1}.clamp(s.max)
	}
	if s.min > s.max {
		// Both were lost to a Reset in the middle of recording into a single bucket, and come from
		// its opposite ends.
		s.min, s.max = s.max, s.min
	}
}

// NewSnapshot returns a snapshot of buckets that come from elsewhere, laid out by the options. Each
// is counted where its middle falls and keeps its bounds where the layout is finer; buckets counted
// in one place share theirs. Where buckets overlap, what is known of a rank is the lower bound of
// that rank among all of them, and the upper. The sum is that of the middles. The minimum is the
// lower bound of the lowest bucket that is not empty, and the maximum the upper bound of the
// highest. The buckets may come in any order and overlap.
//
// The error wraps [ErrConfig], also where a lower bound exceeds an upper, or [ErrCount].
func NewSnapshot(buckets iter.Seq[Bucket], opts ...Option) (*Snapshot, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	l := newLayout(c.relativeError, c.lowest, c.highest)
	in := &intake{to: (*Snapshot)(nil).prepare(l, 0, c.equivalent)}
	buckets(in.take)
	if in.err != nil {
		return nil, in.err
	}
	if in.to.count == 0 {
		in.to.min = 0
	}
	in.to.approximate = true
	return in.to, nil
}

// An intake puts buckets into a snapshot until there is an error.
type intake struct {
	to  *Snapshot
	err error
}

func (in *intake) take(b Bucket) bool {
	s := in.to
	count, carry := bits.Add64(s.count, b.Count, 0)
	switch {
	case b.Low > b.High:
		in.err = fmt.Errorf("%w: bucket [%d, %d]: low must not exceed high", ErrConfig, b.Low, b.High)
	case carry != 0:
		in.err = fmt.Errorf("%w: %d + %d: must be below 2^64", ErrCount, s.count, b.Count)
	case b.Count != 0:
		hi, lo := bits.Mul64(b.Mid(), b.Count)
		s.count, s.sum = count, s.sum.add(uint128{hi: hi, lo: lo})
		s.min, s.max = min(s.min, b.Low), max(s.max, b.High)
		s.place(b, b.Mid())
	}
	return in.err == nil
}
