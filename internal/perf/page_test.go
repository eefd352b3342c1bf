package perf

import (
	"math"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/testutil"
)

func TestSampleValue(t *testing.T) {
	for _, test := range []struct {
		name    string
		offset  int64
		counter uint64
		width   uint64
		want    uint64
	}{
		{"a positive counter", 1000, 234, 48, 1234},
		{"x86 starts at -(2^47-1)", 1<<47 - 1, 1<<48 - (1<<47 - 1) + 5, 48, 5},
		{"one before the overflow", 1 << 47, 1<<48 - 1, 48, 1<<47 - 1},
		{"after the overflow the kernel has moved the offset", 1 << 47, 3, 48, 1<<47 + 3},
		{"arm's 32 bits start at -(2^31)", 1 << 31, 1 << 31, 32, 0},
		{"bits above the width are not the counter's", 1 << 31, 0xffffffff_80000007, 32, 7},
		{"64 bits", -5, 12, 64, 7},
		{"64 bits, negative", math.MaxInt64, 1 << 63, 64, math.MaxUint64},
		{"32 bits cross 2^32", 1<<32 - 2, 5, 32, 1<<32 + 3},
	} {
		s := sample{offset: test.offset, counter: test.counter, width: test.width}
		if got := s.value(); got != test.want {
			t.Errorf("%s: value of offset %d, counter %#x, %d bits = %d, want %d",
				test.name, test.offset, test.counter, test.width, got, test.want)
		}
	}
}

// readPage reads one page, as readPages does.
func readPage(page *userPage) (sample, int) {
	samples := [MaxEvents]sample{{counter: 99}}
	n := readPages(&[MaxEvents]*userPage{page}, 1, &samples)
	return samples[0], n
}

// needsAssembly skips where readPages is a stub.
func needsAssembly(t *testing.T) {
	t.Helper()
	if !hasAssembly {
		testutil.Lacks(t, "ASSEMBLY", "no assembly for this architecture")
	}
}

// The pages of these tests have no index or no capability, so that no counter is read, which
// only a thread with counters may do.

func TestReadPages(t *testing.T) {
	needsAssembly(t)
	for _, page := range []userPage{
		{lock: 42, index: 0, offset: -1 << 60, capabilities: 1 << capUserRDPMC, width: 48},
		{lock: math.MaxUint32 - 1, index: 7, offset: 1<<62 + 3, capabilities: ^uint64(1 << capUserRDPMC), width: 65535},
		{lock: 2, index: math.MaxUint32, capabilities: 1 << capUserRDPMC, width: 64},
	} {
		got, n := readPage(&page)
		if n != 0 {
			t.Errorf("readPages of %+v = %d, want 0", page, n)
		}
		want := sample{offset: page.offset, width: uint64(page.width)}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(sample{})); diff != "" {
			t.Errorf("sample of %+v (-want +got):\n%s", page, diff)
		}
	}
}

func TestReadPagesBeingWritten(t *testing.T) {
	needsAssembly(t)
	if got, n := readPage(&userPage{lock: 1}); n != 0 || got != (sample{counter: 99}) {
		t.Errorf("readPages of a page that stays locked = %d, and has left %+v", n, got)
	}
}

// TestReadPagesConcurrentSafe has a page written all the time, as fast as can be.
func TestReadPagesConcurrentSafe(t *testing.T) {
	needsAssembly(t)
	var page struct {
		userPage
		_ [8]byte
	}
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		width := (*uint64)(unsafe.Pointer(&page.width)) // with what comes after it
		for i := uint64(1); !stop.Load(); i++ {
			atomic.AddUint32(&page.lock, 1)
			atomic.StoreInt64(&page.offset, int64(i%math.MaxUint16))
			atomic.StoreUint64(width, i%math.MaxUint16)
			atomic.AddUint32(&page.lock, 1)
			for range i % 64 { // give the reader a chance
				_ = stop.Load()
			}
		}
	}()
	read, failed := 0, 0
	for range 200_000 {
		s, _ := readPage(&page.userPage)
		if s.counter != 0 {
			failed++
			continue
		}
		read++
		if uint64(s.offset) != s.width {
			t.Fatalf("torn sample %+v", s)
		}
	}
	stop.Store(true)
	<-done
	t.Logf("%d samples, %d times the retries did not suffice", read, failed)
	if read == 0 {
		t.Error("not one sample was consistent")
	}
}

func TestReadPagesAllocs(t *testing.T) {
	pages := [MaxEvents]*userPage{{lock: 2}}
	var samples [MaxEvents]sample
	if n := testing.AllocsPerRun(100, func() { readPages(&pages, 1, &samples) }); n != 0 {
		t.Errorf("readPages allocates %v times, want 0", n)
	}
}

func BenchmarkReadPages(b *testing.B) {
	pages := [MaxEvents]*userPage{{lock: 2}}
	var samples [MaxEvents]sample
	b.ReportAllocs()
	for b.Loop() {
		readPages(&pages, 1, &samples)
	}
}
