package otelhdr

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCounter32Same checks that the widths of the counters differ in nothing but the memory.
func TestCounter32Same(t *testing.T) {
	forEachKind(t, func(t *testing.T, create func(...Option) recorder) {
		wide, narrow := create(WithRange(50, 1<<50)), create(WithRange(50, 1<<50), WithCounter32())
		r := newRand()
		for range 20_000 {
			v, n := anyWidth(r), anyWidth(r)>>4
			for _, h := range []recorder{wide, narrow} {
				h.Record(v)
				h.RecordN(v, n%(1<<40))
			}
		}
		want, got := wide.Snapshot(nil), narrow.Snapshot(nil)
		if diff := cmp.Diff(slices.Collect(want.Buckets()), slices.Collect(got.Buckets())); diff != "" {
			t.Errorf("Buckets (-64 bits +32 bits):\n%s", diff)
		}
		if got.sum != want.sum || got.min != want.min || got.max != want.max || narrow.Count() != wide.Count() {
			t.Errorf("sum, min, max, count differ: %+v, want %+v", got, want)
		}
		narrow.Reset()
		if s := narrow.Snapshot(nil); s.Count() != 0 || narrow.Count() != 0 {
			t.Errorf("after Reset: count = %d", s.Count())
		}
	})
}

func TestCounter32Widens(t *testing.T) {
	forEachKind(t, func(t *testing.T, create func(...Option) recorder) {
		h := create(WithCounter32())
		h.Record(1000)
		var want uint64 = 1
		for _, n := range []uint64{1000, math.MaxUint32 - 1002, 1, 1, 1, 1 << 33, 5} {
			h.RecordN(1000, n)
			want += n
			if got := h.Snapshot(nil).Locate(50).Bucket.Count; got != want {
				t.Errorf("after %d more: count = %d, want %d", n, got, want)
			}
		}
		h.Record(1000)
		if got := h.Count(); got != want+1 {
			t.Errorf("Count() = %d, want %d", got, want+1)
		}
	})
}

func TestCounter32HalvesMemory(t *testing.T) {
	wide, narrow := mustNew(t), mustNew(t, WithCounter32())
	for _, h := range []*Histogram{wide, narrow} {
		for shift := range 64 {
			h.Record(1 << shift)
			h.Record(1<<shift | 1<<(max(shift, 1)-1))
		}
	}
	if got, limit := narrow.SizeBytes(), wide.SizeBytes()/2+2000; got > limit {
		t.Errorf("SizeBytes() = %d, want at most %d", got, limit)
	}
}

func TestCounter32Allocs(t *testing.T) {
	forEachKind(t, func(t *testing.T, create func(...Option) recorder) {
		h := create(WithCounter32())
		h.Record(1000)
		if n := testing.AllocsPerRun(100, func() { h.Record(1000); h.RecordN(1000, 2) }); n != 0 {
			t.Errorf("Record and RecordN allocate %v times, want 0", n)
		}
	})
}
