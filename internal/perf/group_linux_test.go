package perf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelprof/otelprof/internal/testutil"
)

// Events that need no PMU.
var (
	taskClock  = Event{Type: TypeSoftware, Config: unix.PERF_COUNT_SW_TASK_CLOCK}
	pageFaults = Event{Type: TypeSoftware, Config: unix.PERF_COUNT_SW_PAGE_FAULTS}
)

// mustOpen locks the test to its thread and opens a group on it.
func mustOpen(t testing.TB, events ...Event) *Group {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	g, err := Open(events)
	if errors.Is(err, ErrPermission) || errors.Is(err, ErrNotSupported) {
		testutil.Lacks(t, "PERF", fmt.Sprintf("perf_event_open: %v", err))
	}
	if err != nil {
		t.Fatalf("Open(%v) = %v", events, err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

func mustRead(t testing.TB, g *Group) (v Values) {
	t.Helper()
	if err := g.Read(&v); err != nil {
		t.Fatalf("Read: %v", err)
	}
	return v
}

func TestGroupCounts(t *testing.T) {
	g := mustOpen(t, taskClock, pageFaults)
	if g.UserSpace() {
		t.Error("UserSpace() = true for events that no register counts")
	}
	before := mustRead(t, g)
	const pages = 100
	touchPages(t, pages)
	after := mustRead(t, g)
	if faults := after.Counts[1] - before.Counts[1]; faults < pages || faults > 10*pages {
		t.Errorf("%d page faults, want about %d", faults, pages)
	}
	clock, running, enabled := after.Counts[0]-before.Counts[0], after.Running-before.Running, after.Enabled-before.Enabled
	if running != enabled || running == 0 || clock == 0 {
		t.Errorf("task clock %d ns, running %d, enabled %d: want the last two equal and none 0", clock, running, enabled)
	}
	if !before.Exact || !after.Exact {
		t.Errorf("Exact = %t, %t after read(), want true", before.Exact, after.Exact)
	}
}

// touchPages writes to fresh memory of n pages.
func touchPages(t testing.TB, n int) {
	t.Helper()
	size := unix.Getpagesize()
	memory, err := unix.Mmap(-1, 0, n*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Madvise(memory, unix.MADV_NOHUGEPAGE) // not all kernels have it
	for i := range n {
		memory[i*size] = 1
	}
	if err := unix.Munmap(memory); err != nil {
		t.Fatal(err)
	}
}

func TestOpenSizes(t *testing.T) {
	for _, n := range []int{0, MaxEvents + 1} {
		if _, err := Open(make([]Event, n)); !errors.Is(err, ErrGroupTooLarge) {
			t.Errorf("Open of %d events = %v, want ErrGroupTooLarge", n, err)
		}
	}
	events := make([]Event, MaxEvents)
	for i := range events {
		events[i] = taskClock
	}
	mustRead(t, mustOpen(t, events...))
}

// TestOpenClosesAll lets the last event fail.
func TestOpenClosesAll(t *testing.T) {
	mustOpen(t, taskClock)
	before := openFiles(t)
	_, err := Open([]Event{taskClock, pageFaults, {Type: TypeSoftware, Config: 1 << 40}})
	var refused *Error
	if !errors.As(err, &refused) || refused.Event != 2 {
		t.Fatalf("Open with a third event that does not exist = %v, want an *Error for number 2", err)
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d perf files open after Open has failed, %d before", after, before)
	}
}

// openFiles is how many perf files this process has open.
func openFiles(t testing.TB) int {
	t.Helper()
	n, err := perfFiles()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func perfFiles() (n int, err error) {
	files, err := filepath.Glob("/proc/self/fd/*")
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil && strings.Contains(target, "perf_event") {
			n++
		}
	}
	return n, err
}

func TestCloseTwice(t *testing.T) {
	before := openFiles(t)
	g := mustOpen(t, taskClock, pageFaults)
	if n := openFiles(t); n != before+2 {
		t.Errorf("%d perf files open, want %d", n, before+2)
	}
	for range 2 {
		if err := g.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	}
	if n := openFiles(t); n != before {
		t.Errorf("%d perf files open after Close, want %d", n, before)
	}
	if err := g.Read(new(Values)); !errors.Is(err, ErrClosed) {
		t.Errorf("Read of a closed group = %v, want ErrClosed", err)
	}
}

func init() {
	children["files"] = func() error {
		if n, err := perfFiles(); n != 0 || err != nil {
			return fmt.Errorf("%d perf files: %w", n, err)
		}
		return nil
	}
}

func TestFilesDoNotSurviveExec(t *testing.T) {
	mustOpen(t, taskClock, pageFaults)
	inChild(t, "files", nil)
}

// endedGroup returns a group whose thread has ended, and a reading of the time before.
func endedGroup(t testing.TB, events ...Event) (*Group, Values) {
	t.Helper()
	mustOpen(t, events...) // or skip
	type opened struct {
		group  *Group
		thread int
		values Values
		err    error
	}
	for {
		results := make(chan opened)
		go func() { // without unlocking: the thread ends with it
			runtime.LockOSThread()
			o := opened{thread: Thread()}
			if o.group, o.err = Open(events); o.err == nil {
				o.err = o.group.Read(&o.values)
			}
			results <- o
		}()
		o := <-results
		if o.err != nil {
			t.Fatal(o.err)
		}
		t.Cleanup(func() { o.group.Close() })
		if o.thread == os.Getpid() { // which Go never ends
			continue
		}
		for start := time.Now(); Alive(o.thread); time.Sleep(time.Millisecond) {
			if time.Since(start) > 10*time.Second {
				t.Fatal("the thread does not end")
			}
		}
		return o.group, o.values
	}
}

// TestThreadEnds reads a group from another thread, as one with the same ID would.
func TestThreadEnds(t *testing.T) {
	g, last := endedGroup(t, taskClock, pageFaults)
	var first Values
	if err := g.Read(&first); err == nil && first.Enabled <= last.Enabled {
		t.Errorf("first Read = %+v, want an error or more than %+v", first, last)
	}
	for range 3 {
		if err := g.Read(new(Values)); !errors.Is(err, ErrExited) {
			t.Errorf("a later Read = %v, want ErrExited", err)
		}
	}
}

func TestReadAllocs(t *testing.T) {
	g := mustOpen(t, taskClock, pageFaults)
	var v Values
	if n := testing.AllocsPerRun(100, func() {
		if err := g.Read(&v); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("Read allocates %v times, want 0", n)
	}
}

func BenchmarkGroupRead(b *testing.B) {
	for _, events := range [][]Event{{taskClock}, {taskClock, pageFaults, taskClock, pageFaults}} {
		b.Run(fmt.Sprintf("events=%d", len(events)), func(b *testing.B) {
			g := mustOpen(b, events...)
			var v Values
			b.ReportAllocs()
			for b.Loop() {
				if err := g.Read(&v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkOpenClose(b *testing.B) {
	mustOpen(b, taskClock)
	for b.Loop() {
		g, err := Open([]Event{taskClock, pageFaults, taskClock, pageFaults})
		if err != nil {
			b.Fatal(err)
		}
		g.Close()
	}
}
