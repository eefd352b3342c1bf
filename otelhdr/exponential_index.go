package otelhdr

import (
	"math"
	"sync"
)

// exponentialIndex returns the i for which base^i < v <= base^(i+1), where base = 2^(2^-scale), for
// a positive and finite v and a scale in [-10, 20].
func exponentialIndex(v float64, scale int32) int32 {
	fraction, exponent := math.Frexp(v) // v = fraction × 2^exponent, fraction in [0.5, 1)
	if scale <= 0 {
		octave := int32(exponent) - 1
		if fraction == 0.5 {
			octave-- // upper bounds belong to the bucket
		}
		return octave >> -scale
	}
	// The fraction alone goes through the logarithm, whose error is then far below the width of a
	// bucket, and the powers of two, which are bounds at every scale, come out exact.
	perOctave := int32(1) << scale
	part := int32(math.Ceil(math.Log2(2*fraction) * float64(perOctave)))
	return (int32(exponent)-1)*perOctave + part - 1
}

// maxTableScale is the greatest scale with a table of bounds: 2 KiB.
const maxTableScale = 8

// boundTables has the tables of the scales from 1, made when first needed.
var boundTables [maxTableScale + 1]struct {
	once   sync.Once
	bounds []float64
}

// octaveBounds returns the upper bounds of the buckets of one octave, in the terms of math.Frexp:
// from 0.5, which ends the octave before, to 1.
func octaveBounds(scale int32) []float64 {
	t := &boundTables[scale]
	t.once.Do(func() {
		perOctave := 1 << scale
		t.bounds = make([]float64, perOctave+1)
		for i := range t.bounds {
			t.bounds[i] = math.Exp2(float64(i-perOctave) / float64(perOctave))
		}
	})
	return t.bounds
}

// An ascendingIndex is an exponentialIndex for values that do not descend, for which it goes along
// the bounds of an octave instead of calculating logarithms, a tenth of the cost.
type ascendingIndex struct {
	scale    int32
	bounds   []float64 // nil if the scale has no table
	exponent int       // of the last value
	part     int       // bucket of the last value within its octave; 0 is the last of the octave before
}

func newAscendingIndex(scale int32) ascendingIndex {
	a := ascendingIndex{scale: scale}
	if scale > 0 && scale <= maxTableScale {
		a.bounds = octaveBounds(scale)
	}
	return a
}

// of returns the index of v, which is positive, finite, and no less than the value of the last
// call.
func (a *ascendingIndex) of(v float64) int32 {
	if a.bounds == nil {
		return exponentialIndex(v, a.scale)
	}
	fraction, exponent := math.Frexp(v)
	if exponent != a.exponent {
		a.exponent, a.part = exponent, 0
	}
	for fraction > a.bounds[a.part] { // the last is 1, above every fraction
		a.part++
	}
	return (int32(exponent)-1)<<a.scale + int32(a.part) - 1
}
