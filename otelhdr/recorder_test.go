package otelhdr

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRecorderConcurrentSafe records through handles of all ages, and past them, while others read,
// and then accounts for every value.
func TestRecorderConcurrentSafe(t *testing.T) {
	const writers, rounds, each = 6, 8, 500
	for _, opts := range [][]Option{{WithRange(1000, 1<<62)}, {WithRange(1000, 1<<62), WithCounter32()}} {
		c := mustNewConcurrent(t, opts...)
		reference := mustNew(t, opts...)
		values := make([][]uint64, writers)
		r := newRand()
		for i := range values {
			for range rounds * each {
				v := anyWidth(r)
				values[i] = append(values[i], v)
				reference.Record(v)
				reference.RecordN(v, 3)
			}
		}
		var done atomic.Bool
		var readers, all sync.WaitGroup
		readers.Go(func() { checkMonotone(t, c, &done) })
		for _, own := range values {
			all.Go(func() {
				for part := range slices.Chunk(own, each) {
					h := c.Recorder()
					for _, v := range part {
						h.Record(v)
						h.RecordN(v, 3)
					}
					h.Close()
					h.Close()
				}
			})
		}
		all.Wait()
		done.Store(true)
		readers.Wait()

		got, want := c.Snapshot(nil), reference.Snapshot(nil)
		if diff := cmp.Diff(slices.Collect(want.Buckets()), slices.Collect(got.Buckets())); diff != "" {
			t.Errorf("Buckets (-want +got):\n%s", diff)
		}
		if got.sum != want.sum || got.min != want.min || got.max != want.max || c.Count() != want.Count() {
			t.Errorf("count, sum, min, max = %d, %v, %d, %d, want %d, %v, %d, %d",
				c.Count(), got.sum, got.min, got.max, want.count, want.sum, want.min, want.max)
		}
		if n := len(c.owned); n > writers {
			t.Errorf("%d stripes for %d writers at a time", n, writers)
		}
	}
}

func TestRecorderVisibleAtOnce(t *testing.T) {
	c := mustNewConcurrent(t)
	r := c.Recorder()
	r.Record(5)
	r.RecordN(7, 2)
	r.RecordN(9, 0)
	if s := c.Snapshot(nil); s.Count() != 3 || s.Sum() != 19 || s.Min() != 5 || s.Max() != 7 {
		t.Errorf("count, sum, min, max = %d, %v, %d, %d, want 3, 19, 5, 7", s.Count(), s.Sum(), s.Min(), s.Max())
	}
	c.Reset()
	if s := c.Snapshot(nil); s.Count() != 0 {
		t.Errorf("after Reset: count = %d, want 0", s.Count())
	}
	r.Record(6)
	r.Close()
	r.Record(8) // through c
	r.RecordN(8, 1)
	r.RecordCorrected(8, 4)
	if s := c.Snapshot(nil); s.Count() != 5 || s.Sum() != 34 || s.Min() != 4 || s.Max() != 8 {
		t.Errorf("after Close: count, sum, min, max = %d, %v, %d, %d, want 5, 34, 4, 8", s.Count(), s.Sum(), s.Min(), s.Max())
	}
	again := c.Recorder()
	defer again.Close()
	if again.own == nil || len(c.owned) > 1 {
		t.Errorf("the counters of a closed recorder were not used again")
	}
}

func TestRecorderCollected(t *testing.T) {
	c := mustNewConcurrent(t)
	func() {
		r := c.Recorder()
		for v := range uint64(1000) {
			r.Record(v)
		}
	}()
	released := func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.idle) == 1
	}
	for deadline := time.Now().Add(10 * time.Second); !released(); {
		if time.Now().After(deadline) {
			t.Fatal("a recorder that is out of reach was not released")
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if got := c.Count(); got != 1000 {
		t.Errorf("Count() = %d, want 1000", got)
	}
}

// TestRecorderAbsorb has more recorders at once than are kept, so that counts are moved.
func TestRecorderAbsorb(t *testing.T) {
	for _, opts := range [][]Option{{WithRange(100, 1<<40)}, {WithRange(100, 1<<40), WithCounter32()}} {
		c := mustNewConcurrent(t, opts...)
		reference := mustNew(t, opts...)
		r := newRand()
		var handles []*Recorder
		for range stripeLimit() + 10 {
			h := c.Recorder()
			handles = append(handles, h)
			for range 300 {
				v := anyWidth(r)
				h.Record(v)
				reference.Record(v)
			}
			h.RecordN(1<<39, math.MaxUint32)
			reference.RecordN(1<<39, math.MaxUint32)
		}
		before := c.Snapshot(nil)
		for _, h := range handles {
			h.Close()
		}
		if n := len(c.owned); n > stripeLimit() {
			t.Errorf("%d stripes are kept, want at most %d", n, stripeLimit())
		}
		want := reference.Snapshot(nil)
		for name, got := range map[string]*Snapshot{"before": before, "after": c.Snapshot(nil)} {
			if diff := cmp.Diff(slices.Collect(want.Buckets()), slices.Collect(got.Buckets())); diff != "" {
				t.Errorf("%s: Buckets (-want +got):\n%s", name, diff)
			}
			if got.sum != want.sum || got.min != want.min || got.max != want.max {
				t.Errorf("%s: sum, min, max = %v, %d, %d, want %v, %d, %d", name, got.sum, got.min, got.max, want.sum, want.min, want.max)
			}
		}
	}
}

func TestRecorderAllocs(t *testing.T) {
	c := mustNewConcurrent(t, WithRange(100, 1<<40))
	r := c.Recorder()
	defer r.Close()
	values := append(latencies(1000), 1, 99, 1<<41, math.MaxUint64)
	record := func() {
		for _, v := range values {
			r.Record(v)
			r.RecordN(v, 2)
			r.RecordCorrected(v, 1<<62)
		}
	}
	record()
	if n := testing.AllocsPerRun(200, record); n != 0 {
		t.Errorf("Record, RecordN and RecordCorrected allocate %v times, want 0", n)
	}
}

// TestRecorderSumCarries records enough for the low word of the sum to wrap.
func TestRecorderSumCarries(t *testing.T) {
	c := mustNewConcurrent(t)
	r := c.Recorder()
	defer r.Close()
	for range 3 {
		r.Record(math.MaxUint64)
	}
	r.RecordN(math.MaxUint64, 2)
	if hi, lo := c.Snapshot(nil).Sum128(); hi != 4 || lo != math.MaxUint64-4 {
		t.Errorf("Sum128() = %d, %d, want 4, %d", hi, lo, uint64(math.MaxUint64-4))
	}
}
