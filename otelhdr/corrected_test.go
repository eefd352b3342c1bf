package otelhdr

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recordCorrectedSlowly is the definition.
func recordCorrectedSlowly(h *Histogram, v, interval, n uint64) {
	h.RecordN(v, n)
	if interval == 0 {
		return
	}
	for v >= 2*interval {
		v -= interval
		h.RecordN(v, n)
	}
}

func TestRecordCorrected(t *testing.T) {
	r := newRand()
	for _, opts := range [][]Option{nil, {WithRelativeError(0.1)}, {WithRange(500, 20_000)}, {WithCounter32()}} {
		h, c, want := mustNew(t, opts...), mustNewConcurrent(t, opts...), mustNew(t, opts...)
		own := mustNewConcurrent(t, opts...)
		handle := own.Recorder()
		defer handle.Close()
		for range 300 {
			v, interval := r.Uint64N(100_000), r.Uint64N(2000)
			h.RecordCorrected(v, interval)
			c.RecordCorrected(v, interval)
			handle.RecordCorrected(v, interval)
			recordCorrectedSlowly(want, v, interval, 1)
		}
		for name, got := range map[string]*Snapshot{"Histogram": h.Snapshot(nil), "Concurrent": c.Snapshot(nil), "Recorder": own.Snapshot(nil)} {
			if !same(got, want.Snapshot(nil)) {
				t.Errorf("%s: %v\nwant %v", name, got.Summary(nil), want.Summary(nil))
			}
		}
	}
}

// TestRecordCorrectedIsBounded would take 500 years one by one.
func TestRecordCorrectedIsBounded(t *testing.T) {
	h := mustNew(t)
	h.RecordCorrected(math.MaxUint64-1, 1)
	s := h.Snapshot(nil)
	if s.Count() != math.MaxUint64-1 || s.Min() != 1 {
		t.Errorf("count, min = %d, %d, want %d, 1", s.Count(), s.Min(), uint64(math.MaxUint64-1))
	}
	// 1 + 2 + … + (2^64-2) = (2^64-2)(2^64-1)/2
	if hi, lo := s.Sum128(); hi != math.MaxInt64-1 || lo != 1<<63+1 {
		t.Errorf("Sum128() = %#x, %#x", hi, lo)
	}
}

func TestCorrectedSnapshot(t *testing.T) {
	r := newRand()
	const interval = 700
	for _, opts := range [][]Option{nil, {WithRelativeError(0.1)}, {WithRange(500, 20_000)}} {
		h := mustNew(t, opts...)
		for range 200 {
			h.Record(r.Uint64N(100_000))
		}
		s := h.Snapshot(nil)
		want := mustNew(t, opts...)
		for v, n := range s.values {
			recordCorrectedSlowly(want, v, interval, n)
		}
		w := want.Snapshot(nil)
		for name, dst := range map[string]*Snapshot{"nil": nil, "used": snapshotOf(t, latencies(50)), "itself": h.Snapshot(nil)} {
			from := s
			if name == "itself" {
				from = dst
			}
			got, err := from.Corrected(interval, dst)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(storedOf(w), storedOf(got)); diff != "" {
				t.Errorf("%s: Buckets (-want +got):\n%s", name, diff)
			}
			if got.Count() != w.Count() || got.Max() != s.Max() || got.Min() != min(s.Min(), w.Min()) || !within(uint64(got.Sum()), uint64(w.Sum()), 0.01) {
				t.Errorf("%s: %v, want %v", name, got.Summary(nil), w.Summary(nil))
			}
		}
		if got, err := s.Corrected(0, nil); err != nil || !same(got, s) {
			t.Errorf("for interval 0: %v, %v, want no change", got, err)
		}
	}
}

func TestCorrectedOverflow(t *testing.T) {
	h := mustNew(t)
	h.RecordN(1<<60, 1<<10)
	if s, err := h.Snapshot(nil).Corrected(1, nil); !errors.Is(err, ErrCount) || s != nil {
		t.Errorf("Corrected(1) = %v, %v, want an error that wraps ErrCount", s, err)
	}
}

func TestRecordCorrectedAllocs(t *testing.T) {
	h, c := mustNew(t), mustNewConcurrent(t)
	record := func() {
		h.RecordCorrected(100_000, 50)
		c.RecordCorrected(100_000, 50)
	}
	for range 300 { // counters widen for the second, the fourth, the sixteenth and the 256th value
		record()
	}
	if n := testing.AllocsPerRun(20, record); n != 0 {
		t.Errorf("RecordCorrected allocates %v times, want 0", n)
	}
}
