package otelhdr

import (
	"math"
	"math/bits"
)

// momentsLimit is the total of a chunk up to which its second moment, at most 255² times that, fits
// a uint64.
const momentsLimit = 1 << 48

// moments returns the sums of n, n×j and n×j² over the counters, where j is the place of a counter
// and n what it counts; the last two are right if the first is at most momentsLimit.
//
// It goes by additions alone. From the last counter to the first, s0 sums up counters, s1 the
// values of s0 and s2 those of s1, which makes s1 = Σ n(j+1) and s2 = Σ n(j+1)(j+2)/2. Either half
// has sums of its own, since additions that wait for each other leave the processor idle.
func (c *chunk) moments() (n, first, second uint64) {
	const half = chunkSize / 2
	low, high := (*[half]uint64)(c[:half]), (*[half]uint64)(c[half:])
	var a0, a1, a2, b0, b1, b2 uint64
	for j := half - 1; j >= 0; j-- {
		a0 += low[j]
		a1 += a0
		a2 += a1
		b0 += high[j]
		b1 += b0
		b2 += b1
	}
	n, first, second = a0, a1-a0, 2*a2-3*a1+a0
	b1, b2 = b1-b0, 2*b2-3*b1+b0
	// The places of the second half are half more: (half+j)² = half² + 2×half×j + j².
	return n + b0, first + b1 + half*b0, second + b2 + 2*half*b1 + half*half*b0
}

// squares returns the sum of the squares of the distances from mean of the values of chunk i, and
// their number. Every value counts as the middle of its bucket.
func (s *Snapshot) squares(i int, mean float64) (sum float64, n uint64) {
	c := s.chunks[i]
	low := s.layout.first + uint64(i)<<chunkScale
	n, first, second := c.moments()
	// The buckets of most chunks are equally wide, so their middles are base + j × width, and
	// integers do nearly all the work: Σ n (base + j×width - mean)² = n×d² + 2×d×width×Σ nj +
	// width²×Σ nj² with d = base - mean.
	if n <= momentsLimit && s.layout.step(low) == s.layout.step(low+chunkSize-1) {
		width := float64(uint64(1) << s.layout.step(low))
		d := float64(s.layout.mid(low)) - mean
		return d*d*float64(n) + 2*d*width*float64(first) + width*width*float64(second), n
	}
	n = 0
	for j, k := range c {
		if k != 0 {
			d := float64(s.layout.mid(low+uint64(j))) - mean
			sum += d * d * float64(k)
			n += k
		}
	}
	return sum, n
}

// outer returns how much squares is off, summed over all chunks, for not knowing of the extremes,
// of the values out of range and of bounds that came from elsewhere: values out of range count as
// the extreme, as do those of a bucket whose middle lies beyond it.
func (s *Snapshot) outer(mean float64) float64 {
	square := func(v, n uint64) float64 {
		d := float64(v) - mean
		return d * d * float64(n)
	}
	sum := square(s.min, s.underflow) + square(s.max, s.overflow)
	adjust := func(slot uint64) {
		n := s.counted(slot)
		sum += square(s.middle(slot), n) - square(s.layout.mid(s.layout.first+slot), n)
	}
	low, high := s.slotOf(s.min), s.slotOf(s.max)
	if low >= 0 {
		adjust(uint64(low))
	}
	if high >= 0 && high != low {
		adjust(uint64(high))
	}
	for _, slot := range s.wideSlots() {
		if slot != uint64(low) && slot != uint64(high) {
			adjust(slot)
		}
	}
	return sum
}

// slotOf returns the place in storage of the counter of v, or -1 if it has none that is allocated.
func (s *Snapshot) slotOf(v uint64) int {
	i := s.layout.index(v) - s.layout.first
	if i >= s.layout.size || s.chunks[i>>chunkScale] == nil {
		return -1
	}
	return int(i)
}

// deviation returns the standard deviation that belongs to a sum of squares of distances from the
// mean.
func (s *Snapshot) deviation(squares float64) float64 {
	return math.Sqrt(max(squares, 0) / float64(s.count))
}

// A uint128 is a sum of recorded values. 2^64 records of the greatest uint64 still fit.
type uint128 struct{ hi, lo uint64 }

func (a uint128) add(b uint128) uint128 {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	return uint128{hi: a.hi + b.hi + carry, lo: lo}
}

// sub returns a-b modulo 2^128.
func (a uint128) sub(b uint128) uint128 {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	return uint128{hi: a.hi - b.hi - borrow, lo: lo}
}

func (a uint128) less(b uint128) bool {
	return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo
}

// count adds one value.
func (a *uint128) count(v uint64) {
	a.lo += v
	if a.lo < v {
		a.hi++
	}
}

// float64 returns the float64 nearest to a, ties to even.
func (a uint128) float64() float64 {
	if a.hi == 0 {
		return float64(a.lo)
	}
	// Keep the 64 leading bits and let the lowest of them stand for all that is cut off. The
	// conversion rounds at bit 11, so that one bit decides between a tie and more than a tie, and
	// nothing is rounded twice.
	zeros := bits.LeadingZeros64(a.hi)
	lead := a.hi<<zeros | a.lo>>(64-zeros)
	if a.lo<<zeros != 0 {
		lead |= 1
	}
	return math.Ldexp(float64(lead), 64-zeros)
}
