package otlp

import (
	"context"
	"math"
	"slices"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// DefaultBounds are those of the specification's explicit_bucket_histogram, for instruments that
// advise none.
var DefaultBounds = []float64{0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000}

// Explicit makes the exponential histograms of a producer explicit ones. Bounds are three for each
// decade: of seconds from a microsecond to 100 s, else from 1 to 1e12. A value within half a bucket
// of a bound, .14 % at scale 8, may be counted on either side of it.
func Explicit(p sdkmetric.Producer) sdkmetric.Producer { return explicitProducer{p} }

type explicitProducer struct{ sdkmetric.Producer }

func (p explicitProducer) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	scopes, err := p.Producer.Produce(ctx)
	for _, s := range scopes {
		for i := range s.Metrics {
			m := &s.Metrics[i]
			if h, ok := m.Data.(metricdata.ExponentialHistogram[float64]); ok {
				bounds := byDecade(0, 12)
				if m.Unit == "s" {
					bounds = byDecade(-6, 2)
				}
				m.Data = explicitOf(h, bounds)
			}
		}
	}
	return scopes, err
}

// byDecade returns 1, 2 and 5 of each decade, and the first of the last one.
func byDecade(from, to int) []float64 {
	var bounds []float64
	for e := from; e < to; e++ {
		scale := math.Pow10(e)
		bounds = append(bounds, scale, 2*scale, 5*scale)
	}
	return append(bounds, math.Pow10(to))
}

func explicitOf(h metricdata.ExponentialHistogram[float64], bounds []float64) metricdata.Histogram[float64] {
	out := metricdata.Histogram[float64]{Temporality: h.Temporality, DataPoints: make([]metricdata.HistogramDataPoint[float64], len(h.DataPoints))}
	for i, p := range h.DataPoints {
		counts := make([]uint64, len(bounds)+1)
		add := func(v float64, n uint64) {
			at, _ := slices.BinarySearch(bounds, v)
			counts[at] += n
		}
		add(0, p.ZeroCount)
		for sign, b := range map[float64]metricdata.ExponentialBucket{1: p.PositiveBucket, -1: p.NegativeBucket} {
			for j, n := range b.Counts {
				add(sign*math.Exp2((float64(b.Offset)+float64(j)+.5)*math.Exp2(-float64(p.Scale))), n)
			}
		}
		out.DataPoints[i] = metricdata.HistogramDataPoint[float64]{
			Attributes: p.Attributes, StartTime: p.StartTime, Time: p.Time, Count: p.Count, Sum: p.Sum, Min: p.Min, Max: p.Max,
			Bounds: bounds, BucketCounts: counts, Exemplars: p.Exemplars,
		}
	}
	return out
}
