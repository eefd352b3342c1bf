package hdrmetric

import (
	"math/big"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelprof/otelprof/otelhdr"
)

// totals are the values of a series: those from 0 on, and the others without their sign. They are
// valid until the next series is read.
type totals struct{ values, negative *otelhdr.Snapshot } // negative may be nil

func (t totals) count() uint64 {
	n := t.values.Count()
	if t.negative != nil {
		n += t.negative.Count()
	}
	return n
}

// exponentialHistogram returns the points of s, or nil if there are none.
func exponentialHistogram[N int64 | float64](p *Producer, s *stream) metricdata.Aggregation {
	h := metricdata.ExponentialHistogram[N]{Temporality: p.config.temporality}
	p.each(s, func(x *series, t totals, start, end time.Time) {
		point := exponentialPoint[N](s, t, min(p.config.scale, s.maxScale))
		point.Attributes, point.StartTime, point.Time = x.set, start, end
		point.Exemplars = exemplarsOf[N](&x.readings[p.index], p.deltas())
		h.DataPoints = append(h.DataPoints, point)
	})
	if len(h.DataPoints) == 0 {
		return nil
	}
	return h
}

// exponentialPoint returns a point without attributes, times and exemplars.
func exponentialPoint[N int64 | float64](s *stream, t totals, scale int32) metricdata.ExponentialHistogramDataPoint[N] {
	unit := 1 / s.steps
	positive := t.values.Exponential(scale, unit)
	var negative metricdata.ExponentialHistogramDataPoint[float64]
	if t.negative != nil {
		if negative = t.negative.Exponential(positive.Scale, unit); negative.Scale != positive.Scale {
			positive = t.values.Exponential(negative.Scale, unit)
		}
	}
	point := metricdata.ExponentialHistogramDataPoint[N]{
		Count:          positive.Count + negative.Count,
		Sum:            sumOf[N](s, t),
		Scale:          positive.Scale,
		ZeroCount:      positive.ZeroCount + negative.ZeroCount,
		PositiveBucket: positive.PositiveBucket,
		NegativeBucket: negative.PositiveBucket,
	}
	if !s.noExtremes {
		point.Min, point.Max = extremesOf[N](s, t)
	}
	return point
}

// explicitHistogram returns the points of s, or nil if there are none.
func explicitHistogram[N int64 | float64](p *Producer, s *stream) metricdata.Aggregation {
	h := metricdata.Histogram[N]{Temporality: p.config.temporality}
	bounds := s.bounds
	if len(bounds) == 0 {
		bounds = p.config.bounds
	}
	if len(bounds) == 0 {
		bounds = denseBounds(s.steps)
	}
	p.each(s, func(x *series, t totals, start, end time.Time) {
		point := metricdata.HistogramDataPoint[N]{
			Attributes:   x.set,
			StartTime:    start,
			Time:         end,
			Count:        t.count(),
			Bounds:       bounds,
			BucketCounts: explicitCounts(s, t, bounds),
			Sum:          sumOf[N](s, t),
			Exemplars:    exemplarsOf[N](&x.readings[p.index], p.deltas()),
		}
		if !s.noExtremes {
			point.Min, point.Max = extremesOf[N](s, t)
		}
		h.DataPoints = append(h.DataPoints, point)
	})
	if len(h.DataPoints) == 0 {
		return nil
	}
	return h
}

const (
	denseScale   = 4  // log2 of the bounds for each octave
	denseOctaves = 44 // above the first step
)

// denseBounds returns the bounds of [WithExplicitBuckets] for a number of steps in a unit.
func denseBounds(steps float64) []float64 {
	bounds := make([]float64, 0, (denseOctaves-denseScale+1)<<denseScale+1)
	for i := range 2 << denseScale {
		bounds = append(bounds, float64(i)/steps)
	}
	for octave := denseScale + 1; octave < denseOctaves; octave++ {
		for i := range 1 << denseScale {
			bounds = append(bounds, float64(uint64(1<<denseScale+i)<<(octave-denseScale))/steps)
		}
	}
	return append(bounds, float64(1<<denseOctaves)/steps)
}

// explicitCounts returns how many values are in each of the buckets that bounds separate. Each
// bound belongs to the bucket below it.
func explicitCounts(s *stream, t totals, bounds []float64) []uint64 {
	counts := make([]uint64, len(bounds)+1)
	// Both kinds of values come in ascending order of magnitude, and so does the place of the
	// positive ones.
	at := 0
	for b := range t.values.Buckets() {
		v := float64(min(max(b.Mid(), t.values.Min()), t.values.Max())) / s.steps
		for at < len(bounds) && bounds[at] < v {
			at++
		}
		counts[at] += b.Count
	}
	if t.negative == nil {
		return counts
	}
	at = len(bounds)
	for b := range t.negative.Buckets() {
		v := -float64(min(max(b.Mid(), t.negative.Min()), t.negative.Max())) / s.steps
		for at > 0 && v <= bounds[at-1] {
			at--
		}
		counts[at] += b.Count
	}
	return counts
}

// sumOf returns the sum of the values. Int64 sums wrap around, as the SDK's do.
func sumOf[N int64 | float64](s *stream, t totals) N {
	if s.integer {
		_, sum := t.values.Sum128()
		if t.negative != nil {
			_, below := t.negative.Sum128()
			sum -= below
		}
		return N(int64(sum))
	}
	if t.negative == nil {
		return N(t.values.Sum() / s.steps)
	}
	sum := exactSum(t.values)
	difference, _ := new(big.Float).SetInt(sum.Sub(sum, exactSum(t.negative))).Float64()
	return N(difference / s.steps)
}

func exactSum(s *otelhdr.Snapshot) *big.Int {
	hi, lo := s.Sum128()
	sum := new(big.Int).SetUint64(hi)
	return sum.Or(sum.Lsh(sum, 64), new(big.Int).SetUint64(lo))
}

// extremesOf returns the smallest and the largest value.
func extremesOf[N int64 | float64](s *stream, t totals) (smallest, largest metricdata.Extrema[N]) {
	low, high := valueOf[N](s, t.values.Min()), valueOf[N](s, t.values.Max())
	if t.negative != nil && t.negative.Count() != 0 {
		low = -valueOf[N](s, t.negative.Max())
		if t.values.Count() == 0 {
			high = -valueOf[N](s, t.negative.Min())
		}
	}
	return metricdata.NewExtrema(low), metricdata.NewExtrema(high)
}

// valueOf returns steps as a value of the instrument. Division, unlike multiplication with the
// inverse, gives the float64 that is nearest: 0.1 for 1e8 ns.
func valueOf[N int64 | float64](s *stream, steps uint64) N {
	if s.integer {
		return N(int64(steps)) // and of 2^63 the smallest int64, whose negative is itself
	}
	return N(float64(steps) / s.steps)
}
