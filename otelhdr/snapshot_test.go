package otelhdr

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSnapshotMoments(t *testing.T) {
	forEachKind(t, func(t *testing.T, create func(...Option) recorder) {
		h := create()
		values := []uint64{2, 4, 4, 4, 5, 5, 7, 9} // mean 5, standard deviation 2
		for _, v := range values {
			h.Record(v)
		}
		s := h.Snapshot(nil)
		if s.Count() != 8 || s.Sum() != 40 || s.Min() != 2 || s.Max() != 9 || s.Mean() != 5 || s.StdDev() != 2 {
			t.Errorf("count, sum, min, max, mean, deviation = %d, %v, %d, %d, %v, %v, want 8, 40, 2, 9, 5, 2",
				s.Count(), s.Sum(), s.Min(), s.Max(), s.Mean(), s.StdDev())
		}
		if h.Count() != 8 {
			t.Errorf("Count() = %d, want 8", h.Count())
		}
	})
}

func TestSnapshotEmpty(t *testing.T) {
	check := func(t *testing.T, s *Snapshot) {
		t.Helper()
		if s.Count() != 0 || s.Sum() != 0 || s.Min() != 0 || s.Max() != 0 || s.Mean() != 0 || s.StdDev() != 0 ||
			s.Percentile(50) != 0 || s.Underflow() != 0 || s.Overflow() != 0 {
			t.Errorf("an empty snapshot reports something: %+v", s)
		}
		for b := range s.Buckets() {
			t.Errorf("an empty snapshot has bucket %+v", b)
		}
	}
	check(t, new(Snapshot))
	if got := new(Snapshot).RelativeError(); got != 0 {
		t.Errorf("RelativeError() of the zero Snapshot = %v, want 0", got)
	}
	forEachKind(t, func(t *testing.T, create func(...Option) recorder) {
		h := create()
		h.RecordN(5, 0)
		check(t, h.Snapshot(nil))
	})
}

func TestSnapshotSumIsExact(t *testing.T) {
	forEachKind(t, func(t *testing.T, create func(...Option) recorder) {
		h := create()
		h.Record(math.MaxUint64)
		h.Record(math.MaxUint64)
		h.Record(3)
		h.RecordN(math.MaxUint64, math.MaxUint64-3)
		// (2^64-1)(2^64-2) + 3 = 2^128 - 3×2^64 + 5
		hi, lo := h.Snapshot(nil).Sum128()
		if wantHi, wantLo := uint64(math.MaxUint64-2), uint64(5); hi != wantHi || lo != wantLo {
			t.Errorf("Sum128() = %d, %d, want %d, %d", hi, lo, wantHi, wantLo)
		}
		if got, want := h.Count(), uint64(math.MaxUint64); got != want {
			t.Errorf("Count() = %d, want %d", got, want)
		}
	})
}

func TestSnapshotRange(t *testing.T) {
	forEachKind(t, func(t *testing.T, create func(...Option) recorder) {
		h := create(WithRange(1000, 2000))
		lowest, highest := h.Range()
		for _, v := range []uint64{0, 7, lowest - 1, lowest, 1500, highest, highest + 1, math.MaxUint64} {
			h.Record(v)
		}
		h.RecordN(1, 2)
		h.RecordN(1500, 3)
		h.RecordN(1<<40, 4)
		s := h.Snapshot(nil)
		if s.Count() != 17 || s.Underflow() != 5 || s.Overflow() != 6 {
			t.Errorf("count, underflow, overflow = %d, %d, %d, want 17, 5, 6", s.Count(), s.Underflow(), s.Overflow())
		}
		if s.Min() != 0 || s.Max() != math.MaxUint64 {
			t.Errorf("extremes = %d, %d, want 0, %d", s.Min(), s.Max(), uint64(math.MaxUint64))
		}
		want := []Bucket{
			{Low: 0, High: lowest - 1, Count: 5},
			{Low: lowest, High: lowest, Count: 1},
			{Low: 1500, High: 1501, Count: 4},
			{Low: highest - 1, High: highest, Count: 1},
			{Low: highest + 1, High: math.MaxUint64, Count: 6},
		}
		if diff := cmp.Diff(want, slices.Collect(s.Buckets())); diff != "" {
			t.Errorf("Buckets (-want +got):\n%s", diff)
		}
	})
}

func TestSnapshotOnlyOutOfRange(t *testing.T) {
	forEachKind(t, func(t *testing.T, create func(...Option) recorder) {
		for _, v := range []uint64{10, 3000} {
			h := create(WithRange(1000, 2000))
			h.RecordN(v, 2)
			s := h.Snapshot(nil)
			if s.Count() != 2 || s.Min() != v || s.Max() != v || s.Percentile(50) != v || s.StdDev() != 0 {
				t.Errorf("of %d twice: count, min, max, median, deviation = %d, %d, %d, %d, %v",
					v, s.Count(), s.Min(), s.Max(), s.Percentile(50), s.StdDev())
			}
		}
	})
}

