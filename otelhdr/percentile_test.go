package otelhdr

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// exactPercentile returns the value in sorted whose rank belongs to p.
func exactPercentile(sorted []uint64, p float64) uint64 {
	rank := math.Ceil(math.Nextafter(p, math.Inf(-1)) * float64(len(sorted)) / 100)
	return sorted[max(int(rank), 1)-1]
}

func distributions() map[string]func(r *rand.Rand) uint64 {
	return map[string]func(r *rand.Rand) uint64{
		"constant":    func(*rand.Rand) uint64 { return 1_234_567 },
		"small":       func(r *rand.Rand) uint64 { return r.Uint64N(20) },
		"uniform":     func(r *rand.Rand) uint64 { return r.Uint64N(1_000_000) },
		"exponential": func(r *rand.Rand) uint64 { return uint64(r.ExpFloat64() * 5e6) },
		"log-normal":  func(r *rand.Rand) uint64 { return uint64(1e6 * math.Exp(r.NormFloat64())) },
		"cubed":       func(r *rand.Rand) uint64 { return uint64(math.Pow(r.Float64(), 3) * 7_716_549_600) },
		"full range":  func(r *rand.Rand) uint64 { return r.Uint64() },
		"any width":   anyWidth,
		"two modes": func(r *rand.Rand) uint64 {
			if r.IntN(10) == 0 {
				return 50_000_000 + r.Uint64N(1000)
			}
			return 10_000 + r.Uint64N(1000)
		},
	}
}

func TestPercentilesAgainstSamples(t *testing.T) {
	ranks := []float64{0, 1e-9, 0.1, 1, 5, 10, 25, 50, 75, 90, 92.5, 95, 97.5, 99, 99.9, 99.99, 99.999, 100}
	for name, draw := range distributions() {
		for _, e := range []float64{0.1, 0.01, 0.001, 0.0001} {
			t.Run(fmt.Sprintf("%s/error=%g", name, e), func(t *testing.T) {
				r := newRand()
				h := mustNew(t, WithRelativeError(e))
				values := make([]uint64, 20_000)
				for i := range values {
					values[i] = draw(r)
					h.Record(values[i])
				}
				slices.Sort(values)
				s := h.Snapshot(nil)
				got := s.Percentiles(ranks, nil)
				for i, p := range ranks {
					want := exactPercentile(values, p)
					if !within(got[i], want, s.RelativeError()) {
						t.Errorf("Percentile(%v) = %d, want %d within %g", p, got[i], want, s.RelativeError())
					}
				}
				if got[0] != values[0] || got[len(got)-1] != values[len(values)-1] {
					t.Errorf("P0, P100 = %d, %d, want exactly %d, %d",
						got[0], got[len(got)-1], values[0], values[len(values)-1])
				}
				if !slices.IsSorted(got) {
					t.Errorf("Percentiles of ascending ranks = %v, want them ascending", got)
				}
			})
		}
	}
}

func TestPercentileRanks(t *testing.T) {
	ten, hundred := mustNew(t), mustNew(t)
	for v := uint64(1); v <= 100; v++ {
		hundred.Record(v)
		if v <= 10 {
			ten.Record(v)
		}
	}
	for _, tt := range []struct {
		name string
		h    *Histogram
		p    float64
		want uint64
	}{
		{"first", ten, 0, 1},
		{"just above the first", ten, math.SmallestNonzeroFloat64, 1},
		{"a full rank is not exceeded", ten, 10, 1},
		{"just above a full rank", ten, 10.000001, 2},
		{"median is the lower one", ten, 50, 5},
		{"90", ten, 90, 9},
		{"99", ten, 99, 10},
		{"last", ten, 100, 10},
		{"below", ten, -5, 1},
		{"above", ten, 1000, 10},
		{"infinite", ten, math.Inf(1), 10},
		{"not a number", ten, math.NaN(), 1},
		{"product that rounds up", hundred, 7, 7},
		{"product that rounds up", hundred, 55, 55},
		{"product that rounds up", hundred, 57, 57},
		{"99 of 100", hundred, 99, 99},
		{"99.9 of 100", hundred, 99.9, 100},
		{"empty", mustNew(t), 50, 0},
	} {
		if got := tt.h.Snapshot(nil).Percentile(tt.p); got != tt.want {
			t.Errorf("%s: Percentile(%v) = %d, want %d", tt.name, tt.p, got, tt.want)
		}
	}
}

func TestPercentileManyValues(t *testing.T) {
	h := mustNew(t)
	h.RecordN(10, math.MaxUint64-2)
	h.RecordN(20, 2)
	s := h.Snapshot(nil)
	got := s.Percentiles([]float64{0, 50, 99.99, 100}, nil)
	if want := []uint64{10, 10, 10, 20}; !slices.Equal(got, want) {
		t.Errorf("Percentiles = %v, want %v", got, want)
	}
	if s.Count() != math.MaxUint64 {
		t.Errorf("Count() = %d, want %d", s.Count(), uint64(math.MaxUint64))
	}
}

