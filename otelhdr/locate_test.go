package otelhdr

import (
	"math"
	"slices"
	"testing"
)

func TestLocate(t *testing.T) {
	ranks := []float64{0, 0.5, 10, 50, 90, 99, 99.9, 100, 30, 30, 5} // descends at the end
	for name, draw := range distributions() {
		for _, opts := range [][]Option{nil, {WithRelativeError(0.05)}, {WithRange(12_345, 1<<33)}} {
			h := mustNew(t, opts...)
			r := newRand()
			values := make([]uint64, 3000)
			for i := range values {
				values[i] = draw(r)
				h.Record(values[i])
			}
			slices.Sort(values)
			s := h.Snapshot(nil)
			for i, p := range s.LocateAll(ranks, nil) {
				want := values[p.Rank-1]
				if want != exactPercentile(values, ranks[i]) || p.Percent != ranks[i] {
					t.Errorf("%s: Locate(%v) has rank %d of value %d, percent %v", name, ranks[i], p.Rank, want, p.Percent)
				}
				if want < p.Bucket.Low || want > p.Bucket.High {
					t.Errorf("%s: Locate(%v) is in %v, want where %d is", name, ranks[i], p.Bucket, want)
				}
				if off := max(p.Value, want) - min(p.Value, want); off > p.Error {
					t.Errorf("%s: Locate(%v) = %d ± %d, want %d", name, ranks[i], p.Value, p.Error, want)
				}
				if got := s.Percentile(ranks[i]); p.Value != got {
					t.Errorf("%s: Locate(%v) = %d, Percentile gives %d", name, ranks[i], p.Value, got)
				}
				inRange := p.Bucket.Low >= s.layout.low(s.layout.first) && want <= s.layout.high(s.layout.first+s.layout.size-1)
				if inRange != (p.Slot >= 0) || inRange && (uint64(p.Index) != s.layout.index(want) || uint64(p.Slot) != uint64(p.Index)-s.layout.first) {
					t.Errorf("%s: Locate(%v) is slot %d, index %d, want index %d", name, ranks[i], p.Slot, p.Index, s.layout.index(want))
				}
			}
		}
	}
	if got := new(Snapshot).Locate(50); got != (Percentile{Percent: 50}) {
		t.Errorf("Locate(50) of nothing = %+v", got)
	}
}

func TestLocateErrorOfExtremes(t *testing.T) {
	h := mustNew(t)
	h.Record(1_000_001)
	h.Record(2_000_003)
	first := h.Snapshot(nil)
	if low, high := first.Locate(0), first.Locate(100); low.Error != 0 || high.Error != 0 {
		t.Errorf("exact extremes = %d ± %d, %d ± %d, want ± 0", low.Value, low.Error, high.Value, high.Error)
	}
	h.Record(1_500_003)
	d := h.Snapshot(nil).Since(first, nil)
	if p := d.Locate(0); p.Error == 0 || max(p.Value, 1_500_003)-min(p.Value, 1_500_003) > p.Error {
		t.Errorf("extreme of a difference = %d ± %d, want 1500003 within it", p.Value, p.Error)
	}
}

func TestLocateAllocs(t *testing.T) {
	h := mustNew(t)
	for _, v := range latencies(1000) {
		h.Record(v)
	}
	s := h.Snapshot(nil)
	ranks, dst := []float64{50, 90, 99}, make([]Percentile, 3)
	var sum uint64
	if n := testing.AllocsPerRun(20, func() {
		s.LocateAll(ranks, dst)
		sum += s.Locate(50).Value
		for p := range s.BucketPercentiles() {
			sum += p.Value
		}
	}); n != 0 {
		t.Errorf("LocateAll, Locate and BucketPercentiles allocate %v times, want 0", n)
	}
}

