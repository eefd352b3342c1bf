package otelhdr

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestConcurrentSafe records from many goroutines while others take snapshots and stripes are
// added, and then accounts for every value.
func TestConcurrentSafe(t *testing.T) {
	const writers, each = 8, 4000
	c := mustNewConcurrent(t, WithRange(1000, 1<<62))
	reference := mustNew(t, WithRange(1000, 1<<62))
	values := make([][]uint64, writers)
	r := newRand()
	for i := range values {
		for range each {
			v := anyWidth(r)
			values[i] = append(values[i], v)
			reference.Record(v)
			reference.RecordN(v, 3)
		}
	}

	var done atomic.Bool
	var readers, all sync.WaitGroup
	for range 2 {
		readers.Go(func() { checkMonotone(t, c, &done) })
	}
	readers.Go(func() {
		for !done.Load() && len(c.set.Load().stripes) < maxStripes {
			s := c.set.Load()
			c.exchange(s, s.next(maxStripes))
			time.Sleep(100 * time.Microsecond)
		}
	})
	for _, own := range values {
		all.Go(func() {
			for _, v := range own {
				c.Record(v)
				c.RecordN(v, 3)
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
	if got.Count() != 4*writers*each || got.sum != want.sum || got.min != want.min || got.max != want.max {
		t.Errorf("count, sum, min, max = %d, %v, %d, %d, want %d, %v, %d, %d",
			got.count, got.sum, got.min, got.max, want.count, want.sum, want.min, want.max)
	}
}

// checkMonotone takes snapshots until done and checks that nothing in them ever shrinks.
func checkMonotone(t *testing.T, c *Concurrent, done *atomic.Bool) {
	cur, prev := c.Snapshot(nil), new(Snapshot)
	for !done.Load() {
		prev, cur = cur, c.Snapshot(prev)
		if cur.count < prev.count || cur.sum.less(prev.sum) || cur.underflow < prev.underflow || cur.overflow < prev.overflow {
			t.Errorf("a snapshot of %d, %v follows one of %d, %v", cur.count, cur.sum, prev.count, prev.sum)
			return
		}
		for i, k := range prev.chunks {
			for j := range k.counters() {
				if cur.chunks[i][j] < k[j] {
					t.Errorf("counter %d of chunk %d went from %d to %d", j, i, k[j], cur.chunks[i][j])
					return
				}
			}
		}
		if p := cur.Percentiles([]float64{0, 50, 100}, nil); !slices.IsSorted(p) || p[0] != cur.Min() || p[2] != cur.Max() {
			t.Errorf("Percentiles of 0, 50, 100 = %v, minimum %d, maximum %d", p, cur.Min(), cur.Max())
			return
		}
	}
}

// counters returns the counters of c, none if it is nil.
func (c *chunk) counters() []uint64 {
	if c == nil {
		return nil
	}
	return c[:]
}

// TestConcurrentResetSafe resets while others record. What a snapshot holds can then not be
// foretold, but it must never be more than all or less than nothing.
func TestConcurrentResetSafe(t *testing.T) {
	const writers, each = 4, 5000
	c := mustNewConcurrent(t)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			for j := range each {
				c.Record(uint64(i*each + j))
			}
		})
	}
	for range 200 {
		c.Reset()
		s := c.Snapshot(nil)
		if s.Count() > writers*each || s.Min() > s.Max() || s.Max() > writers*each {
			t.Errorf("count, min, max = %d, %d, %d", s.Count(), s.Min(), s.Max())
		}
	}
	all.Wait()
	c.Reset()
	if s := c.Snapshot(nil); s.Count() != 0 || s.Sum() != 0 {
		t.Errorf("after the last Reset: count %d, sum %v, want 0, 0", s.Count(), s.Sum())
	}
	c.Record(42)
	if s := c.Snapshot(nil); s.Count() != 1 || s.Sum() != 42 || s.Min() != 42 || s.Max() != 42 {
		t.Errorf("after one record: count, sum, min, max = %d, %v, %d, %d, want 1, 42, 42, 42",
			s.Count(), s.Sum(), s.Min(), s.Max())
	}
}

// TestConcurrentSinceSafe adds up the deltas of a reader and expects nothing lost and nothing
// twice.
func TestConcurrentSinceSafe(t *testing.T) {
	const writers, each = 4, 5000
	c := mustNewConcurrent(t)
	var all sync.WaitGroup
	var done atomic.Bool
	for range writers {
		all.Go(func() {
			for j := range uint64(each) {
				c.Record(j)
			}
		})
	}
	go func() {
		all.Wait()
		done.Store(true)
	}()
	var count uint64
	var sum uint128
	cur, prev := new(Snapshot), new(Snapshot)
	for last := false; !last; {
		last = done.Load()
		cur = c.Snapshot(cur)
		delta := cur.Since(prev, prev)
		count += delta.Count()
		sum = sum.add(delta.sum)
		prev, cur = cur, delta
	}
	if want := (uint128{lo: writers * each * (each - 1) / 2}); count != writers*each || sum != want {
		t.Errorf("the deltas add up to %d values, sum %v, want %d, %v", count, sum, writers*each, want)
	}
}

func TestStripeSumNeverShrinks(t *testing.T) {
	s := newStripe()
	s.sumLo.Store(math.MaxUint64 - 1)
	before := s.total128()
	s.sumLo.Add(10) // wraps; the carry is still to come
	during := s.total128()
	s.sumHi.Add(1)
	after := s.total128()
	if want := (uint128{hi: 1, lo: 8}); during.less(before) || during != want || after != want {
		t.Errorf("sums before, while and after carrying = %v, %v, %v, want the last two %v", before, during, after, want)
	}
}

func TestStripeSetNext(t *testing.T) {
	s := singleStripe(newStripe())
	for want := 2; want <= 8; want *= 2 {
		next := s.next(8)
		if len(next.stripes) != want || 1<<(64-next.shift) != want || next.patience != minPatience {
			t.Fatalf("%d stripes, shift %d, patience %d, want %d, %d, %d",
				len(next.stripes), next.shift, next.patience, want, 64-want/2, minPatience)
		}
		if !slices.Equal(next.stripes[:len(s.stripes)], s.stripes) {
			t.Fatalf("the stripes in use are not the first of the next %d", want)
		}
		if next.pick() == nil {
			t.Fatalf("pick() = nil")
		}
		s = next
	}
	for want := uint64(2 * minPatience); want <= maxPatience; want *= 2 {
		next := s.next(8)
		if !slices.Equal(next.stripes, s.stripes) || next.multiplier == s.multiplier || next.patience != want {
			t.Fatalf("at the limit: %d stripes, patience %d, want the same 8, patience %d", len(next.stripes), next.patience, want)
		}
		s = next
	}
	if got := s.next(8).patience; got != maxPatience {
		t.Errorf("patience = %d, want no more than %d", got, maxPatience)
	}
}

func TestCollided(t *testing.T) {
	c := mustNewConcurrent(t)
	s := c.set.Load()
	only := s.stripes[0]

	// Rarely: the last look at the collisions is long ago.
	for range 4 * minPatience {
		only.marked.Store(math.MinInt64 / 2)
		c.collided(s, only)
	}
	if c.set.Load() != s {
		t.Fatalf("stripes were added for collisions that are rare")
	}

	// Often: in no time since the last look.
	only.marked.Store(math.MaxInt64 / 2)
	for range minPatience {
		c.collided(s, only)
	}
	if got := len(c.set.Load().stripes); got != 2 {
		t.Fatalf("%d stripes after many collisions, want 2", got)
	}

	// A writer that still uses the former set changes nothing.
	s2 := c.set.Load()
	only.marked.Store(math.MaxInt64 / 2)
	for range minPatience {
		c.collided(s, only)
	}
	if c.set.Load() != s2 {
		t.Errorf("the stripes changed for collisions in a set that is no longer in use")
	}
}

func TestStripeLimit(t *testing.T) {
	if n := stripeLimit(); n < 2 || n > maxStripes || n&(n-1) != 0 {
		t.Errorf("stripeLimit() = %d, want a power of two in [2, %d]", n, maxStripes)
	}
}

// TestConcurrentSum128: the sum is that of a snapshot, also after Reset and with recorders.
func TestConcurrentSum128(t *testing.T) {
	c, err := NewConcurrent()
	if err != nil {
		t.Fatal(err)
	}
	check := func(want uint64) {
		t.Helper()
		high, got := c.Sum128()
		if _, snapshot := c.Snapshot(nil).Sum128(); high != 0 || got != want || snapshot != want {
			t.Errorf("Sum128() = %d, %d, of a snapshot %d, want %d", high, got, snapshot, want)
		}
	}
	check(0)
	c.RecordN(1<<40, 3)
	r := c.Recorder()
	r.Record(5)
	check(3*(1<<40) + 5)
	c.Reset()
	check(0)
	r.Record(7)
	c.Record(1)
	check(8)
	r.Close()
	check(8)
}