func TestPercentilesOrderAndReuse(t *testing.T) {
	h := mustNew(t)
	for _, v := range latencies(1000) {
		h.Record(v)
	}
	s := h.Snapshot(nil)
	ranks := []float64{99, 50, 50, 100, 0, 75, 99.9, 10}
	want := make([]uint64, len(ranks))
	for i, p := range ranks {
		want[i] = s.Percentile(p)
	}
	dst := []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9}
	got := s.Percentiles(ranks, dst)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Percentiles (-want +got):\n%s", diff)
	}
	if &got[0] != &dst[0] {
		t.Errorf("Percentiles did not use dst, which is big enough")
	}
	if got := s.Percentiles(ranks, nil); !slices.Equal(got, want) {
		t.Errorf("Percentiles without dst = %v, want %v", got, want)
	}
	if got := s.Percentiles(nil, dst); len(got) != 0 {
		t.Errorf("Percentiles of no ranks = %v, want none", got)
	}
	if got := new(Snapshot).Percentiles(ranks[:2], dst); !slices.Equal(got, []uint64{0, 0}) {
		t.Errorf("Percentiles of an empty snapshot = %v, want zeros", got)
	}
	if n := testing.AllocsPerRun(20, func() { s.Percentiles(ranks, dst) }); n != 0 {
		t.Errorf("Percentiles allocates %v times, want 0", n)
	}
	if n := testing.AllocsPerRun(20, func() { s.Percentile(99) }); n != 0 {
		t.Errorf("Percentile allocates %v times, want 0", n)
	}
}

func TestPercentileOutOfRange(t *testing.T) {
	h := mustNew(t, WithRange(1000, 2000))
	for _, v := range []uint64{3, 5, 1500, 1600, 5000, 70_000} {
		h.Record(v)
	}
	got := h.Snapshot(nil).Percentiles([]float64{0, 33, 50, 66, 83, 100}, nil)
	want := []uint64{3, 3, 1501, 1601, 70_000, 70_000}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Percentiles (-want +got):\n%s", diff)
	}
}

// FuzzRecordPercentile reads values of 1 to 8 bytes and compares both kinds of histogram with a
// sorted list of them.
func FuzzRecordPercentile(f *testing.F) {
	f.Add([]byte{}, 50.0, 0.001)
	f.Add([]byte{0, 1, 0, 2, 0, 3}, 99.0, 0.1)
	f.Add([]byte{7, 255, 255, 255, 255, 255, 255, 255, 255, 3, 1, 2, 3, 4}, 100.0, 0.01)
	f.Fuzz(func(t *testing.T, data []byte, p, relativeError float64) {
		h, err := NewHistogram(WithRelativeError(relativeError))
		c, errConcurrent := NewConcurrent(WithRelativeError(relativeError))
		if (err == nil) != (errConcurrent == nil) {
			t.Fatalf("NewHistogram: %v, NewConcurrent: %v", err, errConcurrent)
		}
		if err != nil {
			return
		}
		var values []uint64
		for len(data) > 0 {
			width := min(int(data[0]%8)+1, len(data)-1)
			var word [8]byte
			copy(word[:], data[1:1+width])
			data = data[1+width:]
			values = append(values, binary.LittleEndian.Uint64(word[:]))
		}
		var sum uint128
		for _, v := range values {
			h.Record(v)
			c.Record(v)
			sum = sum.add(uint128{lo: v})
		}
		slices.Sort(values)
		for _, s := range []*Snapshot{h.Snapshot(nil), c.Snapshot(nil)} {
			if s.Count() != uint64(len(values)) || s.sum != sum {
				t.Fatalf("count, sum = %d, %v, want %d, %v", s.Count(), s.sum, len(values), sum)
			}
			got := s.Percentile(p)
			if len(values) == 0 {
				if got != 0 {
					t.Fatalf("Percentile(%v) of nothing = %d, want 0", p, got)
				}
				continue
			}
			if math.IsNaN(p) {
				p = 0
			}
			want := exactPercentile(values, min(max(p, 0), 100))
			if !within(got, want, s.RelativeError()) {
				t.Fatalf("Percentile(%v) = %d, want %d within %g", p, got, want, s.RelativeError())
			}
			if s.Min() != values[0] || s.Max() != values[len(values)-1] {
				t.Fatalf("extremes = %d, %d, want %d, %d", s.Min(), s.Max(), values[0], values[len(values)-1])
			}
		}
	})
}
