package pmuattrs

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/otelprof/otelprof/internal/perf"
	"github.com/otelprof/otelprof/internal/perf/perftest"
	"github.com/otelprof/otelprof/internal/testutil"
)

// mustThreads returns threads that count an event of the kernel. (Not its task clock: that
// and the times of the group can be some 100 µs apart.)
func mustThreads(t testing.TB) *threads {
	t.Helper()
	threads, err := newThreads(PageFaults)
	if err != nil {
		testutil.Lacks(t, "PERF", err.Error())
	}
	t.Cleanup(func() { threads.Close() })
	return threads
}

// onThreads runs f on n threads at the same time. If end is set, the threads end with it.
func onThreads(n int, end bool, f func()) {
	var arrived, done sync.WaitGroup
	arrived.Add(n)
	for range n {
		done.Go(func() {
			runtime.LockOSThread()
			arrived.Done()
			arrived.Wait() // so that none runs after another on the same thread
			f()
			if !end {
				runtime.UnlockOSThread()
			}
		})
	}
	done.Wait()
}

func TestThreads(t *testing.T) {
	threads := mustThreads(t)
	const n = 5
	onThreads(n, false, func() {
		var before, after Reading
		if err := errors.Join(threads.Read(&before), threads.Read(&after)); err != nil {
			t.Error(err)
		}
		if d, err := after.Since(before); err != nil || d.Running <= 0 {
			t.Errorf("Since = %+v, %v", d, err)
		}
	})
	if s := threads.Stats(); s.Open < n || s.Open > n+1 || s.Reaped != 0 || s.Refused != 0 {
		t.Errorf("Stats() = %+v, want %d or %d open", s, n, n+1)
	}
	if threads.Source() != SourceHardware || len(threads.Events()) != 1 {
		t.Errorf("Source, Events = %s, %v", threads.Source(), threads.Events())
	}
	if err := threads.Close(); err != nil {
		t.Errorf("Close() = %v", err)
	}
	if n := perfFiles(); n != 0 {
		t.Errorf("%d perf files are open after Close", n)
	}
	onThreads(1, false, func() {
		if err := threads.Read(new(Reading)); !errors.Is(err, ErrClosed) {
			t.Errorf("Read after Close = %v, want ErrClosed", err)
		}
	})
	if s := threads.Stats(); s.Open != 0 {
		t.Errorf("Stats() after Close = %+v", s)
	}
}

// perfFiles is how many perf files this process has open.
func perfFiles() (n int) {
	files, _ := filepath.Glob("/proc/self/fd/*") // of a pattern without errors
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil && strings.Contains(target, "perf_event") {
			n++
		}
	}
	return n
}

func TestThreadsReap(t *testing.T) {
	threads := mustThreads(t)
	const n = 4
	ids := make(chan int, n)
	onThreads(n, true, func() {
		if err := threads.Read(new(Reading)); err != nil {
			t.Error(err)
		}
		ids <- perf.Thread()
	})
	ended := 0
	for range n {
		if id := <-ids; id != os.Getpid() { // the first thread never ends
			ended++
			waitForEnd(t, id)
		}
	}
	before := threads.Stats()
	all := before.Open + int(before.Reaped) // one may have ended before another was opened
	threads.mu.Lock()
	threads.set(math.MaxInt32, threadSlot{retry: 1}) // of a thread that never had counters
	threads.reapAt = 0
	threads.reap()
	threads.mu.Unlock()
	if s := threads.Stats(); s.Reaped != uint64(ended) || s.Open != all-ended || perfFiles() != s.Open {
		t.Errorf("Stats() = %+v, perf files %d, want %d reaped of %d", s, perfFiles(), ended, all)
	}
}

func waitForEnd(t testing.TB, thread int) {
	t.Helper()
	for start := time.Now(); perf.Alive(thread); time.Sleep(time.Millisecond) {
		if time.Since(start) > 10*time.Second {
			t.Fatalf("thread %d does not end", thread)
		}
	}
}

// TestThreadsReusedID finds, in the place of its thread, the group of one that has ended, as
// if the kernel had given its ID to this one.
func TestThreadsReusedID(t *testing.T) {
	testReusedID(t, mustThreads(t))
}

