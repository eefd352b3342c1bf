package otelhdr

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func TestExponentialIndex(t *testing.T) {
	for _, tt := range []struct {
		v     float64
		scale int32
		want  int32
	}{
		{1, 0, -1},
		{1.5, 0, 0},
		{2, 0, 0},
		{2.000001, 0, 1},
		{4, 0, 1},
		{0.5, 0, -2},
		{0.75, 0, -1},
		{1, 1, -1},
		{1.4, 1, 0},
		{1.42, 1, 1},
		{2, 1, 1},
		{1, 8, -1},
		{2, 8, 255},
		{1024, 8, 2559},
		{1, 20, -1},
		{16, -1, 1},
		{16.5, -1, 2},
		{4, -1, 0},
		{1, -1, -1},
		{1e-300, -10, -1},
		{1, -10, -1},
		{1e300, -10, 0},
		{math.MaxFloat64, 20, 1<<30 - 1},
		{math.SmallestNonzeroFloat64, 0, -1075},
	} {
		if got := exponentialIndex(tt.v, tt.scale); got != tt.want {
			t.Errorf("exponentialIndex(%v, %d) = %d, want %d", tt.v, tt.scale, got, tt.want)
		}
	}
}

// TestExponentialIndexBounds checks lower < v <= upper in high precision, by raising v to the power
// 2^scale.
func TestExponentialIndexBounds(t *testing.T) {
	r := newRand()
	for range 300 {
		v := math.Ldexp(1+r.Float64(), r.IntN(120)-60)
		for scale := int32(0); scale <= 10; scale++ {
			power := new(big.Float).SetPrec(4096).SetFloat64(v)
			for range scale {
				power.Mul(power, power)
			}
			// v = 2^(i×2^-scale) just where power = 2^i, and power is in (2^i, 2^(i+1)] where
			// MantExp gives i+1.
			want := int32(power.MantExp(nil)) - 1
			if got := exponentialIndex(v, scale); got != want {
				t.Errorf("exponentialIndex(%v, %d) = %d, want %d", v, scale, got, want)
			}
		}
	}
}

// checkPoint checks what holds for every point: no value is lost, and no empty bucket is at either
// end.
func checkPoint(t *testing.T, s *Snapshot, p metricdata.ExponentialHistogramDataPoint[float64]) {
	t.Helper()
	n := p.ZeroCount
	for _, c := range p.PositiveBucket.Counts {
		n += c
	}
	if n != p.Count || p.Count != s.Count() {
		t.Errorf("zero count and buckets = %d, Count = %d, want both %d", n, p.Count, s.Count())
	}
	if c := p.PositiveBucket.Counts; len(c) > 0 && (c[0] == 0 || c[len(c)-1] == 0) {
		t.Errorf("an empty bucket at an end")
	}
	if len(p.PositiveBucket.Counts) > maxExponentialBuckets {
		t.Errorf("%d buckets, want at most %d", len(p.PositiveBucket.Counts), maxExponentialBuckets)
	}
	if len(p.NegativeBucket.Counts) != 0 || p.ZeroThreshold != 0 {
		t.Errorf("negative buckets or a zero threshold, want none")
	}
}

// exponentialPercentile returns the value that a reader of p would take for the rank.
func exponentialPercentile(p metricdata.ExponentialHistogramDataPoint[float64], rank uint64) float64 {
	if rank <= p.ZeroCount {
		return 0
	}
	rank -= p.ZeroCount
	base := math.Exp2(math.Exp2(-float64(p.Scale)))
	for i, n := range p.PositiveBucket.Counts {
		if rank <= n {
			return 2 * base / (base + 1) * math.Pow(base, float64(p.PositiveBucket.Offset)+float64(i))
		}
		rank -= n
	}
	return math.NaN()
}

func TestAscendingIndex(t *testing.T) {
	r := newRand()
	values := []float64{math.SmallestNonzeroFloat64, 0.5, 1, 1, 2, math.MaxFloat64}
	for range 5000 {
		values = append(values, math.Ldexp(1+r.Float64(), r.IntN(120)-60))
	}
	slices.Sort(values)
	for scale := int32(minExponentialScale); scale <= maxExponentialScale; scale++ {
		ascending := newAscendingIndex(scale)
		for _, v := range values {
			if got, want := ascending.of(v), exponentialIndex(v, scale); got != want {
				t.Errorf("scale %d: index of %v = %d, want %d", scale, v, got, want)
			}
		}
	}
}

