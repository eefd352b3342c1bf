package otelhdr

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPage compares the counters of every width with an array.
func TestPage(t *testing.T) {
	for width := range uint8(widest + 1) {
		p, want := newPage(width), new([pageSize]uint64)
		if got := p.sizeBytes(); got != 8<<width {
			t.Errorf("width %d: sizeBytes() = %d, want %d", width, got, 8<<width)
		}
		r := newRand()
		for range 20_000 {
			j, n := r.Uint64N(pageSize), r.Uint64()>>(64-r.Uint64N(1<<width+1))
			fits := n <= p.most()-want[j]
			if got := p.add(j, n); got != fits {
				t.Fatalf("width %d: adding %d to %d reports %v, want %v", width, n, want[j], got, fits)
			}
			if fits {
				want[j] += n
			}
		}
		got := new([pageSize]uint64)
		p.addTo(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("width %d (-want +got):\n%s", width, diff)
		}
		var sum uint64
		for _, n := range want {
			sum += n
		}
		if p.total() != sum {
			t.Errorf("width %d: total() = %d, want %d", width, p.total(), sum)
		}
		moved := new([pageSize]uint64)
		p.close(func(j, n uint64) { moved[j] += n })
		if diff := cmp.Diff(want, moved); diff != "" {
			t.Errorf("width %d: closed (-want +got):\n%s", width, diff)
		}
		for j := range uint64(pageSize) {
			if p.add(j, 1) {
				t.Fatalf("width %d: counter %d of a closed page counts", width, j)
			}
		}
	}
}

func TestWidthOf(t *testing.T) {
	for n, want := range map[uint64]uint64{
		0: 0, 1: 0, 2: 1, 3: 1, 4: 2, 15: 2, 16: 3, 255: 3, 256: 4, 65_535: 4, 65_536: 5, math.MaxUint32: 5, math.MaxUint32 + 1: 6, math.MaxUint64: 6,
	} {
		if got := widthOf(n); got != want {
			t.Errorf("widthOf(%d) = %d, want %d", n, got, want)
		}
	}
}

// TestConcurrentWidens has many goroutines take the same few counters through all widths while
// others read, and then accounts for every value.
func TestConcurrentWidens(t *testing.T) {
	const writers, each = 8, 3000
	c := mustNewConcurrent(t, WithRelativeError(0.1))
	var done atomic.Bool
	var readers, all sync.WaitGroup
	for range 2 {
		readers.Go(func() { checkMonotone(t, c, &done) })
	}
	weight := func(i int) uint64 { return 1 << (uint(i) / 80) } // up to 2^37
	for range writers {
		all.Go(func() {
			for i := range each {
				c.RecordN(uint64(i%5)+1000, weight(i))
				c.Record(7)
			}
		})
	}
	all.Wait()
	done.Store(true)
	readers.Wait()

	want := map[uint64]uint64{}
	for i := range each {
		want[c.layout.index(uint64(i%5)+1000)] += writers * weight(i)
		want[c.layout.index(7)] += writers
	}
	var count uint64
	got := c.Snapshot(nil)
	for b := range got.Buckets() {
		if b.Count != want[c.layout.index(b.Low)] {
			t.Errorf("bucket from %d: %d values, want %d", b.Low, b.Count, want[c.layout.index(b.Low)])
		}
		count += b.Count
	}
	if got.Count() != count || c.Count() != count {
		t.Errorf("Count() = %d, of the histogram %d, want %d", got.Count(), c.Count(), count)
	}
	for _, s := range c.set.Load().stripes {
		if n := len(s.index.Load().older); n != 0 {
			t.Errorf("%d older pages after a snapshot, want none", n)
		}
	}
}

// TestLateWriter has a writer go on with a page that was exchanged and then closed.
func TestLateWriter(t *testing.T) {
	s := newStripe()
	s.countStored(3, 200)
	late := s.index.Load().page(0)
	s.countStored(3, 100) // for a page of 16 bits
	if !late.add(4, 5) {
		t.Fatal("a page that is not closed does not count")
	}
	if got := s.total(); got != 305 {
		t.Errorf("total() = %d, want 305", got)
	}
	s.fold()
	if late.add(4, 1) || late.add(60, 1) {
		t.Error("a page that is closed counts")
	}
	counts := (*Snapshot)(nil).prepare(newLayout(0.1, 0, 1000), 0, EquivalentMid)
	s.addCounts(counts)
	if got := counts.chunks[0]; s.total() != 305 || got[3] != 300 || got[4] != 5 {
		t.Errorf("total, counters = %d, %d, %d, want 305, 300, 5", s.total(), got[3], got[4])
	}
}

// FuzzConcurrent does what the input says to a histogram whose counters widen and whose stripes
// come and go, and compares it with plain sums. Three bytes are an operation: what, of which value,
// how often.
func FuzzConcurrent(f *testing.F) {
	f.Add([]byte{0, 1, 255, 0, 1, 255, 1, 0, 0, 0, 1, 16, 3, 0, 0, 2, 0, 0})
	f.Add([]byte{0, 9, 1, 3, 0, 0, 3, 0, 0, 0, 9, 64, 2, 0, 0, 0, 9, 33, 1, 0, 0, 4, 9, 9, 4, 200, 70})
	f.Fuzz(func(t *testing.T, operations []byte) {
		c := mustNewConcurrent(t, WithRelativeError(0.1), WithRange(4, 1<<40))
		want := map[uint64]uint64{}
		var sum uint128
		var under, over uint64
		record := func(record func(v, n uint64), v, n uint64) {
			record(v, n)
			for range n & 0xff {
				sum = sum.add(uint128{lo: v})
			}
			for range n >> 8 {
				sum = sum.add(uint128{hi: v >> 56, lo: v << 8})
			}
			switch lowest, highest := c.Range(); {
			case v < lowest:
				under += n
			case v > highest:
				over += n
			default:
				want[c.layout.index(v)] += n
			}
		}
		for ; len(operations) >= 3; operations = operations[3:] {
			v, n := uint64(1)<<(operations[1]%64)|uint64(operations[1]), uint64(operations[2]%0x7f)
			if operations[2]&0x80 != 0 {
				n <<= 8
			}
			switch operations[0] % 5 {
			case 0:
				record(c.RecordN, v, n)
			case 1:
				c.Snapshot(nil)
			case 2:
				c.calmed()
				c.Snapshot(nil)
			case 3:
				c.exchange(c.set.Load(), c.set.Load().next(8))
			case 4:
				r := c.Recorder()
				record(r.RecordN, v, n)
				r.Close()
			}
		}
		s := c.Snapshot(nil)
		got := map[uint64]uint64{}
		for i := range s.layout.size {
			if k := s.chunks[i>>chunkScale]; k != nil && k[i%chunkSize] != 0 {
				got[s.layout.first+i] = k[i%chunkSize]
			}
		}
		for i, n := range want {
			if n == 0 {
				delete(want, i)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("counters (-want +got):\n%s", diff)
		}
		if s.sum != sum || s.underflow != under || s.overflow != over {
			t.Errorf("sum, underflow, overflow = %v, %d, %d, want %v, %d, %d", s.sum, s.underflow, s.overflow, sum, under, over)
		}
	})
}