func TestThreadsReusedIDWithPMU(t *testing.T) {
	mustOpen(t, "PMU", Instructions)
	threads, err := newThreads(Instructions, Cycles)
	if err != nil {
		t.Fatal(err)
	}
	defer threads.Close()
	testReusedID(t, threads)
}

func testReusedID(t *testing.T, threads *threads) {
	lock(t)
	var old *Group
	for old == nil {
		var thread int
		onThreads(1, true, func() {
			if err := threads.Read(new(Reading)); err != nil {
				t.Error(err)
				return
			}
			thread = perf.Thread()
			old = (*threads.slots.Load())[thread].group
		})
		if thread == os.Getpid() {
			old = nil
			continue
		}
		if t.Failed() {
			return
		}
		waitForEnd(t, thread)
	}
	threads.mu.Lock()
	_ = (*threads.slots.Load())[perf.Thread()].close() // if this is where NewThreads opened one
	threads.set(perf.Thread(), threadSlot{group: old})
	threads.mu.Unlock()

	var readings [4]Reading
	for i := range readings {
		if err := threads.Read(&readings[i]); err != nil {
			t.Fatalf("Read %d = %v", i, err)
		}
	}
	if _, err := readings[1].Since(readings[0]); readings[0].of.opened == old.opened && !errors.Is(err, errUnrelated) {
		t.Errorf("Since of the ended thread's counters = %v, want errUnrelated", err)
	}
	for i, r := range readings {
		if i > 0 && r.of.opened == old.opened {
			t.Errorf("reading %d is the ended thread's", i)
		}
	}
	if d, err := readings[3].Since(readings[2]); err != nil || d.Running < 0 {
		t.Errorf("Since of the new counters = %+v, %v", d, err)
	}
	if s := threads.Stats(); s.Reaped != 1 {
		t.Errorf("Stats() = %+v, want 1 reaped", s)
	}
}

func TestThreadsLimit(t *testing.T) {
	threads := mustThreads(t)
	threads.limit = 2
	var refused atomic.Int64
	read := func() {
		err := threads.Read(new(Reading))
		if errors.Is(err, errTooManyThreads) {
			refused.Add(1)
			err = threads.Read(new(Reading)) // at once
		}
		if err != nil && !errors.Is(err, errTooManyThreads) {
			t.Error(err)
		}
	}
	onThreads(5, true, read)
	s := threads.Stats()
	// A place whose thread has ended may have been used again.
	if s.Open != 2 || refused.Load() < 3-int64(s.Reaped) || s.Refused != 2*uint64(refused.Load()) {
		t.Errorf("Stats() = %+v, %d of 5 threads refused, each twice", s, refused.Load())
	}
	// A second later all have ended, or later where the machine is busy.
	if !testutil.Eventually(func() bool {
		threads.full.Store(0)
		threads.mu.Lock()
		threads.reapAt = 0
		threads.mu.Unlock()
		refused.Store(0)
		onThreads(1, false, read)
		return refused.Load() == 0 || threads.Stats().Reaped != 0
	}) {
		t.Errorf("Stats() = %+v: the places of ended threads were not used again", threads.Stats())
	}
}

// TestThreadsNotScheduled takes all counters of the thread away first.
func TestThreadsNotScheduled(t *testing.T) {
	mustOpen(t, "PMU", Instructions).Close()
	threads, err := newThreads(Instructions, Cycles)
	if err != nil {
		t.Fatal(err)
	}
	defer threads.Close()
	onThreads(1, true, func() {
		var hogs []*Group
		for {
			hog, err := Open(Instructions)
			if err != nil {
				break
			}
			defer hog.Close()
			hogs = append(hogs, hog)
		}
		for i := range 3 {
			if err := threads.Read(new(Reading)); !errors.Is(err, perf.ErrNotScheduled) {
				t.Errorf("Read %d without a counter left = %v, want perf.ErrNotScheduled", i, err)
			}
		}
		for _, hog := range hogs {
			hog.Close()
		}
		time.Sleep(retryAfter + 10*time.Millisecond)
		if err := threads.Read(new(Reading)); err != nil {
			t.Errorf("Read with the counters back = %v", err)
		}
	})
	if s := threads.Stats(); s.Refused != 3 {
		t.Errorf("Stats() = %+v, want 3 refused", s)
	}
}