func TestExponentialErrorBound(t *testing.T) {
	const unit = 1e-9
	for name, draw := range distributions() {
		for _, scale := range []int32{0, 3, 8, 9} {
			t.Run(fmt.Sprintf("%s/scale=%d", name, scale), func(t *testing.T) {
				r := newRand()
				h := mustNew(t)
				values := make([]uint64, 10_000)
				for i := range values {
					values[i] = draw(r)
					h.Record(values[i])
				}
				slices.Sort(values)
				s := h.Snapshot(nil)
				p := s.Exponential(scale, unit)
				checkPoint(t, s, p)
				base, e := math.Exp2(math.Exp2(-float64(p.Scale))), s.RelativeError()
				bound := (1+e)*(1+(base-1)/(base+1)) - 1
				for _, rank := range []uint64{1, 10, 100, 1000, 5000, 9000, 9900, 9990, 10_000} {
					got, want := exponentialPercentile(p, rank), float64(values[rank-1])*unit
					if math.Abs(got-want) > want*bound*(1+1e-9) {
						t.Errorf("rank %d: %v, want %v within %g", rank, got, want, bound)
					}
				}
				if scale <= 8 && p.Scale != scale {
					t.Errorf("Scale = %d, want %d", p.Scale, scale)
				}
				low, _ := p.Min.Value()
				high, _ := p.Max.Value()
				if low != float64(values[0])*unit || high != float64(values[len(values)-1])*unit || p.Sum != s.Sum()*unit {
					t.Errorf("Min, Max, Sum = %v, %v, %v, want %v, %v, %v", low, high, p.Sum,
						float64(values[0])*unit, float64(values[len(values)-1])*unit, s.Sum()*unit)
				}
			})
		}
	}
}

func TestExponentialLosesNothing(t *testing.T) {
	h := mustNew(t, WithRange(1000, 1_000_000))
	for _, v := range []uint64{0, 0, 3, 999, 1000, 5000, 1_000_000, 1 << 40, math.MaxUint64} {
		h.Record(v)
	}
	s := h.Snapshot(nil)
	for _, unit := range []float64{1, 1e-9, 1e9, 1e-320, 1e-330, 1e300, 0, -1, math.NaN(), math.Inf(1)} {
		for _, scale := range []int32{math.MinInt32, -11, -10, -1, 0, 1, 8, 20, 21, math.MaxInt32} {
			p := s.Exponential(scale, unit)
			checkPoint(t, s, p)
			if p.Scale < minExponentialScale || p.Scale > maxExponentialScale {
				t.Errorf("unit %v, scale %d: Scale = %d", unit, scale, p.Scale)
			}
		}
	}
	// The four values below the range are all at the minimum, which is 0.
	if p := s.Exponential(8, 1); p.ZeroCount != 4 {
		t.Errorf("ZeroCount = %d, want 4", p.ZeroCount)
	}
}

func TestExponentialScaleIsBounded(t *testing.T) {
	h := mustNew(t)
	h.Record(1)
	h.Record(math.MaxUint64)
	s := h.Snapshot(nil)
	for _, tt := range []struct{ scale, want int32 }{{-20, -10}, {0, 0}, {8, 8}, {9, 8}, {20, 8}, {30, 8}} {
		for _, unit := range []float64{1, 1e-9, 0.7} {
			p := s.Exponential(tt.scale, unit)
			checkPoint(t, s, p)
			if p.Scale != tt.want {
				t.Errorf("Exponential(%d, %v).Scale = %d, want %d", tt.scale, unit, p.Scale, tt.want)
			}
		}
	}
	narrow := mustNew(t)
	narrow.Record(1_000_000)
	narrow.Record(1_001_000)
	if p := narrow.Snapshot(nil).Exponential(20, 1); p.Scale != 20 {
		t.Errorf("a narrow distribution has Scale %d, want 20", p.Scale)
	}
}

func TestExponentialEmpty(t *testing.T) {
	for _, s := range []*Snapshot{new(Snapshot), mustNew(t).Snapshot(nil)} {
		p := s.Exponential(8, 1)
		checkPoint(t, s, p)
		_, hasMin := p.Min.Value()
		_, hasMax := p.Max.Value()
		if hasMin || hasMax || p.Scale != 8 {
			t.Errorf("an empty point has extremes or scale %d, want none and 8", p.Scale)
		}
	}
}
