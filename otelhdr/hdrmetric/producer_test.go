package hdrmetric_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelprof/otelprof/otelhdr/hdrmetric"
)

// explicitPoint returns the only point that reader collects, of a histogram with explicit bounds.
func explicitPoint[N int64 | float64](t *testing.T, reader sdkmetric.Reader) metricdata.HistogramDataPoint[N] {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &rm); err != nil {
		t.Fatal(err)
	}
	if len(rm.ScopeMetrics) != 1 || len(rm.ScopeMetrics[0].Metrics) != 1 {
		t.Fatalf("%d scopes, want a single metric", len(rm.ScopeMetrics))
	}
	h, ok := rm.ScopeMetrics[0].Metrics[0].Data.(metricdata.Histogram[N])
	if !ok || len(h.DataPoints) != 1 {
		t.Fatalf("%T, want a single point of a histogram", rm.ScopeMetrics[0].Metrics[0].Data)
	}
	return h.DataPoints[0]
}

func TestExplicitBuckets(t *testing.T) {
	values := []float64{-7, -0.3, 0, 0.1, 0.5, 1.1, 3, 100}
	for _, tt := range []struct {
		name                   string
		own, advice, wantBound []float64
		want                   []uint64
	}{
		{"own", []float64{-1, 0, 1}, nil, []float64{-1, 0, 1}, []uint64{1, 2, 2, 3}},
		{"advice", []float64{-1, 0, 1}, []float64{0.2, 2}, []float64{0.2, 2}, []uint64{4, 2, 2}},
		{"one", []float64{0}, nil, []float64{0}, []uint64{3, 5}},
		{"all below", []float64{1000}, nil, []float64{1000}, []uint64{8, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reader, p := newReader(t, hdrmetric.WithExplicitBuckets(tt.own...))
			h, err := p.Meter("m").Float64Histogram("h", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(tt.advice...))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // cumulative, and the bounds stay
				for _, v := range values {
					h.Record(t.Context(), v)
				}
			}
			got := explicitPoint[float64](t, reader)
			for i := range got.BucketCounts {
				got.BucketCounts[i] /= 2
			}
			if diff := gocmp.Diff(tt.want, got.BucketCounts); diff != "" {
				t.Errorf("counts, want (-) and got (+):\n%s", diff)
			}
			low, _ := got.Min.Value()
			high, _ := got.Max.Value()
			if !slices.Equal(got.Bounds, tt.wantBound) || low != -7 || high != 100 || got.Count != 16 || math.Abs(got.Sum-2*97.4) > 1e-9 {
				t.Errorf("Bounds, Min, Max, Count, Sum = %v, %v, %v, %d, %v", got.Bounds, low, high, got.Count, got.Sum)
			}
		})
	}
}

func TestDenseBuckets(t *testing.T) {
	reader, p := newReader(t, hdrmetric.WithExplicitBuckets())
	h, err := p.Meter("m").Float64Histogram("h", metric.WithUnit("s"))
	if err != nil {
		t.Fatal(err)
	}
	var first []float64
	for _, v := range []float64{0.0125, 3e-9, 1, 20_000, 0} {
		h.Record(t.Context(), v)
		got := explicitPoint[float64](t, reader)
		if first == nil {
			first = got.Bounds
		}
		if !slices.Equal(first, got.Bounds) || len(got.BucketCounts) != len(got.Bounds)+1 || !slices.IsSorted(got.Bounds) {
			t.Fatalf("%d bounds and %d counts, want the same ascending bounds always", len(got.Bounds), len(got.BucketCounts))
		}
		var n uint64
		for _, c := range got.BucketCounts {
			n += c
		}
		if n != got.Count {
			t.Errorf("%d values in buckets, want %d", n, got.Count)
		}
	}
	if len(first) != 658-1 {
		t.Errorf("%d bounds, want those of 658 buckets", len(first))
	}
	for i, b := range first[1:] {
		if i > 32 && b > first[i]*(1+1.0/16+1e-9) {
			t.Errorf("bound %v follows %v, want at most a sixteenth more", b, first[i])
		}
	}
}

// TestDeltasAddUp has two readers of deltas with rhythms of their own, and one that is cumulative.
func TestDeltasAddUp(t *testing.T) {
	delta := hdrmetric.WithTemporality(metricdata.DeltaTemporality)
	fast, slow, all := hdrmetric.NewProducer(delta), hdrmetric.NewProducer(delta, hdrmetric.WithScale(3)), hdrmetric.NewProducer()
	p := hdrmetric.WrapMeterProvider(nil, fast, slow, all)
	f, err1 := p.Meter("m").Float64Histogram("f", metric.WithUnit("s"))
	n, err2 := p.Meter("m").Int64Histogram("n")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	type sums struct {
		count uint64
		sum   int64 // in ms
	}
	add := func(to *sums, producer *hdrmetric.Producer) {
		scopes, err := producer.Produce(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, scope := range scopes {
			for _, m := range scope.Metrics {
				switch data := m.Data.(type) {
				case metricdata.ExponentialHistogram[float64]:
					to.count += data.DataPoints[0].Count
					to.sum += int64(math.Round(1000 * data.DataPoints[0].Sum))
				case metricdata.ExponentialHistogram[int64]:
					to.count += data.DataPoints[0].Count
					to.sum += data.DataPoints[0].Sum
				}
			}
		}
	}
	var fromFast, fromSlow, want sums
	for i := range int64(100) {
		if i%10 < 5 { // sometimes there is nothing new
			f.Record(t.Context(), float64(i)/1000)
			n.Record(t.Context(), -3*i)
			want.count += 2
			want.sum += i - 3*i
		}
		add(&fromFast, fast)
		if i%7 == 0 {
			add(&fromSlow, slow)
		}
	}
	add(&fromSlow, slow)
	var cumulative sums
	add(&cumulative, all)
	if fromFast != want || fromSlow != want || cumulative != want {
		t.Errorf("fast, slow, cumulative = %+v, %+v, %+v, want %+v", fromFast, fromSlow, cumulative, want)
	}
	if scopes, _ := fast.Produce(t.Context()); len(scopes) != 0 {
		t.Errorf("%d scopes without anything new, want none", len(scopes))
	}
}

// TestScaleOfBothSigns has negative values that take more buckets than the scale allows, and
// positive ones that do not.
func TestScaleOfBothSigns(t *testing.T) {
	reader, p := newReader(t, hdrmetric.WithScale(20))
	h, err := p.Meter("m").Int64Histogram("h")
	if err != nil {
		t.Fatal(err)
	}
	h.Record(t.Context(), 1000)
	if got := onlyPoint[int64](t, reader); got.Scale != 20 {
		t.Errorf("Scale = %d, want 20", got.Scale)
	}
	h.Record(t.Context(), -1)
	h.Record(t.Context(), math.MinInt64)
	got := onlyPoint[int64](t, reader)
	low, _ := got.Min.Value()
	if got.Scale != 8 || got.Count != 3 || low != math.MinInt64 || len(got.PositiveBucket.Counts) != 1 {
		t.Errorf("Scale, Count, Min, buckets = %d, %d, %d, %d", got.Scale, got.Count, low, len(got.PositiveBucket.Counts))
	}
}
