package saved

import (
	"fmt"
	"iter"
	"math"

	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelprof/otelprof/otelhdr"
)

const (
	// liveError is the relative error of the histograms that exporters read, keptError that of
	// histograms that are made of points here.
	liveError = 0.001
	keptError = 0.0005
	// maxCounts bounds the buckets of a point, as exporters do.
	maxCounts = 65 << 8
)

// checkPoint rejects what no exporter makes, and what would cost too much.
func checkPoint(p pmetric.ExponentialHistogramDataPoint) error {
	if n := p.Positive().BucketCounts().Len(); n > maxCounts {
		return fmt.Errorf("exponential histogram of %d buckets: must have at most %d", n, maxCounts)
	}
	if p.Scale() < -10 || p.Scale() > 20 {
		return fmt.Errorf("exponential histogram of scale %d: must be in [-10, 20]", p.Scale())
	}
	return nil
}

// snapshotOf makes a snapshot of an exponential histogram, with values multiplied by unit.
// Each bucket goes where its middle falls; the extremes are those of the point.
func snapshotOf(p pmetric.ExponentialHistogramDataPoint, unit float64) (*otelhdr.Snapshot, error) {
	return otelhdr.NewSnapshot(bucketsOf(p, unit), otelhdr.WithRelativeError(keptError))
}

// bucketsOf are the buckets of a point in whole units, inclusive at both ends. What is negative has
// no place among durations and counts.
func bucketsOf(p pmetric.ExponentialHistogramDataPoint, unit float64) iter.Seq[otelhdr.Bucket] {
	lowest, highest := uint64(0), uint64(math.MaxUint64)
	if p.HasMin() {
		lowest = whole(math.Round(p.Min() * unit))
	}
	if p.HasMax() {
		highest = max(lowest, whole(math.Round(p.Max()*unit)))
	}
	within := func(v uint64) uint64 { return min(max(v, lowest), highest) }
	return func(yield func(otelhdr.Bucket) bool) {
		zero := within(0)
		if n := p.ZeroCount(); n > 0 && !yield(otelhdr.Bucket{Low: zero, High: zero, Count: n}) {
			return
		}
		step := math.Ldexp(1, -int(p.Scale())) // an exponent of two
		first := float64(p.Positive().Offset())
		for i, n := range p.Positive().BucketCounts().All() {
			if n == 0 {
				continue
			}
			index := first + float64(i)
			low, high := math.Exp2(index*step)*unit, math.Exp2((index+1)*step)*unit
			b := otelhdr.Bucket{Low: within(whole(math.Ceil(low))), High: within(whole(math.Floor(high))), Count: n}
			if b.Low > b.High { // no whole number in between
				b.Low = within(whole(math.Round((low + high) / 2)))
				b.High = b.Low
			}
			if !yield(b) {
				return
			}
		}
	}
}

// whole is v as an integer, in the range that there is.
func whole(v float64) uint64 {
	switch {
	case !(v > 0):
		return 0
	case v >= math.MaxUint64:
		return math.MaxUint64
	default:
		return uint64(v)
	}
}

// pointError is how much values in a bucket differ from its middle. It is finite, as numbers in
// JSON are: whole ones below 2^64 differ by no larger part.
func pointError(scale int32) float64 {
	return min((math.Exp2(math.Ldexp(1, -int(scale)))-1)/2, 1<<64)
}
