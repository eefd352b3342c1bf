package otelhdr

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRecordAllocs(t *testing.T) {
	forEachKind(t, func(t *testing.T, create func(...Option) recorder) {
		h := create(WithRange(100, 1<<40))
		values := append(latencies(1000), 1, 99, 1<<41, math.MaxUint64)
		for _, v := range values {
			h.Record(v)
			h.RecordN(v, 1<<33) // so that no counter has to widen
		}
		if n := testing.AllocsPerRun(10, func() {
			for _, v := range values {
				h.Record(v)
				h.RecordN(v, 2)
			}
		}); n != 0 {
			t.Errorf("Record and RecordN allocate %v times, want 0", n)
		}
	})
}

// TestRecordN checks that recording n times and once with n are the same.
func TestRecordN(t *testing.T) {
	for name, opts := range map[string][]Option{
		"1 %":       {WithRelativeError(0.01)},
		"0.1 %":     {},
		"3 digits":  {WithSignificantDigits(3)},
		"range":     {WithRange(100, 1_000_000)},
		"counter32": {WithCounter32()},
	} {
		t.Run(name, func(t *testing.T) {
			forEachKind(t, func(t *testing.T, create func(...Option) recorder) {
				r := newRand()
				one, many := create(opts...), create(opts...)
				for range 2000 {
					v, n := anyWidth(r), r.Uint64N(5)
					one.RecordN(v, n)
					for range n {
						many.Record(v)
					}
				}
				got, want := one.Snapshot(nil), many.Snapshot(nil)
				if diff := cmp.Diff(slices.Collect(want.Buckets()), slices.Collect(got.Buckets())); diff != "" {
					t.Errorf("Buckets (-want +got):\n%s", diff)
				}
				if got.sum != want.sum || got.min != want.min || got.max != want.max {
					t.Errorf("sum, min, max = %v, %d, %d, want %v, %d, %d", got.sum, got.min, got.max, want.sum, want.min, want.max)
				}
			})
		})
	}
}

// TestSizeBytes holds the memory figures that the package documentation gives.
func TestSizeBytes(t *testing.T) {
	h := mustNew(t)
	idle := h.SizeBytes()
	for range 1000 {
		h.Record(1_000_000)
	}
	if got := h.SizeBytes() - idle; got != 2048 {
		t.Errorf("one bucket: SizeBytes() grew by %d, want 2048", got)
	}
	octaves(h)
	if got := h.SizeBytes(); got < 112*2048 || got > 112*2048+500 {
		t.Errorf("all buckets: SizeBytes() = %d, want 112 chunks of 2048 and little more", got)
	}
	c := mustNewConcurrent(t)
	if got := c.SizeBytes(); got > 500 {
		t.Errorf("idle: SizeBytes() = %d, want at most 500", got)
	}
	for _, tt := range []struct{ more, want uint64 }{{1, 8}, {2, 16}, {252, 64}, {1, 128}, {65_279, 128}, {1, 256}, {math.MaxUint32, 512}} {
		c.RecordN(1_000_000, tt.more)
		c.Snapshot(nil)
		pages := 0
		for _, p := range c.set.Load().stripes[0].index.Load().pages {
			pages += p.sizeBytes()
		}
		if pages != int(tt.want) {
			t.Errorf("%d values in one bucket: pages of %d bytes, want %d", c.Count(), pages, tt.want)
		}
	}
	c = mustNewConcurrent(t)
	octaves(c)
	if got := c.SizeBytes(); got > 8000 {
		t.Errorf("two buckets of each octave: SizeBytes() = %d, want at most 8000", got)
	}
}

// octaves records values in all chunks.
func octaves(h recorder) {
	for shift := range 64 {
		for i := range uint64(2) {
			h.Record(1<<shift | i<<(max(shift, 1)-1))
		}
	}
}

func TestConcurrentSizeBytesCountsAll(t *testing.T) {
	c := mustNewConcurrent(t)
	c.Record(7)
	before := c.SizeBytes()
	c.Reset()
	if got := c.SizeBytes(); got <= before+2048 {
		t.Errorf("with a baseline: SizeBytes() = %d, want more than %d", got, before+2048)
	}
	before = c.SizeBytes()
	s := c.set.Load()
	c.exchange(s, s.next(maxStripes))
	if got := c.SizeBytes(); got <= before {
		t.Errorf("with another stripe: SizeBytes() = %d, want more than %d", got, before)
	}
	if s := c.Snapshot(nil); s.SizeBytes() <= 2048 {
		t.Errorf("Snapshot.SizeBytes() = %d, want more than its chunk of 2048", s.SizeBytes())
	}
}
