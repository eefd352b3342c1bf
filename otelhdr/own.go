package otelhdr

import "math/bits"

// A stripe with a single writer needs no atomic read-modify-write, which is most of what a record costs otherwise.
// Readers still load its words while they change. addOwn and setOwn, in own_plain.go and own_atomic.go, are how the
// writer changes them.

// recordOwn adds v n times for the only writer of t.
func (t *stripe) recordOwn(l *layout, v, n uint64) {
	hi, lo := bits.Mul64(v, n)
	t.addSumOwn(uint128{hi: hi, lo: lo})
	if v > t.max.Load() || v < t.min.Load() {
		t.widen(v)
	}
	i := l.index(v) - l.first
	if i < l.size {
		if k := t.chunks[i>>chunkScale].Load(); k != nil {
			addOwn(&k[i%chunkSize], n)
			return
		}
	}
	t.count(l, v, i, n)
}

// addSumOwn adds to the sum for the only writer of t.
//
// A carry goes into the high word by an atomic addition, so that no reader sees it before the low word that it came out
// of.
func (t *stripe) addSumOwn(sum uint128) {
	lo, carry := bits.Add64(t.sumLo.Load(), sum.lo, 0)
	setOwn(&t.sumLo, lo)
	if sum.hi|carry != 0 {
		t.sumHi.Add(sum.hi + carry)
	}
}