func TestSnapshotBucketsStop(t *testing.T) {
	h := mustNew(t, WithRange(10, 20))
	for v := uint64(5); v < 25; v += 5 {
		h.Record(v)
	}
	s := h.Snapshot(nil)
	for stop := 1; stop <= 4; stop++ {
		n := 0
		for range s.Buckets() {
			if n++; n == stop {
				break
			}
		}
		if n != stop {
			t.Errorf("stopped after %d buckets, want %d", n, stop)
		}
	}
}

func TestSnapshotReuse(t *testing.T) {
	forEachKind(t, func(t *testing.T, create func(...Option) recorder) {
		h := create()
		for _, v := range latencies(1000) {
			h.Record(v)
		}
		want := h.Snapshot(nil)
		other := create(WithRelativeError(0.05))
		other.RecordN(1<<50, 7)
		twin := create()
		twin.Record(1 << 60)

		got := new(Snapshot)
		for _, from := range []recorder{other, twin, h} {
			if from.Snapshot(got) != got {
				t.Fatalf("Snapshot(dst) returned another snapshot")
			}
		}
		if diff := cmp.Diff(slices.Collect(want.Buckets()), slices.Collect(got.Buckets())); diff != "" {
			t.Errorf("Buckets of a reused snapshot (-want +got):\n%s", diff)
		}
		if got.Count() != want.Count() || got.sum != want.sum || got.min != want.min || got.max != want.max {
			t.Errorf("a reused snapshot = %+v, want %+v", got, want)
		}
	})
}

func TestSnapshotAllocs(t *testing.T) {
	forEachKind(t, func(t *testing.T, create func(...Option) recorder) {
		h := create()
		for _, v := range latencies(1000) {
			h.Record(v)
		}
		h.Reset()
		h.Record(5)
		cur, prev := h.Snapshot(nil), h.Snapshot(nil)
		if n := testing.AllocsPerRun(20, func() {
			h.Record(5)
			cur = h.Snapshot(cur)
			delta := cur.Since(prev, prev)
			prev, cur = cur, delta
		}); n != 0 {
			t.Errorf("Record, Snapshot and Since allocate %v times, want 0", n)
		}
		if n := testing.AllocsPerRun(20, func() { h.Reset() }); n != 0 {
			t.Errorf("Reset allocates %v times, want 0", n)
		}
		var sum uint64
		if n := testing.AllocsPerRun(20, func() {
			for b := range cur.Buckets() {
				sum += b.Count
			}
		}); n != 0 {
			t.Errorf("Buckets allocates %v times, want 0", n)
		}
	})
}

func TestReset(t *testing.T) {
	forEachKind(t, func(t *testing.T, create func(...Option) recorder) {
		h := create(WithRange(100, 1_000_000))
		h.Reset()
		for _, v := range []uint64{1, 150, 777_777, 1 << 40} {
			h.RecordN(v, 3)
		}
		h.Reset()
		if s := h.Snapshot(nil); s.Count() != 0 || s.Sum() != 0 || s.Max() != 0 || h.Count() != 0 {
			t.Errorf("after Reset: %d values, sum %v, max %d, want none", s.Count(), s.Sum(), s.Max())
		}
		for range 2 {
			h.Record(500_001)
			h.Record(200)
			s := h.Snapshot(nil)
			want := []Bucket{{Low: 200, High: 200, Count: 1}, {Low: 499_712, High: 500_223, Count: 1}}
			if diff := cmp.Diff(want, slices.Collect(s.Buckets())); diff != "" {
				t.Errorf("Buckets (-want +got):\n%s", diff)
			}
			if s.Count() != 2 || s.Sum() != 500_201 || s.Min() != 200 || s.Max() != 500_001 || h.Count() != 2 {
				t.Errorf("count, sum, min, max = %d, %v, %d, %d, want 2, 500201, 200, 500001",
					s.Count(), s.Sum(), s.Min(), s.Max())
			}
			if s.Underflow() != 0 || s.Overflow() != 0 {
				t.Errorf("underflow, overflow = %d, %d, want 0, 0", s.Underflow(), s.Overflow())
			}
			h.Reset()
		}
	})
}

