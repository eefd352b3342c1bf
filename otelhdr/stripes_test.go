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
	if n := len(c.set.Load().stripes); n != 1 {
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

// lookedAt has the last look at the number of values have been before some time.
func (c *Concurrent) lookedAt(before time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rate.at = time.Since(processStart) - before
}

// TestRateIsOfLately: a histogram that was still for hours, with one stripe, and is busy now keeps
// the stripes that it then needs; a Reset changes nothing.
func TestRateIsOfLately(t *testing.T) {
	c := mustNewConcurrent(t)
	if c.rate.at == 0 {
		t.Error("the first look takes all values for those since the process began")
	}
	c.lookedAt(1000 * time.Hour)
	c.Record(1)
	c.Snapshot(nil)
	if since := time.Since(processStart) - c.rate.at; since > time.Hour {
		t.Errorf("the last look was %v ago, want now", since)
	}
	c.exchange(c.set.Load(), c.set.Load().next(8))
	c.lookedAt(10 * time.Second)
	c.Reset()
	c.RecordN(1000, 100*calmRate)
	c.Snapshot(nil)
	if n := len(c.set.Load().stripes); n != 2 {
		t.Errorf("%d stripes, want 2", n)
	}
	c.lookedAt(1000 * time.Hour)
	c.Snapshot(nil)
	if n := len(c.set.Load().stripes); n != 1 {
		t.Errorf("%d stripes of a histogram that is still, want 1", n)
	}
	c.merged(t)
}

// TestStripesMergeAfterAnExchangeThatFailed has the last writer let go of an old set while another
// tries to exchange one, and fails.
func TestStripesMergeAfterAnExchangeThatFailed(t *testing.T) {
	c := mustNewConcurrent(t)
	c.exchange(c.set.Load(), c.set.Load().next(8))
	c.set.Load().stripes[1].count(&c.layout, 5, c.layout.index(5), 1)
	c.replaced.Add(1) // as exchange does
	c.calmed()
	c.Snapshot(nil)
	for deadline := time.Now().Add(20 * time.Second); c.replaced.Load() != 1; {
		if time.Now().After(deadline) {
			t.Fatalf("%d sets are still held, want 1", c.replaced.Load())
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	c.replaced.Add(-1) // as exchange does where it fails
	c.Snapshot(nil)
	if n, count := len(c.merging), c.Count(); n != 0 || count != 1 {
		t.Errorf("%d stripes wait to be merged, %d values, want 0 and 1", n, count)
	}
}