// TestThreadsConcurrentSafe closes while all read.
func TestThreadsConcurrentSafe(t *testing.T) {
	threads := mustThreads(t)
	var reads atomic.Int64
	onThreads(8, true, func() {
		var before, after Reading
		for {
			if reads.Add(1) == 5000 {
				go threads.Close()
			}
			if err := threads.Read(&after); err != nil {
				if !errors.Is(err, ErrClosed) {
					t.Errorf("Read = %v", err)
				}
				return
			}
			if before.of != (identity{}) {
				if _, err := after.Since(before); err != nil {
					t.Errorf("Since = %v", err)
					return
				}
			}
			before = after
		}
	})
	if err := threads.Close(); err != nil { // also waits for the other one
		t.Errorf("Close() = %v", err)
	}
	if n := perfFiles(); n != 0 {
		t.Errorf("%d perf files are open after Close", n)
	}
}

func init() {
	children["files"] = func() error {
		return disabled(perf.ErrTooManyFiles, func() error { return perftest.LimitFiles(4) })
	}
	children["seccomp"] = func() error {
		return disabled(ErrPermission, func() error { return perftest.DenyPerf(syscall.EPERM) })
	}
	children["fallback"] = func() error {
		if err := perftest.DenyPerf(syscall.EPERM); err != nil {
			return err
		}
		threads, reason := newThreads(Cycles, Instructions)
		if threads == nil || threads.Source() != SourceUsage || !errors.Is(reason, ErrPermission) {
			return fmt.Errorf("NewThreads = %v, %w", threads, reason)
		}
		var err error
		onThreads(3, false, func() {
			var before, after Reading
			read := errors.Join(threads.Read(&before), threads.Read(&after))
			if _, since := after.Since(before); read != nil || since != nil {
				err = errors.Join(read, since)
			}
		})
		return err
	}
}

// disabled takes the means to open counters away when some are open already.
func disabled(want error, take func() error) error {
	var handled []error
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { handled = append(handled, err) }))
	threads, err := newThreads(TaskClock, PageFaults)
	if err != nil {
		fmt.Println(err)
		return nil // there is nothing to take away
	}
	if err := take(); err != nil {
		return err
	}
	var mu sync.Mutex
	for range 2 {
		onThreads(4, false, func() {
			read := threads.Read(new(Reading))
			mu.Lock()
			defer mu.Unlock()
			if read != nil && !errors.Is(read, want) {
				err = fmt.Errorf("Read = %w, want %w", read, want)
			}
		})
	}
	var first error
	onThreads(1, false, func() { first = threads.Read(new(Reading)) })
	switch {
	case err != nil:
		return err
	case !errors.Is(first, want):
		return fmt.Errorf("Read in the end = %w, want %w", first, want)
	case len(handled) != 1 || !errors.Is(handled[0], want):
		return fmt.Errorf("handled %v, want one error", handled)
	case threads.Stats().Open != 0:
		return fmt.Errorf("%d groups are open", threads.Stats().Open)
	}
	return threads.Close()
}

func TestThreadsDisabled(t *testing.T) {
	mustOpen(t, "PERF", TaskClock)
	inChild(t, "files")
	inChild(t, "seccomp")
}

func TestThreadsFallBack(t *testing.T) {
	inChild(t, "fallback")
}

func TestThreadsReadAllocs(t *testing.T) {
	lock(t)
	threads := mustThreads(t)
	var r Reading
	if n := testing.AllocsPerRun(100, func() {
		if err := threads.Read(&r); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("Read allocates %v times, want 0", n)
	}
}

func BenchmarkThreadsRead(b *testing.B) {
	lock(b)
	threads := mustThreads(b)
	var r Reading
	b.ReportAllocs()
	for b.Loop() {
		if err := threads.Read(&r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkThreadsLookup(b *testing.B) {
	lock(b)
	threads := mustThreads(b)
	b.ReportAllocs()
	for b.Loop() {
		if (*threads.slots.Load())[perf.Thread()].group == nil {
			b.Fatal("no group")
		}
	}
}
