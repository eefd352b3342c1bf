package otelhdr

import (
	"errors"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// same reports whether two snapshots agree in all that can be seen of them.
func same(a, b *Snapshot) bool {
	return slices.Equal(slices.Collect(a.Buckets()), slices.Collect(b.Buckets())) &&
		a.count == b.count && a.sum == b.sum && a.min == b.min && a.max == b.max &&
		a.underflow == b.underflow && a.overflow == b.overflow
}

func snapshotOf(t testing.TB, values []uint64, opts ...Option) *Snapshot {
	t.Helper()
	h := mustNew(t, opts...)
	for _, v := range values {
		h.Record(v)
	}
	return h.Snapshot(nil)
}

func TestMerge(t *testing.T) {
	r := newRand()
	opts := []Option{WithRange(1000, 1<<50)}
	var a, b []uint64
	for range 3000 {
		a, b = append(a, anyWidth(r)), append(b, r.Uint64N(1<<20))
	}
	want := snapshotOf(t, slices.Concat(a, b), opts...)
	for name, from := range map[string][2][]uint64{"ab": {a, b}, "ba": {b, a}} {
		s := new(Snapshot)
		for _, values := range from {
			part := snapshotOf(t, values, opts...)
			before := snapshotOf(t, values, opts...)
			if err := s.Merge(part); err != nil {
				t.Fatal(err)
			}
			if !same(part, before) {
				t.Errorf("%s: Merge changed what it merged", name)
			}
		}
		if !same(s, want) {
			t.Errorf("%s: merged %v, want %v", name, s.Summary(nil), want.Summary(nil))
		}
		if err := s.Merge(new(Snapshot)); err != nil || !same(s, want) {
			t.Errorf("%s: merging nothing: %v", name, err)
		}
		if err := s.Merge(s); err != nil || s.Count() != 2*want.Count() {
			t.Errorf("%s: merging itself: %d values, %v, want %d", name, s.Count(), err, 2*want.Count())
		}
	}
}

func TestMergeErrors(t *testing.T) {
	fine, coarse := snapshotOf(t, []uint64{5}), snapshotOf(t, []uint64{6}, WithRelativeError(0.01), WithRange(0, 1000))
	for name, f := range map[string]func(*Snapshot) error{"Merge": fine.Merge, "Subtract": fine.Subtract} {
		err := f(coarse)
		if !errors.Is(err, ErrLayout) || !strings.Contains(err.Error(), "0.0977% over [0, 18446744073709551615]") || !strings.Contains(err.Error(), "0.7812% over [0, 1007]") {
			t.Errorf("%s of another layout: %v, want an error that names both", name, err)
		}
	}
	h := mustNew(t)
	h.RecordN(5, math.MaxUint64)
	s := h.Snapshot(nil)
	if err := s.Merge(fine); !errors.Is(err, ErrCount) || s.Count() != math.MaxUint64 {
		t.Errorf("one value too many: %v, count %d", err, s.Count())
	}
	if err := s.MergeMidpoints(coarse); !errors.Is(err, ErrCount) || s.Count() != math.MaxUint64 {
		t.Errorf("one value too many: %v, count %d", err, s.Count())
	}
}

func TestMergeMidpoints(t *testing.T) {
	r := newRand()
	var a, b []uint64
	for range 3000 {
		a, b = append(a, r.Uint64N(1<<30)), append(b, anyWidth(r))
	}
	all := slices.Sorted(slices.Values(slices.Concat(a, b)))
	for _, opts := range [][]Option{{}, {WithRelativeError(0.0001)}, {WithRange(1000, 1<<40)}} {
		s, from := snapshotOf(t, a, WithRelativeError(0.01)), snapshotOf(t, b, opts...)
		if err := s.MergeMidpoints(from); err != nil {
			t.Fatal(err)
		}
		want := snapshotOf(t, all, WithRelativeError(0.01))
		if s.Count() != want.Count() || s.sum != want.sum || s.Min() != want.Min() || s.Max() != want.Max() {
			t.Errorf("count, sum, min, max = %d, %v, %d, %d, want those of both", s.Count(), s.sum, s.Min(), s.Max())
		}
		for _, p := range []float64{20, 50, 75} { // where no value was out of range
			if got, want := s.Percentile(p), exactPercentile(all, p); !within(got, want, 0.011) {
				t.Errorf("Percentile(%v) = %d, want %d within both errors", p, got, want)
			}
		}
	}
}

func TestSubtract(t *testing.T) {
	r := newRand()
	opts := []Option{WithRange(1000, 1<<50)}
	var a, b []uint64
	for range 3000 {
		a, b = append(a, anyWidth(r)), append(b, r.Uint64N(1<<20))
	}
	s, part := snapshotOf(t, slices.Concat(a, b), opts...), snapshotOf(t, b, opts...)
	if err := s.Subtract(part); err != nil {
		t.Fatal(err)
	}
	want := snapshotOf(t, a, opts...)
	if diff := cmp.Diff(storedOf(want), storedOf(s)); diff != "" || s.count != want.count || s.sum != want.sum {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
	if !within(s.Min(), want.Min(), 0.002) || !within(s.Max(), want.Max(), 0.002) {
		t.Errorf("extremes = %d, %d, want about %d, %d", s.Min(), s.Max(), want.Min(), want.Max())
	}
	if err := s.Subtract(new(Snapshot)); err != nil {
		t.Errorf("Subtract of nothing: %v", err)
	}
	if err := s.Subtract(s); err != nil || s.Count() != 0 || s.Sum() != 0 {
		t.Errorf("less itself: count %d, sum %v, %v, want nothing", s.Count(), s.Sum(), err)
	}
}

func TestSubtractBelowZero(t *testing.T) {
	opts := []Option{WithRange(1000, 2000)}
	s := snapshotOf(t, []uint64{1, 1500, 1501, 5000}, opts...)
	want := snapshotOf(t, []uint64{1, 1500, 1501, 5000}, opts...)
	for _, values := range [][]uint64{{1, 1}, {1900}, {1500, 1500, 1500}, {1100}, {5000, 5000}, {1, 1500, 1501, 5000, 9000}} {
		if err := s.Subtract(snapshotOf(t, values, opts...)); !errors.Is(err, ErrCount) {
			t.Errorf("less %v: %v, want an error that wraps ErrCount", values, err)
		}
		if !same(s, want) {
			t.Fatalf("less %v: the snapshot has changed", values)
		}
	}
}

func TestNewSnapshot(t *testing.T) {
	h := mustNew(t)
	for _, v := range latencies(2000) {
		h.Record(v)
	}
	want := h.Snapshot(nil)
	got, err := NewSnapshot(want.Buckets())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(storedOf(want), storedOf(got)); diff != "" || got.Count() != want.Count() {
		t.Errorf("Buckets (-want +got):\n%s", diff)
	}
	if math.Abs(got.Mean()-want.Mean()) > want.RelativeError()*want.Mean() || got.Max() < want.Max() || got.Min() > want.Min() {
		t.Errorf("mean, min, max = %v, %d, %d, want about %v, %d, %d", got.Mean(), got.Min(), got.Max(), want.Mean(), want.Min(), want.Max())
	}

	for _, tt := range []struct {
		buckets iter.Seq[Bucket]
		opts    []Option
		want    error
	}{
		{slices.Values([]Bucket{{Low: 2, High: 1}}), nil, ErrConfig},
		{slices.Values([]Bucket{{Count: math.MaxUint64}, {Count: 1}}), nil, ErrCount},
		{want.Buckets(), []Option{WithSignificantDigits(6)}, ErrConfig},
	} {
		if s, err := NewSnapshot(tt.buckets, tt.opts...); !errors.Is(err, tt.want) || s != nil {
			t.Errorf("NewSnapshot = %v, %v, want an error that wraps %v", s, err, tt.want)
		}
	}
	empty, err := NewSnapshot(slices.Values([]Bucket(nil)))
	if err != nil || empty.Count() != 0 || empty.Min() != 0 || empty.Max() != 0 {
		t.Errorf("NewSnapshot of nothing = %v, %v", empty, err)
	}
}

// FuzzMergeAssociative splits values in three and merges the parts in either order.
func FuzzMergeAssociative(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9}, uint64(0), uint64(math.MaxUint64), uint8(3))
	f.Add([]byte("some bytes that make some values"), uint64(1<<10), uint64(1<<40), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, lowest, highest uint64, digits uint8) {
		opts := []Option{WithRange(lowest, highest), WithSignificantDigits(int(digits%4) + 1)}
		if lowest > highest {
			return
		}
		var parts [3][]uint64
		var v uint64
		for i, b := range data {
			v = v<<7 ^ uint64(b)
			parts[i%3] = append(parts[i%3], v)
		}
		merged := func(snapshots ...*Snapshot) *Snapshot {
			s := new(Snapshot)
			for _, from := range snapshots {
				if err := s.Merge(from); err != nil {
					t.Fatal(err)
				}
			}
			return s
		}
		a, b, c := snapshotOf(t, parts[0], opts...), snapshotOf(t, parts[1], opts...), snapshotOf(t, parts[2], opts...)
		left, right := merged(merged(a, b), c), merged(a, merged(b, c))
		all := snapshotOf(t, slices.Concat(parts[:]...), opts...)
		if !same(left, right) || !same(left, all) {
			t.Fatalf("(a+b)+c = %v, a+(b+c) = %v, all = %v", left.Summary(nil), right.Summary(nil), all.Summary(nil))
		}
		if err := all.Subtract(left); err != nil || all.Count() != 0 || all.sum != (uint128{}) {
			t.Fatalf("less itself: %d values, %v", all.Count(), err)
		}
	})
}

func storedOf(s *Snapshot) []Bucket {
	return slices.Collect(func(yield func(Bucket) bool) {
		s.each(func(slot int, b Bucket) bool { return slot < 0 || yield(b) })
	})
}

// TestSinceALaterSnapshot: of snapshots in the wrong order nothing is subtracted.
func TestSinceALaterSnapshot(t *testing.T) {
	h := mustNew(t)
	h.Record(5)
	earlier := h.Snapshot(nil)
	h.RecordN(1000, 3)
	if d := earlier.Since(h.Snapshot(nil), nil); d.Count() != 1 || d.Sum() != 5 || d.Max() != 5 {
		t.Errorf("Count, Sum, Max = %d, %v, %d, want those of the earlier one, 1, 5, 5", d.Count(), d.Sum(), d.Max())
	}
}