func TestSince(t *testing.T) {
	forEachKind(t, func(t *testing.T, create func(...Option) recorder) {
		h := create()
		h.RecordN(100, 5)
		h.Record(1_000_003)
		first := h.Snapshot(nil)
		h.RecordN(100, 2)
		h.Record(50_001)
		second := h.Snapshot(nil)
		for _, tt := range []struct {
			name string
			dst  func() *Snapshot
		}{
			{"nil", func() *Snapshot { return nil }},
			{"used", func() *Snapshot { return h.Snapshot(nil) }},
			{"zero", func() *Snapshot { return new(Snapshot) }},
		} {
			d := second.Since(first, tt.dst())
			if d.Count() != 3 || d.Sum() != 50_201 || d.Min() != 100 || !within(d.Max(), 50_001, 2*d.RelativeError()) {
				t.Errorf("dst %s: count, sum, min, max = %d, %v, %d, %d, want 3, 50201, 100, about 50001",
					tt.name, d.Count(), d.Sum(), d.Min(), d.Max())
			}
		}

		h.Record(2_000_001)
		h.Record(3)
		third := h.Snapshot(nil)
		d := third.Since(second, second) // in place of prev
		if d != second || d.Count() != 2 || d.Sum() != 2_000_004 || d.Min() != 3 || d.Max() != 2_000_001 {
			t.Errorf("new extremes: count, sum, min, max = %d, %v, %d, %d, want 2, 2000004, 3, 2000001",
				d.Count(), d.Sum(), d.Min(), d.Max())
		}
		if d := third.Since(first, third); d != third || d.Count() != 5 { // in place of itself
			t.Errorf("in place: count = %d, want 5", d.Count())
		}
	})
}

func TestSinceUnrelated(t *testing.T) {
	forEachKind(t, func(t *testing.T, create func(...Option) recorder) {
		h, other, coarse := create(), create(), create(WithRelativeError(0.1))
		for _, r := range []recorder{h, other, coarse} {
			r.RecordN(77, 9)
		}
		before := h.Snapshot(nil)
		h.Reset()
		h.RecordN(78, 4)
		s := h.Snapshot(nil)
		for name, prev := range map[string]*Snapshot{
			"nil":               nil,
			"zero":              new(Snapshot),
			"before Reset":      before,
			"another histogram": other.Snapshot(nil),
			"another layout":    coarse.Snapshot(nil),
			"a difference":      s.Since(s, nil),
		} {
			d := s.Since(prev, prev)
			if d.Count() != 4 || d.Sum() != 4*78 || d.Min() != 78 || d.Max() != 78 {
				t.Errorf("since %s: count, sum, min, max = %d, %v, %d, %d, want 4, 312, 78, 78",
					name, d.Count(), d.Sum(), d.Min(), d.Max())
			}
		}
	})
}

// TestSettleLostExtremes puts a snapshot into the state that Reset can leave when it comes between
// the two halves of a Record: counted, but not part of the extremes.
func TestSettleLostExtremes(t *testing.T) {
	c := mustNewConcurrent(t, WithRelativeError(0.1))
	c.Record(33)
	only := c.set.Load().stripes[0]
	only.min.Store(math.MaxUint64)
	only.max.Store(0)
	if s := c.Snapshot(nil); s.Min() != 32 || s.Max() != 35 {
		t.Errorf("extremes = %d, %d, want those of the bucket, 32, 35", s.Min(), s.Max())
	}
}

func TestBucketMid(t *testing.T) {
	for _, tt := range []struct{ low, high, want uint64 }{
		{0, 0, 0}, {8, 9, 9}, {10, 13, 12}, {0, math.MaxUint64, 1 << 63}, {math.MaxUint64, math.MaxUint64, math.MaxUint64},
	} {
		if got := (Bucket{Low: tt.low, High: tt.high}).Mid(); got != tt.want {
			t.Errorf("Mid of [%d, %d] = %d, want %d", tt.low, tt.high, got, tt.want)
		}
	}
}

// TestSnapshotsFarApart: one snapshot after the other of histograms whose values are far apart, as
// a collection makes them, has each time the counts of its own alone, and takes memory for no more
// chunks than one of them has.
func TestSnapshotsFarApart(t *testing.T) {
	var all []*Concurrent
	for i := range 40 {
		c, err := NewConcurrent()
		if err != nil {
			t.Fatal(err)
		}
		c.RecordN(1<<i, uint64(i+1))
		all = append(all, c)
	}
	dst := all[0].Snapshot(nil)
	first := dst.SizeBytes()
	for i, c := range all {
		dst = c.Snapshot(dst)
		want := c.Snapshot(nil)
		if dst.Count() != uint64(i+1) || dst.Min() != 1<<i || dst.Max() != 1<<i || !slices.Equal(slices.Collect(dst.Buckets()), slices.Collect(want.Buckets())) {
			t.Errorf("snapshot of %d times %d: count %d, from %d to %d, buckets %v", i+1, 1<<i, dst.Count(), dst.Min(), dst.Max(), slices.Collect(dst.Buckets()))
		}
	}
	if now := dst.SizeBytes(); now > first+2048 {
		t.Errorf("%d bytes after the snapshots of all, %d after the first", now, first)
	}
	if n := testing.AllocsPerRun(10, func() {
		for _, c := range all {
			dst = c.Snapshot(dst)
		}
	}); n > 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
