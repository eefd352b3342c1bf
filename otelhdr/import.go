package otelhdr

import (
	"fmt"
	"iter"
	"math/bits"
)

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
