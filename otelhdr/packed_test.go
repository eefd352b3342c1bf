package otelhdr

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPacked packs snapshots of all widths one after the other into the same copy.
func TestPacked(t *testing.T) {
	h, k, dst := mustNew(t, WithRange(50, 1<<50)), new(Packed), new(Snapshot)
	if got := k.Snapshot(dst); got.Count() != 0 || got.layout.size != 0 {
		t.Errorf("the zero Packed has %d values", got.Count())
	}
	r := newRand()
	for round := range 8 {
		if round == 5 {
			h.Reset()
		}
		for range 300 {
			h.RecordN(anyWidth(r), r.Uint64()>>(64-8*round))
		}
		want := h.Snapshot(nil)
		k.Set(want)
		got := k.Snapshot(dst)
		if diff := cmp.Diff(slices.Collect(want.Buckets()), slices.Collect(got.Buckets())); diff != "" {
			t.Errorf("round %d: Buckets (-want +got):\n%s", round, diff)
		}
		if got.sum != want.sum || got.min != want.min || got.max != want.max || got.era != want.era || got.count != want.count {
			t.Errorf("round %d: sum, min, max, era, count differ: %+v, want %+v", round, got, want)
		}
	}
	s := h.Snapshot(nil)
	if n := testing.AllocsPerRun(100, func() { k.Set(s); k.Snapshot(dst) }); n != 0 {
		t.Errorf("set and snapshot allocate %v times, want 0", n)
	}
}

// TestPackedOfAnotherLayout packs a snapshot of fewer buckets after one of many.
func TestPackedOfAnotherLayout(t *testing.T) {
	wide, narrow, k := mustNew(t), mustNew(t, WithRelativeError(0.1), WithRange(0, 1000)), new(Packed)
	wide.Record(1 << 60)
	narrow.Record(7)
	for _, h := range []*Histogram{wide, narrow, wide} {
		want := h.Snapshot(nil)
		k.Set(want)
		if diff := cmp.Diff(slices.Collect(want.Buckets()), slices.Collect(k.Snapshot(nil).Buckets())); diff != "" {
			t.Errorf("Buckets (-want +got):\n%s", diff)
		}
	}
	k.Set(new(Snapshot))
	if got := k.Snapshot(nil); got.Count() != 0 || got.layout.size != 0 {
		t.Errorf("a copy of the zero snapshot has %d values", got.Count())
	}
}

// TestPackedIsACopy: what is merged into a snapshot, or into one that was unpacked, is not packed.
func TestPackedIsACopy(t *testing.T) {
	of := func(b Bucket) *Snapshot {
		s, err := NewSnapshot(slices.Values([]Bucket{b}))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s, k := of(Bucket{Low: 512, High: 1023, Count: 2}), new(Packed)
	k.Set(s)
	want := k.Snapshot(nil).RelativeError()
	for _, changed := range []*Snapshot{s, k.Snapshot(nil)} {
		if err := changed.Merge(of(Bucket{Low: 0, High: 1535, Count: 1})); err != nil {
			t.Fatal(err)
		}
		if got := k.Snapshot(nil).RelativeError(); got != want {
			t.Errorf("RelativeError() = %v after a merge, want %v", got, want)
		}
	}
}

// TestUntil adds up deltas of two histograms, by the same scratch snapshots, with a reset of one.
func TestUntil(t *testing.T) {
	r := newRand()
	var delta, now *Snapshot
	var packed [2]Packed
	var sums [2]Snapshot
	histograms := [2]*Concurrent{mustNewConcurrent(t), mustNewConcurrent(t, WithRelativeError(0.01))}
	all := [2]*Histogram{mustNew(t), mustNew(t, WithRelativeError(0.01))}
	for round := range 8 {
		for i, h := range histograms {
			if round == 5 && i == 1 {
				h.Reset()
			}
			for range round % 3 * 100 {
				v := anyWidth(r)
				h.Record(v)
				all[i].Record(v)
			}
			now = h.Snapshot(now)
			delta = packed[i].Until(now, delta)
			if round == 0 && delta.Count() != 0 {
				t.Errorf("%d values before the first", delta.Count())
			}
			if err := sums[i].Merge(delta); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, h := range all {
		want, got := h.Snapshot(nil), &sums[i]
		if diff := cmp.Diff(slices.Collect(want.Buckets()), slices.Collect(got.Buckets())); diff != "" || got.sum != want.sum {
			t.Errorf("histogram %d: sum %v, want %v, buckets (-want +got):\n%s", i, got.sum, want.sum, diff)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		histograms[0].Record(1000)
		now = histograms[0].Snapshot(now)
		delta = packed[0].Until(now, delta)
	}); n > 1 { // wider counters, now and then
		t.Errorf("Until allocates %v times, want none", n)
	}
}

// TestUntilKeepsWhatHasNoCount: a share in the sum comes with its count.
func TestUntilKeepsWhatHasNoCount(t *testing.T) {
	c, k := mustNewConcurrent(t), new(Packed)
	c.set.Load().stripes[0].addSum(uint128{lo: 5})
	if s := k.Until(c.Snapshot(nil), nil); s.Count() != 0 {
		t.Errorf("Count() = %d, want 0", s.Count())
	}
	c.set.Load().stripes[0].count(&c.layout, 5, c.layout.index(5), 1)
	if s := k.Until(c.Snapshot(nil), nil); s.Count() != 1 || s.Sum() != 5 {
		t.Errorf("Count, Sum = %d, %v, want 1, 5", s.Count(), s.Sum())
	}
}