func TestIterators(t *testing.T) {
	for _, opts := range [][]Option{nil, {WithRange(100, 5000)}, {WithRange(100, 5000), WithRelativeError(0.1)}} {
		h := mustNew(t, opts...)
		for _, v := range []uint64{7, 99, 100, 101, 101, 4000, 4001, 4500, 70_000} {
			h.Record(v)
		}
		s := h.Snapshot(nil)
		some := slices.Collect(s.Buckets())
		var count uint64
		for i, b := range some {
			if b.Count == 0 || i > 0 && b.Low <= some[i-1].High {
				t.Fatalf("%v follows on %v", b, some[:i])
			}
			count += b.Count
		}
		if count != s.Count() {
			t.Errorf("%d values in buckets, want %d", count, s.Count())
		}

		percentiles := slices.Collect(s.BucketPercentiles())
		if len(percentiles) != len(some) {
			t.Fatalf("%d percentiles, want %d", len(percentiles), len(some))
		}
		for i, p := range percentiles {
			if p.Bucket != some[i] || p.Value != s.Locate(p.Percent).Value && i < len(some)-1 {
				t.Errorf("percentile %v, want that of bucket %v, %v", p, some[i], s.Locate(p.Percent))
			}
		}
		if last := percentiles[len(percentiles)-1]; last.Percent != 100 || last.Rank != s.Count() {
			t.Errorf("the last percentile = %v, rank %d, want P100, %d", last, last.Rank, s.Count())
		}
		for range s.Buckets() {
			break
		}
		for range s.BucketPercentiles() {
			break
		}
	}
	for b := range new(Snapshot).Buckets() {
		t.Errorf("the zero Snapshot has bucket %v", b)
	}
}

func TestStrings(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{Bucket{Low: 24_832, High: 25_087, Count: 14_190}.String(), "[24,832, 25,088) 14,190"},
		{Bucket{Low: 5, High: 5}.String(), "[5, 6) 0"},
		{
			Bucket{Low: 15 << 60, High: math.MaxUint64, Count: math.MaxUint64}.String(),
			"[17,293,822,569,102,704,640, 18,446,744,073,709,551,616) 18,446,744,073,709,551,615",
		},
		{
			Percentile{Percent: 99, Value: 24_960, Bucket: Bucket{Low: 24_832, High: 25_087, Count: 14_190}, Slot: 83, Index: 609}.String(),
			"P99=24,960 [83 / 609]: [24,832, 25,088) 14,190",
		},
		{percentText(9.19135), "9.1914"},
		{percentText(33.271), "33.271"},
		{percentText(100), "100"},
		{percentText(99.9999), "99.9999"},
		{percentText(99.999999), "99.999999"},
		{groupedText(0), "0"},
		{groupedText(999), "999"},
		{groupedText(1000), "1,000"},
		{groupedText(1_234_567), "1,234,567"},
		{floatText(1234.5), "1,234.50"},
		{floatText(0.004), "0.00"},
		{precisionText(0.5 / 64), "0.7813%"},
		{precisionText(0.5 / 512), "0.0977%"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestEquivalent(t *testing.T) {
	for _, e := range []Equivalent{EquivalentMid, EquivalentLow, EquivalentHigh} {
		forEachKind(t, func(t *testing.T, create func(...Option) recorder) {
			h := create(WithRelativeError(0.01), WithEquivalent(e))
			for range 9 {
				h.Record(1000)
				h.Record(101<<10 + 5)
				h.Record(101<<10 + 7)
			}
			s := h.Snapshot(nil)
			b := s.Locate(60).Bucket
			if got, want := s.Percentile(60), b.Equivalent(e); got != min(want, s.Max()) && got != max(want, s.Min()) {
				t.Errorf("%d: Percentile(60) = %d, want %d of %v", e, got, want, b)
			}
			if got := s.Percentiles([]float64{0, 100}, nil); got[0] != s.Min() || got[1] != s.Max() {
				t.Errorf("%d: extremes = %v", e, got)
			}
		})
	}
	b := Bucket{Low: 8, High: 15}
	if b.Equivalent(EquivalentLow) != 8 || b.Equivalent(EquivalentMid) != 12 || b.Equivalent(EquivalentHigh) != 15 {
		t.Errorf("equivalents of %v = %d, %d, %d", b, b.Equivalent(EquivalentLow), b.Equivalent(EquivalentMid), b.Equivalent(EquivalentHigh))
	}
}

// A coarse bucket from elsewhere is counted where its middle falls, so the minimum, its lower
// bound, is not in the bucket that counts it.
func TestLocateExtremeOutsideItsBucket(t *testing.T) {
	s, err := NewSnapshot(slices.Values([]Bucket{{Low: 0, High: 1023, Count: 3}, {Low: 4096, High: 8191, Count: 2}}))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []float64{0, 100} {
		got := s.Locate(p)
		if want := max(distance(got.Value, got.Bucket.Low), distance(got.Value, got.Bucket.High)); got.Error != want || got.Error > 4096 {
			t.Errorf("Locate(%g) = %+v, want error %d", p, got, want)
		}
	}
}
