package otelhdr

import (
	"math"
	"sync"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

const (
	// The scales that the OpenTelemetry SDK uses. At the coarsest, two buckets hold every float64;
	// at the finest, a bucket index still fits an int32.
	minExponentialScale = -10
	maxExponentialScale = 20

	// maxExponentialBuckets holds all of uint64 at scale 8, where an octave has 256 buckets: 64
	// octaves, and one more because the unit shifts values against the powers of two. It is 130
	// KiB.
	maxExponentialBuckets = 65 << 8
)

// Exponential returns s as an exponential histogram, with every value multiplied by unit: 1e-9
// makes seconds of nanoseconds. The attributes and the times of the point are left for the caller.
//
// A bucket here seldom lines up with one there, so each goes, whole, where its middle falls; to be
// exact, where the value that [Snapshot.Percentile] would return for it falls. With e the
// [Snapshot.RelativeError] and b = 2^(2^-scale) the growth of the exponential buckets, a reader who
// takes the point (2b/(b+1)) × lower bound for each of them is off by at most e + (b-1)/(b+1), to
// first order: 0.1 % + 0.135 % by default and at scale 8, the finest that Prometheus keeps.
//
// No value is lost. Values below the range are at the minimum and values above it at the maximum,
// which are exact. Zeros, and values that unit makes too small for a float64, are in ZeroCount; its
// threshold is 0. So Count is always ZeroCount plus the sum of the buckets. A unit that is not
// positive leaves every value in ZeroCount.
//
// The scale is taken into [-10, 20], and lowered further until there are at most 16640 buckets from
// the lowest to the highest that is not empty, so that no snapshot costs more than 130 KiB. At
// scale 8 and below that never happens, and the scale of the point, which Prometheus and others
// take a change of for a reset, is always the one asked for.
//
// Costs some 10 ns for each bucket that is not empty, above scale 8 a logarithm more, and one
// allocation.
func (s *Snapshot) Exponential(scale int32, unit float64) metricdata.ExponentialHistogramDataPoint[float64] {
	scale = min(max(scale, minExponentialScale), maxExponentialScale)
	point := metricdata.ExponentialHistogramDataPoint[float64]{
		Count: s.count,
		Sum:   s.sum.float64() * unit,
		Scale: scale,
	}
	if s.count == 0 {
		return point
	}
	point.Min = metricdata.NewExtrema(float64(s.min) * unit)
	point.Max = metricdata.NewExtrema(float64(s.max) * unit)

	lowest, ok := s.leastPositive(unit)
	if !ok {
		point.ZeroCount = s.count
		return point
	}
	// The values ascend and the last is at most the maximum, so no index is outside of these.
	ascending := newAscendingIndex(scale)
	first := ascending.of(lowest)
	highest := ascending
	last := highest.of(scaled(s.max, unit))
	var shift int32
	for int64(last>>shift)-int64(first>>shift) >= maxExponentialBuckets {
		shift++
	}
	point.Scale -= shift
	point.PositiveBucket.Offset = first >> shift
	counts := make([]uint64, last>>shift-first>>shift+1)
	used := 0
	for v, n := range s.values {
		x := scaled(v, unit)
		if !(x > 0) {
			point.ZeroCount += n
			continue
		}
		i := int(ascending.of(x)>>shift - first>>shift)
		counts[i] += n
		used = i + 1
	}
	point.PositiveBucket.Counts = counts[:used]
	return point
}

// leastPositive returns the smallest positive value that a bucket of s stands for, multiplied by
// unit, and whether there is one.
func (s *Snapshot) leastPositive(unit float64) (float64, bool) {
	for v := range s.values {
		if x := scaled(v, unit); x > 0 {
			return x, true
		}
	}
	return 0, false
}

// scaled returns v × unit, or the greatest float64 where that is infinite.
func scaled(v uint64, unit float64) float64 { return min(float64(v)*unit, math.MaxFloat64) }

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
