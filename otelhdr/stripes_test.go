package otelhdr

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// merged waits until the stripes that are in no set any more have been merged.
func (c *Concurrent) merged(t *testing.T) {
	t.Helper()
	over := func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.merging) == 0
	}
	for deadline := time.Now().Add(20 * time.Second); !over(); {
		if time.Now().After(deadline) {
			t.Fatal("stripes that nothing holds were not merged")
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

// calmed has the next snapshot take the histogram for calm.
func (c *Concurrent) calmed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rate = rate{at: time.Since(processStart) - 1000*time.Hour, count: 0}
}

// TestStripesMerge adds and merges stripes again and again while others record and read, and
// accounts for every value.
func TestStripesMerge(t *testing.T) {
	const writers, each = 6, 4000
	c := mustNewConcurrent(t)
	var done atomic.Bool
	var readers, all sync.WaitGroup
	readers.Go(func() { checkMonotone(t, c, &done) })
	readers.Go(func() {
		for !done.Load() {
			s := c.set.Load()
			c.exchange(s, s.next(8))
			c.calmed()
			time.Sleep(time.Millisecond)
			runtime.GC()
		}
	})
	for range writers {
		all.Go(func() {
			for j := range uint64(each) {
				c.Record(j)
				c.RecordN(1000, 100)
				if j%100 == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	all.Wait()
	done.Store(true)
	readers.Wait()
	c.calmed()
	s := c.Snapshot(nil)
	c.merged(t)
	for _, s := range []*Snapshot{s, c.Snapshot(nil)} {
		want := uint128{lo: writers * each * (each - 1 + 200_000) / 2}
		if s.Count() != 101*writers*each || s.sum != want || s.Min() != 0 || s.Max() != each-1 {
			t.Errorf("count, sum, min, max = %d, %v, %d, %d, want %d, %v, 0, %d",
				s.Count(), s.sum, s.Min(), s.Max(), 101*writers*each, want, each-1)
		}
	}
	if n := len(c.set.Load().stripes); n != 1 && !procPinned {
		t.Errorf("%d stripes, want 1", n)
	}
}

// TestStripesStay has a histogram that is busy keep its stripes, and one that was looked at just
// before.
func TestStripesStay(t *testing.T) {
	c := mustNewConcurrent(t)
	c.exchange(c.set.Load(), c.set.Load().next(8))
	c.rate.at = time.Since(processStart)
	c.Snapshot(nil)
	c.calmed()
	c.RecordN(1000, 1000*3600*calmRate*2)
	c.Snapshot(nil)
	if n := len(c.set.Load().stripes); n != 2 {
		t.Errorf("%d stripes, want 2", n)
	}
}

// A writer that stands still between finding its stripe and recording keeps the stripe from being
// merged.
func TestStripesWaitForWriters(t *testing.T) {
	c := mustNewConcurrent(t)
	first := c.set.Load()
	c.exchange(first, first.next(8))
	s := c.set.Load()
	late := s.stripes[1]
	late.count(&c.layout, 5, c.layout.index(5), 1)
	c.calmed()
	c.Snapshot(nil)
	for range 3 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if len(c.merging) != 1 {
		t.Fatalf("%d stripes wait to be merged, want 1", len(c.merging))
	}
	late.count(&c.layout, 6, c.layout.index(6), 1)
	if got := c.Count(); got != 2 {
		t.Errorf("Count() = %d before, want 2", got)
	}
	runtime.KeepAlive(s)
	c.merged(t)
	if got := c.Count(); got != 2 {
		t.Errorf("Count() = %d after, want 2", got)
	}
}

// TestSeriesBytes holds what the documentation says of the memory of latencies.
func TestSeriesBytes(t *testing.T) {
	if procPinned {
		t.Skip("counts what processors hold too")
	}
	for _, tt := range []struct {
		name   string
		opts   []Option
		values int
		most   int
	}{
		{"0.1 %, 10,000 values", nil, 10_000, 2500},
		{"0.1 %, 1,000,000 values", nil, 1_000_000, 6000},
		{"1 %, 1,000,000 values", []Option{WithRelativeError(0.01)}, 1_000_000, 1500},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := mustNewConcurrent(t, tt.opts...)
			for range 3 { // as contention does
				c.exchange(c.set.Load(), c.set.Load().next(8))
			}
			for i, v := range latencies(tt.values) {
				s := c.set.Load().stripes
				s[i%len(s)].count(&c.layout, v, c.layout.index(v), 1)
			}
			c.calmed()
			c.Snapshot(nil)
			c.merged(t)
			c.Snapshot(nil)
			if got := c.SizeBytes(); got > tt.most {
				t.Errorf("SizeBytes() = %d, want at most %d", got, tt.most)
			}
			if got := c.Count(); got != uint64(tt.values) {
				t.Errorf("Count() = %d, want %d", got, tt.values)
			}
		})
	}
}
