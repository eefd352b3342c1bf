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
