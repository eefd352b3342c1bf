package otelhdr

import (
	"fmt"
	"math"
	"math/bits"
)

// The relative errors that are accepted lead to scales from 3 for 0.1 to 19 for 1e-6.
const (
	minRelativeError = 1e-6
	maxRelativeError = 0.1
)

// A layout maps values to counters. The buckets of the whole uint64 range have logical indexes
// [0, (65-scale)<<scale); a histogram stores the size of them that start at first.
//
// Buckets are 1 wide below 2^(scale+1). From there every octave [2^k, 2^(k+1)) is a block of
// 2^scale buckets, each 2^(k-scale) wide.
type layout struct {
	scale uint   // log2 of the number of buckets in a block, in [3, 19]
	first uint64 // logical index of the first stored bucket
	size  uint64 // number of stored buckets, at least 1

	exact uint64 // scale+1: values of at most that many bits have a bucket each
	floor uint64 // 2^scale, which has that many bits
}

// scaledLayout returns the layout of a scale, with no buckets stored.
func scaledLayout(scale uint) layout {
	return layout{scale: scale, exact: uint64(scale) + 1, floor: 1 << scale}
}

// newLayout returns the coarsest layout that keeps relativeError for the values in [lowest,
// highest]. The arguments are within the bounds that newConfig checks.
func newLayout(relativeError float64, lowest, highest uint64) layout {
	blockSize := uint64(math.Ceil(0.5 / relativeError))
	l := scaledLayout(uint(bits.Len64(blockSize - 1)))
	l.first = l.index(lowest)
	l.size = l.index(highest) - l.first + 1
	return l
}

// index returns the logical index of the bucket that holds v. It has no branch, and it is small
// enough to be inlined.
//
// The step is the number of low bits of v that the bucket ignores: the length of v beyond scale+1
// bits, where floor, which has just that length, stands in for values that are shorter. The scale+1
// bits that are left are in [2^scale, 2^(scale+1)) for every step but 0, so the indexes of one step
// follow directly on those of the step before. The mask and the lowest bit change nothing: the one
// shows the compiler that no shift reaches 64, the other that the length is not 0, which amd64
// would have to look for. A shift by a variable is the dear part there, so the blocks before are
// counted by a multiplication.
func (l *layout) index(v uint64) uint64 {
	step := uint64(bits.Len64(v|l.floor|1)) - l.exact
	return step*l.floor + v>>(step&63)
}

// low returns the smallest value of the bucket at a logical index.
func (l *layout) low(index uint64) uint64 {
	step := l.step(index)
	return (index - step<<(l.scale&63)) << (step & 63)
}

// high returns the greatest value of the bucket at a logical index.
func (l *layout) high(index uint64) uint64 {
	return l.low(index) + (uint64(1)<<l.step(index) - 1)
}

// mid returns the middle of the bucket at a logical index, rounded up.
func (l *layout) mid(index uint64) uint64 {
	return l.low(index) + uint64(1)<<l.step(index)>>1
}

// step returns the log2 of the width of the bucket at a logical index.
func (l *layout) step(index uint64) uint64 {
	// Blocks 0 and 1 are both 1 wide.
	return max(index>>(l.scale&63), 1) - 1
}

// relativeError returns the greatest distance of a value from the middle of its bucket, divided by
// the value.
func (l *layout) relativeError() float64 { return 0.5 / float64(uint64(1)<<l.scale) }

// bounds returns the smallest and the greatest value that have a bucket of their own in storage.
func (l *layout) bounds() (lowest, highest uint64) {
	return l.low(l.first), l.high(l.first + l.size - 1)
}

// under reports whether v, which has no bucket in storage, lies below the values that have one.
func (l *layout) under(v uint64) bool { return l.index(v) < l.first }

// String describes the buckets, in an error about two layouts.
func (l layout) String() string {
	if l.size == 0 {
		return "none"
	}
	lowest, highest := l.bounds()
	return fmt.Sprintf("%.4f%% over [%d, %d]", 100*l.relativeError(), lowest, highest)
}
