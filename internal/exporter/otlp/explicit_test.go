package otlp

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

type produced struct{ metricdata.Metrics }

func (p produced) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	return []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{p.Metrics}}}, nil
}

func TestExplicit(t *testing.T) {
	const scale = 3 // eight buckets for each octave
	point := metricdata.ExponentialHistogramDataPoint[float64]{Count: 7, Sum: 9, Max: metricdata.NewExtrema(5.), Scale: scale, ZeroCount: 2}
	// In (1, 1.09], (1.09, 1.19], … (2^-10, 1.09 2^-10], and (128, 139] seconds.
	point.PositiveBucket = metricdata.ExponentialBucket{Offset: -10 << scale, Counts: make([]uint64, 17<<scale+1)}
	for octave, n := range map[int]uint64{-10: 1, 0: 3, 7: 1} {
		point.PositiveBucket.Counts[(octave+10)<<scale] = n
	}
	p := Explicit(produced{metricdata.Metrics{Unit: "s", Data: metricdata.ExponentialHistogram[float64]{
		Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.ExponentialHistogramDataPoint[float64]{point},
	}}})
	scopes, err := p.Produce(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := scopes[0].Metrics[0].Data.(metricdata.Histogram[float64])
	d := got.DataPoints[0]
	by := map[float64]uint64{}
	for i, n := range d.BucketCounts {
		if n > 0 && i < len(d.Bounds) {
			by[d.Bounds[i]] = n
		} else if n > 0 {
			by[-1] = n
		}
	}
	want := map[float64]uint64{1e-6: 2, 2e-3: 1, 2: 3, -1: 1} // by upper bound, -1 without one
	if diff := cmp.Diff(want, by, cmp.Comparer(func(a, b float64) bool { return a == b })); diff != "" {
		t.Errorf("counts by upper bound (-want +got):\n%s", diff)
	}
	if got.Temporality != metricdata.DeltaTemporality || d.Count != 7 || d.Sum != point.Sum || d.Max != point.Max || len(d.Bounds) != 25 {
		t.Errorf("%+v, want what the exponential histogram %+v has", d, point)
	}
}
