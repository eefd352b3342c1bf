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

// A spreadSum is a sum of recorded values, for one writer. Each value goes to one of four words by its lowest bits:
// an addition to a word in memory has to wait for the last one to that word, some cycles that are most of what a record
// costs, and values that differ seldom meet.
type spreadSum struct {
	lo [4]uint64
	hi uint64 // carries out of any of them
}

// add adds one value.
func (s *spreadSum) add(v uint64) {
	p := &s.lo[v&3]
	*p += v
	if *p < v {
		s.hi++
	}
}

// addWide adds a sum of many.
func (s *spreadSum) addWide(of uint128) {
	s.add(of.lo)
	s.hi += of.hi
}

// total returns the sum of all that was added.
func (s *spreadSum) total() uint128 {
	sum := uint128{hi: s.hi}
	for _, lo := range s.lo {
		sum = sum.add(uint128{lo: lo})
	}
	return sum
}

// float64 returns the float64 nearest to a, ties to even.
func (a uint128) float64() float64 {
	if a.hi == 0 {
		return float64(a.lo)
	}
	// Keep the 64 leading bits and let the lowest of them stand for all that is cut off. The conversion rounds at bit
	// 11, so that one bit decides between a tie and more than a tie, and nothing is rounded twice.
	zeros := bits.LeadingZeros64(a.hi)
	lead := a.hi<<zeros | a.lo>>(64-zeros)
	if a.lo<<zeros != 0 {
		lead |= 1
	}
	return math.Ldexp(float64(lead), 64-zeros)
}
