package otelhdr

import (
	"math"
	"math/bits"
)

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
